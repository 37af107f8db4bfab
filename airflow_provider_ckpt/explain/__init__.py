"""Meaning of what people paste when a query stops: the pages of the runbook, the conditions of Spark, and their
matching.
"""
