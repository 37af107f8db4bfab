"""Classes that a restart searches for and that open Spark does not have: the deploy alone knows them."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.confs import OF_SPARK, codec_class, provider_class
from airflow_provider_ckpt.query.deploy import DeploySpec

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
COMMIT_PROTOCOL = "spark.sql.streaming.commitProtocolClass"


def classes_to_find(view: CheckpointView, deploy: DeploySpec) -> tuple[str, ...]:
    """The classes that Spark will search for, without its own and without those that the deploy declares to have."""
    return tuple(dict.fromkeys(name for name in _searched(view, deploy) if name not in deploy.classes))


def has_foreign_state(view: CheckpointView, deploy: DeploySpec) -> bool:
    """True if a class opens the state whose files ckpt does not know."""
    return bool(_provider(view, deploy))


def _searched(view: CheckpointView, deploy: DeploySpec) -> Iterator[str]:
    yield from (name for name in (_provider(view, deploy), codec_class(view)) if name is not None)
    manager, protocol = deploy.confs.get(FILE_MANAGER), deploy.confs.get(COMMIT_PROTOCOL)
    if manager is not None and not manager.startswith(OF_SPARK):
        yield manager
    writes_files = deploy.sink is None or deploy.sink.kind == "file"
    if protocol is not None and writes_files and not protocol.startswith(OF_SPARK):
        yield protocol


def _provider(view: CheckpointView, deploy: DeploySpec) -> str | None:
    """The state store provider, of the log or of the deploy, when it is a class of somebody else."""
    return provider_class(view, deploy.confs, deploy.classes, stateful=view.stateful or bool(deploy.operators))
