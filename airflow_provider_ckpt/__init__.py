"""Checkpoints of Spark Structured Streaming: wait, gate, check, back up, restore and roll back."""

__version__ = "0.1.0"
