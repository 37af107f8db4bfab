"""The Airflow of tests/airflow, for pages that run DAGs."""

from __future__ import annotations

from tests.airflow.conftest import airflow_database, airflow_env

__all__ = ["airflow_database", "airflow_env"]
