"""Failures that users' own code, data and systems cause, as real Spark prints them; ``record.py`` writes them."""
