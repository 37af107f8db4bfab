"""Forecast of the next start of Spark, step by step."""
