"""The commands that ask where a query and its sources are."""
