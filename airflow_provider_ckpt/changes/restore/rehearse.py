"""Rehearsing a restore: a backup is written to a scratch place, and a Spark of its own opens it there.

Spark reads the newest entry of both logs, which must be what this package reads, and every row of the state with the
state reader. Nothing of it stays.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import spark_uri
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.checkpoint.find_spark import missing_spark
from airflow_provider_ckpt.checkpoint.state.reads import STATE_FORMAT, StateRead, state_format, state_reads
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.errors import BackupCorruptError, BackupError
from airflow_provider_ckpt.sinks.effects import EFFECTS
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub

#: What runs as a process of its own; this layer never loads Spark itself.
PROGRAM = "airflow_provider_ckpt.spark.rehearse"
TIMEOUT_S = 3600


@dataclass(frozen=True, slots=True)
class OpenedState(Documented):
    """A part of the state that Spark has read to its end."""

    operator_id: Annotated[int, "id of the stateful operator"]
    operator: Annotated[str, "Spark's name of the operator"]
    part: Annotated[str, "state store, side of a join or state variable; empty when there is one store"]
    rows: Annotated[int, "number of rows"]


@dataclass(frozen=True, slots=True)
class Rehearsal(Documented):
    """What a Spark found in a restored backup; both logs agree, or there is none."""

    backup_id: Annotated[str, "the backup"]
    batch_id: Annotated[int, "latest committed batch that Spark found"]
    spark_version: Annotated[str, "version of the Spark that opened the backup"]
    state: Annotated[tuple[OpenedState, ...], "parts of the state that were read"]
    unread: Annotated[tuple[int, ...], "ids of operators without metadata, whose state was not read"] = ()


def rehearse(
    root: Store, backup: Manifest, *, scratch: Store | None = None, confs: Mapping[str, str] | None = None
) -> Rehearsal:
    """Restore a backup to a scratch place and let Spark open it.

    Args:
        root: Location of the backup root.
        backup: The backup.
        scratch: Where to restore to, below which a directory of its own is made and removed; else a temporary one.
        confs: For the Spark session, such as what it needs to reach the scratch place.

    Raises:
        BackupCorruptError: Spark does not open it; the error names operator and partition.
        BackupError: There is no Spark to ask, or it did not answer.
    """
    _require_spark()
    with tempfile.TemporaryDirectory(prefix="ckpt-rehearsal-") as own:
        place = (scratch or Store.open(own)).child(f"{backup.backup_id}-{uuid.uuid4().hex[:8]}")
        _require_plain(place)
        try:
            restore(make_restore(root, backup, place), root, place, accept_sink=EFFECTS)
            view = examine(place, deep=True)
            reads = state_reads(view)
            answer = _ask(
                {
                    "location": spark_uri(place.location),
                    "batch_id": backup.batch_id,
                    "confs": {STATE_FORMAT: state_format(view.commit(backup.batch_id)), **(confs or {})},
                    "scratch": own,
                    "reads": [read.options for read in reads],
                }
            )
        finally:
            _remove(place)
    if "failed" in answer:
        raise _refused(root, backup, reads, answer["failed"])
    _require_same_logs(root, backup, view, answer["logs"])
    opened = zip(reads, answer["state"], strict=True)
    state = tuple(OpenedState(read.operator_id, read.operator, read.part, rows) for read, rows in opened)
    return Rehearsal(backup.backup_id, backup.batch_id, answer["spark"], state, _unread(view))


def _unread(view: CheckpointView) -> tuple[int, ...]:
    places = (layout.parse(name) for name in view.names_below(layout.STATE))
    operators = {place.store_id.operator_id for place in places if isinstance(place, layout.StateFile)}
    return tuple(sorted(operators - view.operators.keys()))


def _require_spark() -> None:
    if (missing := missing_spark()) is not None:
        raise BackupError(f"a rehearsal needs {missing.what}.", hint=missing.hint)


def _require_plain(place: Store) -> None:
    """Spark's state reader takes the URL-encoded spelling of a location for its name, and finds nothing there."""
    if quote(place.location, safe="/:@") != place.location:
        hint = "Give --scratch a location with only letters, digits and - _ . ~ in its names."
        raise BackupError(
            "Spark's state reader cannot open a location with special characters.", location=place.location, hint=hint
        )


def _ask(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a Spark in a process of its own."""
    command = [sys.executable, "-m", PROGRAM]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BackupError(f"the rehearsal's Spark did not answer within {TIMEOUT_S} s.") from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = " ".join(done.stderr.split("\n")[-4:]).strip()
        raise BackupError(f"the rehearsal's Spark did not answer: {scrub(said)}") from None
    return answer


def _refused(
    root: Store, backup: Manifest, reads: tuple[StateRead, ...], failed: Mapping[str, Any]
) -> BackupCorruptError:
    what = failed.get("log", "")
    read = next((read for read in reads if read.options == failed.get("options")), None)
    if read is not None:
        what = read.text
        if failed["partition"] is not None:
            what += f", partition {failed['partition']},"
    return BackupCorruptError.of(
        root.location, backup.backup_id, f"{what} does not open in Spark: {scrub(failed['message'])}"
    )


def _require_same_logs(root: Store, backup: Manifest, view: CheckpointView, logs: Mapping[str, Any]) -> None:
    """Require that Spark and this package agree on the newest entries."""
    for log, newest in logs.items():
        ours = (view.latest_planned, view.entries.get(f"{log}/{backup.batch_id}"))
        theirs = (newest[0], codec.decode(f"{log}/{newest[0]}", newest[1].encode())) if newest else (None, None)
        if (ours[0], _content(ours[1])) != (theirs[0], _content(theirs[1])):
            raise BackupCorruptError.of(
                root.location,
                backup.backup_id,
                f"for Spark the newest entry of {log} is batch {theirs[0]}, or its content differs from what ckpt read",
            )


def _content(entry: codec.Encodable | None) -> object:
    """An entry without the order of its sources, which Spark does not fix."""
    if isinstance(entry, OffsetSeq):
        return entry.version, dict(entry.offsets), entry.metadata
    return entry


def _remove(place: Store) -> None:
    """Take the scratch place away again."""
    if place.is_local:
        shutil.rmtree(place.root, ignore_errors=True)
        return
    for name in place.find():
        place.delete(name)
