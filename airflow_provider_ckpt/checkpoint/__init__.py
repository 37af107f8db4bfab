"""What a checkpoint is at one moment: what is listed and read of it, and which files a restart needs."""
