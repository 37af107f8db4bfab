"""What changes where a deploy has Spark read a checkpoint by Hadoop's ``FileSystem``, which compares checksums.

By default Spark opens each file of a checkpoint by ``FileContext.open(path)``, past the hidden checksum file beside it.
The class that the deploy sets here reads logs, schemas and state by ``FileSystem.open``: it stops at each sum that does
not fit. Sums of schemas are not read by ckpt, which the gate says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import checksums, sources
from airflow_provider_ckpt.checks.confs import OF_SPARK, codec_class, provider_class
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.logs import read_at_restart
from airflow_provider_ckpt.codec import layout
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


_COMPARES = ".FileSystemBasedCheckpointFileManager"
_REMEDY = (
    f"Remove the checksum file if the file is right, else restore both from a backup; or deploy without {FILE_MANAGER}."
)


def compares_sums(deploy: DeploySpec) -> bool:
    """Whether the deploy has Spark compare Hadoop's checksums of all that it reads of the checkpoint."""
    return (deploy.confs.get(FILE_MANAGER) or "").endswith(_COMPARES)


def sums_of_logs(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT122: what a restart reads of the logs, and does not fit its checksum."""
    if not compares_sums(deploy):
        return
    read = {*read_at_restart(view), *sources.live_entries(view)}
    for finding in checksums.stale(view):
        place = layout.parse(finding.name or "")
        if isinstance(place, layout.Sidecar) and place.of in read:
            message = f"{place.of} is not what its checksum file says, and {FILE_MANAGER} of the deploy compares them"
            error = "ChecksumException"
            yield replace(finding, code="CKPT122", severity="error", message=message, hint=_REMEDY, spark_error=error)


def sums_of_state(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT121 of state, or CKPT122 where Spark compares the sums; older deltas make up for a snapshot."""
    compared = tuple(problem for problem in view.altered if not problem.partition(": ")[0].endswith(".snapshot"))
    if not compared or not compares_sums(deploy):
        yield from checksums.altered_state(view)
        return
    for finding in checksums.altered_state(replace(view, altered=compared)):
        message = f"{finding.name} is not what its checksum file says, and {FILE_MANAGER} of the deploy compares them"
        error = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
        yield replace(finding, code="CKPT122", severity="error", message=message, hint=_REMEDY, spark_error=error)
