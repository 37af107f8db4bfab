"""Airflow's notifiers: what they say when a task has failed."""
