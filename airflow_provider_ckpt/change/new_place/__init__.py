"""A checkpoint that is written to a new or empty location: by a restore, or by a seed."""
