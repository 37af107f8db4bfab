"""Repartition: the state in another number of partitions, written by Spark's own manager (Spark 4.2 and later)."""
