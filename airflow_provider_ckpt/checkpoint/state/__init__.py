"""The files of state that a restart reads."""
