"""Declarations of a query: its sources, its sink, its trigger, its deploy. They are parsed once, into values."""
