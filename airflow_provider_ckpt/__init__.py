"""Look after the checkpoints of Spark Structured Streaming: wait, gate, back up, restore and roll back."""

__version__ = "0.1.0"
