"""A table that streams write: each epoch once, on any storage. It knows nothing of checkpoints, nor of Spark."""
