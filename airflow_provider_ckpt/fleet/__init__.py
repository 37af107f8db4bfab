"""Many checkpoints: find them under some roots, and judge each."""
