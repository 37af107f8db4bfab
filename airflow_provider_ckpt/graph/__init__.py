"""Queries and the places between them: who reads and who writes what, each fact with the file that proves it."""
