"""A writer that cannot be reached is stopped by Spark's own rule: the name of its next offset entry is taken."""
