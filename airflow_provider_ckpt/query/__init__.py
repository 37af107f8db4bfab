"""What people declare of a query: its sources, its sink, its trigger, its deploy. Parsed once, into values."""
