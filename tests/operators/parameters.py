"""The parameters of a task of ours."""

from __future__ import annotations

import inspect
from typing import Any


def parameters(task: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a task that are ours, those of its base classes as well."""
    ours = [kind for kind in task.__mro__ if kind.__module__.startswith("airflow_provider_ckpt")]
    own = [inspect.signature(kind.__init__).parameters for kind in reversed(ours) if "__init__" in vars(kind)]
    return {name: parameter for found in own for name, parameter in found.items()}
