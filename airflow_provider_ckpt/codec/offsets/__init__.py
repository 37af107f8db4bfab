"""The positions of each type of source, as values."""
