"""What Spark will do at the next start, step by step."""
