"""Names of what a forecast cannot judge: it could stop Spark or lose data, and was neither declared nor read.

The names are part of the JSON that the gate gives. ``docs/rules.md`` says what to do about each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_ckpt.checkpoint.operator_files import NOT_OPENED
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import state
from airflow_provider_ckpt.checks.confs import codec_of_state
from airflow_provider_ckpt.checks.logs import newest_commit, not_opened
from airflow_provider_ckpt.codec.state_content import SUMMED
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import MARKING
from airflow_provider_ckpt.restart.file_manager import classes_to_find, compares_sums, has_foreign_state
from airflow_provider_ckpt.restart.real_time import CONTINUOUS

STATE, SOURCE_LOGS, CHECKSUM_FILES, SINK_LOG = "state", "source logs", "checksum files", "sink log"
#: RocksDB alone reads them; without a checksum file nothing else tells that one is damaged.
STATE_TABLES = "state tables"
#: Of those a restart reads, nobody knows what Spark does; who runs the query may be able to open them.
UNOPENED = "files that cannot be opened"
#: Before the name of a class that open Spark does not have.
CLASS = "class"
#: A check knows no deploy, which alone says how many stateful operators there are.
OPERATOR_COUNT = "number of operators"
#: The code of the deploy alone says them, and nothing declares them: a gate that warned of it would warn of every
#: stateful query for ever.
STATE_FIELDS = "fields of state"


def not_read(view: CheckpointView) -> tuple[str, ...]:
    """Names of the parts of the checkpoint that were not read."""
    partitions = (f"partitions of {problem.partition(':')[0]}" for problem in view.unjudged)
    tables = (STATE_TABLES,) if view.unread_tables else ()
    closed = (UNOPENED,) if is_closed(view) else ()
    state = (STATE,) if view.complete and _may_be_altered(view) else ()
    return (*(() if view.complete else (STATE, SOURCE_LOGS, CHECKSUM_FILES)), *tables, *partitions, *closed, *state)


def is_closed(view: CheckpointView) -> bool:
    """Whether there is a file that a restart reads and that cannot be opened."""
    errors = (finding for finding in not_opened(view) if finding.severity == "error")
    return any(errors) or any(NOT_OPENED in problem for problem in view.missing or ())


def _may_be_altered(view: CheckpointView) -> bool:
    """True if state has changed since it was written, in a format that only Spark can judge."""
    return bool(view.altered) and codec_of_state(view) != SUMMED


def not_checked(view: CheckpointView) -> tuple[str, ...]:
    """Names of what a check does not judge: unread parts, and a possible loss of the last operators as a whole.

    Only the commits of state checkpoint format 2 name all operators.
    """
    commit = newest_commit(view)
    is_told = commit is not None and commit.state_unique_ids
    unsure = view.complete and not is_told and _may_have_state(view, DeploySpec())
    return (*not_read(view), *((OPERATOR_COUNT,) if unsure else ()))


def not_judged(view: CheckpointView, deploy: DeploySpec) -> tuple[str, ...]:
    """Names of what was not judged, in the order in which a person would declare or read it."""
    classes = (f"{CLASS} {name}" for name in classes_to_find(view, deploy))
    unread = not_read(view)
    foreign = (STATE,) if has_foreign_state(view, deploy) and STATE not in unread else ()
    sums = (CHECKSUM_FILES,) if compares_sums(deploy) and CHECKSUM_FILES not in unread else ()
    fields = (STATE_FIELDS,) if deploy.operators else ()  # where these are not declared, that says it
    return (*_undeclared(view, deploy), *classes, *_sink_log(view, deploy), *foreign, *sums, *unread, *fields)


def could_be_judged(unknown: Iterable[str]) -> tuple[str, ...]:
    """Of what was not judged, what a declaration, a reading or a check by hand would have settled: it is no pass."""
    return tuple(name for name in unknown if name != STATE_FIELDS)


def _undeclared(view: CheckpointView, deploy: DeploySpec) -> Iterator[str]:
    if deploy.declared_version is None:
        yield "spark_version"
    if not deploy.says_confs:
        yield "confs"
    if view.latest_planned is not None:  # there are offsets that the sources have to fit
        if deploy.sources is None:
            yield "sources"
        elif any(source.type is None for source in deploy.sources):
            yield "source types"
    if deploy.operators is None and _may_have_state(view, deploy):
        yield "operators"
    if deploy.sink is None or deploy.sink.kind == "unknown":
        yield "sink"
    if deploy.trigger == CONTINUOUS:
        yield "continuous processing"


def _may_have_state(view: CheckpointView, deploy: DeploySpec) -> bool:
    """True if the query may be stateful, judged by what was read; a state directory can be lost as a whole."""
    if view.stateful or any(state.missing_state_directory(view)):
        return True
    commit = newest_commit(view)
    if not view.complete or commit is None:  # the state is said not to be judged, or no batch has written any
        return False
    has_no_ids = commit.version == _WITH_IDS and not commit.state_unique_ids
    return not (has_no_ids or deploy.async_progress or deploy.trigger == CONTINUOUS)


#: The version of a commit that names the state files of the batch.
_WITH_IDS = 2


def _sink_log(view: CheckpointView, deploy: DeploySpec) -> Iterator[str]:
    """A sink that skips batches which it remembers, when nobody has read what it remembers."""
    remembers = deploy.sink is not None and deploy.sink.kind in MARKING
    if remembers and view.sink is None and view.marker is None:
        yield SINK_LOG
