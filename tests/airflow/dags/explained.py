"""A task that fails, with a notifier that says why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_ckpt.notifications.checkpoint import ExplainNotifier


def told(context: Any) -> None:
    """What other notifiers get."""
    print(f"TOLD {context['explanation_headline']}")


with DAG("explained", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):

    @task(on_failure_callback=ExplainNotifier(checkpoint="{{ dag_run.conf['checkpoint'] }}", notifiers=[told]))
    def fails() -> None:
        """Fails as code of a query does."""
        raise ValueError("no such table, password=hunter2hunter2")

    fails()
