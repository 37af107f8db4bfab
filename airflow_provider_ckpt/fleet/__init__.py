"""Many checkpoints: find them under some roots, and judge each."""

#: How many levels below a root a checkpoint is searched for.
DEPTH = 5
#: How many checkpoints are read at the same time.
THREADS = 8
