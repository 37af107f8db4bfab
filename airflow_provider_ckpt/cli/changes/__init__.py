"""The commands that change a checkpoint."""
