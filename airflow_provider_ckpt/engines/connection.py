"""How an engine is reached: what a connection of Airflow says, which the command takes from the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from airflow_provider_ckpt.errors import EngineError


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection, as Airflow keeps it.

    Args:
        id: Its id.
        host: Host, or the beginning of a URL.
        port: Port.
        login: Name of a user.
        password: Password, which is never shown.
        schema: ``http`` or ``https`` for services.
        extra: Everything else.
    """

    id: str
    host: str | None = None
    port: int | None = None
    login: str | None = None
    password: str | None = field(default=None, repr=False)
    schema: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)


def variable_of(connection: str) -> str:
    """The variable of the environment that has a connection, as for Airflow."""
    return f"AIRFLOW_CONN_{re.sub(r'[^A-Z0-9_]', '_', connection.upper())}"


def parse_connection(connection: str, text: str) -> Connection:
    """The connection that a text means: a URI or JSON, as for Airflow. Raises EngineError."""
    try:
        return _from_json(connection, text) if text.lstrip().startswith("{") else _from_uri(connection, text)
    except (ValueError, TypeError):
        raise EngineError(
            f"the connection {connection} is neither a URI nor JSON as Airflow writes them.",
            hint=f"Nothing was done. See the variable {variable_of(connection)}.",
        ) from None  # the text may be secret


def connection_in(environment: Mapping[str, str], connection: str) -> Connection:
    """The connection that the environment has. Raises EngineError where there is none."""
    text = environment.get(variable_of(connection))
    if not text:
        raise EngineError(
            f"the connection {connection} is not in the environment.",
            hint=f"Nothing was done. Set {variable_of(connection)} to a URI or to JSON, as for Airflow.",
        )
    return parse_connection(connection, text)


def _from_json(connection: str, text: str) -> Connection:
    said = json.loads(text)
    extra = said.get("extra") or {}
    return Connection(
        connection,
        said.get("host"),
        None if said.get("port") is None else int(said["port"]),
        said.get("login"),
        said.get("password"),
        said.get("schema"),
        dict(json.loads(extra) if isinstance(extra, str) else extra),
    )


def _from_uri(connection: str, text: str) -> Connection:
    parts = urlsplit(text)
    if not parts.scheme:
        raise ValueError
    extra = dict(parse_qsl(parts.query))
    more = json.loads(extra.pop("__extra__")) if "__extra__" in extra else {}
    return Connection(
        connection,
        unquote(parts.hostname) if parts.hostname else None,
        parts.port,
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        unquote(parts.path.lstrip("/")) or parts.scheme,
        {**extra, **more},
    )
