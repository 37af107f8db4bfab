"""Blue-green deploys in a real Airflow: ``python -m tests.deploys.run``, which is ``make deploys``."""
