"""Backups: take, list, verify, rehearse, prune, and restore to a new or empty location."""
