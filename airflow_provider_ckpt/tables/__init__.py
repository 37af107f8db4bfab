"""Readers of table formats, one for each: what sinks and sources both need of a table's own metadata."""
