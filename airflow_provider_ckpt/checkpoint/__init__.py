"""A checkpoint at one moment: its listing, the entries that were read, and the files that a restart needs."""
