"""Spark Declarative Pipelines: a pipeline that runs in a real Spark, and what it has left behind."""
