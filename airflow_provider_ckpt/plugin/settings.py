"""Settings of the pages: the section ``[ckpt]`` of Airflow's configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow.providers.common.compat.sdk import conf

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.query_file import SECTION, with_connection
from airflow_provider_ckpt.storage.roots import NO_ROOTS, Roots, parse_roots


@dataclass(frozen=True, slots=True)
class Settings:
    """Content that the pages may show, and DAGs that they start.

    Args:
        roots: Locations below which checkpoints are shown; nothing else is.
        index: URL of the index of the fleet; None when there is none.
        index_conn_id: Connection that opens the index; None for none.
        backup_roots: Roots of backups, as URLs.
        rollback_dag: The DAG that starts a rollback; None when there is none.
        reset_dag: The DAG that starts a reset of offsets; None when there is none.
        data_roots: Locations below which previews may read sinks and tables, besides the other roots.
        brokers: Brokers that previews may ask: bootstrap servers as ``host:port``, connections as ``conn=ID``.
    """

    roots: Roots = NO_ROOTS
    index: str | None = None
    index_conn_id: str | None = None
    backup_roots: Roots = NO_ROOTS
    rollback_dag: str | None = None
    reset_dag: str | None = None
    data_roots: Roots = NO_ROOTS
    brokers: frozenset[str] = frozenset()


def read_settings() -> Settings:
    """The section as it is now. Raises CheckpointError for roots that make no sense, naming the option."""
    index, index_conn_id = with_connection(_said("index") or "")
    return Settings(
        roots=_roots("roots"),
        index=index or None,
        index_conn_id=index_conn_id,
        backup_roots=_roots("backup_roots"),
        rollback_dag=_said("rollback_dag"),
        reset_dag=_said("reset_dag"),
        data_roots=_roots("data_roots"),
        brokers=frozenset(re.split(r"[,\s]+", _said("brokers") or "")) - {""},
    )


def _roots(option: str) -> Roots:
    try:
        return parse_roots(_said(option) or "")
    except ValueError as error:
        raise CheckpointError(
            f"the option {option} of the section [{SECTION}] of Airflow's configuration: {error}"
        ) from None


def _said(option: str) -> str | None:
    return (conf.get(SECTION, option, fallback="") or "").strip() or None
