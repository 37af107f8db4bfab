"""What a sink remembers of a query, and what a change of the checkpoint does to it; a module a format."""
