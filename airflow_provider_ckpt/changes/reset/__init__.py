"""Reset: the positions of a source moved in place, and a new checkpoint that starts at given ones."""
