"""A backup written to another place."""
