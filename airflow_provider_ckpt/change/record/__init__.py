"""The records of changes, beside a checkpoint."""
