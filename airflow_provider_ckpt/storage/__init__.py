"""Bytes at a URL: one small store over fsspec, its drivers, and their differences."""
