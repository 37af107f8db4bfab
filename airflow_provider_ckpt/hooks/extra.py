"""The extra of a connection of Airflow, which reads one that is no JSON as an empty one."""

from __future__ import annotations

import json
from typing import Any

from airflow_provider_ckpt.errors import StorageOptionError


def extra_of(connection: Any) -> dict[str, Any]:
    """The extra of a connection, empty where it has none. Raises StorageOptionError where it is no JSON object."""
    text = connection.extra
    if not text or not str(text).strip():
        return {}
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise StorageOptionError(
            f"the extra of the connection {connection.conn_id} is no JSON object, so nothing of it can be read",
            hint='Write it as {"key": "value"}.',
        )
    return dict(connection.extra_dejson)
