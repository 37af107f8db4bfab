"""Taking a change back, of whatever kind it was: the plan, how it is made, and what carries it out."""
