"""Sources that are Iceberg tables."""
