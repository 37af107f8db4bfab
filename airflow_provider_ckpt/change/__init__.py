"""A change to a checkpoint: its plan, what it requires, and carrying it out so that it can be undone."""
