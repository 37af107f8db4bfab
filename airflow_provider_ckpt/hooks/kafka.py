"""A connection of Airflow's type ``kafka`` as the configuration of the client that asks the broker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from airflow.configuration import conf
from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.hooks.extra import extra_of

_SECTION, _OPTION = "apache_kafka", "callback_allowlist"


def kafka_config(conn_id: str | None) -> dict[str, Any]:
    """The extra of a connection; empty without one.

    A function that gives tokens is named in it (``oauth_cb``), and called when Airflow allows that, as its own hook of
    Kafka does: the name has to be in the option ``callback_allowlist`` of the section ``apache_kafka``. Other callbacks
    are not needed to ask a broker.

    Raises:
        StoreError: The function is not allowed, or cannot be imported.
    """
    config: dict[str, Any] = extra_of(BaseHook.get_connection(conn_id)) if conn_id else {}
    name = config.get("oauth_cb")
    if isinstance(name, str):
        config["oauth_cb"] = _function(name, f"the connection {conn_id}")
    return config


def cluster_configs(clusters: Mapping[str, Mapping[str, Any]], conn_id: str | None) -> dict[str, dict[str, Any]]:
    """The settings of the clients of some clusters, by their servers. Raises StoreError as :func:`kafka_config`.

    :param clusters: What the query file says of each, by its servers: ``options`` and ``conn_id``.
    :param conn_id: The connection that the task was given for all of them, which then needs none of its own.
    """
    return {
        servers: {**kafka_config(None if conn_id else cluster["conn_id"]), **cluster["options"]}
        for servers, cluster in clusters.items()
    }


def _function(name: str, where: str) -> Any:
    allowed = {item.strip() for item in conf.get(_SECTION, _OPTION, fallback="").split(",")}
    if name not in allowed:
        raise StoreError(
            f"oauth_cb of {where} names {name:.100}, a function that Airflow does not allow to be called",
            hint=f"Add it to the option {_OPTION} of the section {_SECTION}, if you trust it.",
        )
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise StoreError(f"oauth_cb of {where} cannot be imported: {error}") from None
