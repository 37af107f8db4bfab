"""A sink's memory of a query, and the effect that a change of the checkpoint has on it; a module a format."""
