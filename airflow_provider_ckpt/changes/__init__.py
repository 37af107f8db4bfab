"""The kinds of change, one folder each."""
