"""The fence of a checkpoint: its plan, and whether it is there."""
