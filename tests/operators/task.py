"""A task instance, as far as an operator asks it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Task:
    """One try of a task."""

    dag_id: str = "scale"
    run_id: str = "monday"
    task_id: str = "repartition"
    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        """What Airflow would keep: JSON."""
        self.pushed[key] = json.loads(json.dumps(value))


def carry_out(operator: Any, **arguments: Any) -> Any:
    """What an operator with these arguments returns, as XCom keeps it."""
    return json.loads(json.dumps(operator(task_id="t", **arguments).execute({"ti": Task()})))
