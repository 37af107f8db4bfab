"""The operators that change a checkpoint."""
