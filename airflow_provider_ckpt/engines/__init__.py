"""Where queries run: what an engine says of runs, and what it can be asked to do with them. None knows checkpoints."""
