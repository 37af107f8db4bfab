"""Positions: where a query is in its sources, how far that is from their ends, and what the next batch does."""
