"""A new checkpoint that begins at given positions."""
