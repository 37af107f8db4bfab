"""Steps of a restart that concern state: operators, formats, partitions, files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE, SHUFFLE_PARTITIONS, STATE_PROVIDER, forecast_confs
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import checksums, state, state_names
from airflow_provider_ckpt.checks.confs import unknown_codec, unknown_provider
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error
from airflow_provider_ckpt.checks.logs import entry_before, newest_commit, newest_entry
from airflow_provider_ckpt.checks.no_data import why_waiting
from airflow_provider_ckpt.checks.remedies import OR_NEW_LOCATION, from_backup, from_backup_or_before, listed
from airflow_provider_ckpt.codec import jvm_text, layout
from airflow_provider_ckpt.codec.state_metadata import AGGREGATION, REAL_TIME_AGGREGATION
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import MARKING, SINKS_OF_BATCHES
from airflow_provider_ckpt.query.spark_version import SparkVersion
from airflow_provider_ckpt.restart.file_manager import has_foreign_state, sums_of_state
from airflow_provider_ckpt.restart.logs import STATE_FORMAT

ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
_REPAIRS_SINCE: SparkVersion = (4, 1)
_ENCODING_SINCE: SparkVersion = (4, 0)
#: Since then operators write down what they are.
_OPERATORS_SINCE: SparkVersion = (4, 0)


def encoding(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Spark refuses Avro state for every operator but transformWithState, even where the log says otherwise."""
    operators = _operators(view, deploy)
    if deploy.confs.get(ENCODING) != "avro" or not operators or deploy.spark_version < _ENCODING_SINCE:
        return
    if not any("transformWithState" in operator for operator in operators):
        yield an_error(
            "CKPT230",
            f"{ENCODING} = avro works only with transformWithState",
            hint=f"Deploy without {ENCODING}.",
            spark_error="_LEGACY_ERROR_TEMP_3102",
        )


def logged_confs(view: CheckpointView) -> dict[str, str | None] | None:
    """The confs that a restart takes from the log; None when the newest entry has none.

    In an entry of version 2 Spark fills in missing shuffle partitions from what a stateful operator says of its first
    run, which a repartition does not change.
    """
    entry = newest_entry(view)
    if entry is None or entry.metadata is None:
        return None
    conf = dict(entry.metadata.conf)
    if entry.version >= 2 and SHUFFLE_PARTITIONS not in conf:
        first_run = [store.num_partitions for operator in view.operators.values() for store in operator.stores]
        if first_run:
            conf[SHUFFLE_PARTITIONS] = str(max(first_run))
    return conf


def state_partitions(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT205: the query opens another number of state partitions than wrote state last."""
    conf = logged_confs(view)
    if conf is None or not view.complete:
        return
    outcomes = forecast_confs(conf, deploy.confs, deploy.spark_version)
    opened = next((outcome.effective for outcome in outcomes if outcome.key == SHUFFLE_PARTITIONS), None)
    number = jvm_text.parse_int(jvm_text.trim(opened or ""))
    for operator_id, written in view.partitions_written(number).items():
        unknown = any(problem.startswith(f"{layout.STATE}/{operator_id}:") for problem in view.unjudged)
        if number is None or number == written or unknown or operator_id in view.single_partition:
            continue
        more = number > written
        yield an_error(
            "CKPT205",
            f"operator {operator_id} has state in {written} partitions, but the query opens {opened}"
            + ("" if more else ": the state of the other partitions is lost without an error"),
            view.latest_planned,
            f"{layout.STATE}/{operator_id}",
            spark_error=_error_of_more_partitions(view, operator_id) if more else None,
            **from_backup(view, "the offset entry", why=f"It has to say {SHUFFLE_PARTITIONS} = {written}."),
        )


def _error_of_more_partitions(view: CheckpointView, operator_id: int) -> str:
    commit = newest_commit(view)
    if commit is not None and commit.state_unique_ids:
        return "ArrayIndexOutOfBoundsException"
    if any(name.startswith(f"{layout.STATE}/{operator_id}/") and name.endswith(".zip") for name in view.folders):
        return "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
    delta = any(name.endswith(".delta") for name in view.names_below(f"{layout.STATE}/{operator_id}"))
    missing = "CANNOT_READ_DELTA_FILE_NOT_EXISTS" if delta else "CANNOT_READ_STREAMING_STATE_FILE"
    return f"CANNOT_LOAD_STATE_STORE.{missing}"


def stateful_operators(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The declared operators are those that the state belongs to."""
    yield from (f for f in unknown_provider(view, deploy.classes) if f.spark_error is not None)
    yield from state.missing_state_directory(view)
    if deploy.operators is None or view.latest_planned is None:
        return
    if deploy.operators and not view.stateful and not list(state.missing_state_directory(view)):
        yield an_error(
            "CKPT132",
            f"the deploy has the stateful operator {deploy.operators[0]}, but the checkpoint has no state",
            view.latest_planned,
            layout.STATE,
            "Start the query with a new checkpoint location.",
            _error_without_state(view),
        )
    recorded = () if view.has_unread_operators() else view.operator_names
    if recorded and _of_micro_batches(recorded) != _of_micro_batches(deploy.operators):
        yield an_error(
            "CKPT230",
            f"the state belongs to the operators {listed(recorded)}, but the deploy has {listed(deploy.operators)}",
            view.latest_planned,
            layout.STATE,
            "Keep the stateful operators and their order, " + OR_NEW_LOCATION,
            "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" if deploy.spark_version >= (4, 0) else None,
        )
    elif view.stateful and not deploy.operators and not recorded:
        yield a_warning(
            "CKPT230",
            "the checkpoint has state, but the deploy has no stateful operator",
            view.latest_planned,
            layout.STATE,
            "Make sure that this is the checkpoint of the query. ckpt gate without --quick compares the operators.",
        )


def _error_without_state(view: CheckpointView) -> str:
    """Error with which Spark stops; it accepts any directory that is not empty as one with state."""
    if not any(view.names_below(layout.STATE)):
        return "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    is_rocksdb = "RocksDB" in ((logged_confs(view) or {}).get(STATE_PROVIDER) or "")
    missing = "CANNOT_READ_STREAMING_STATE_FILE" if is_rocksdb else "CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    return f"CANNOT_LOAD_STATE_STORE.{missing}"


def _of_micro_batches(operators: Iterable[str]) -> tuple[str, ...]:
    """The operators under the names that they have outside real-time mode; Spark compares them so."""
    return tuple(AGGREGATION if name == REAL_TIME_AGGREGATION else name for name in operators)


_STATE_FORMATS = {
    AGGREGATION: "spark.sql.streaming.aggregation.stateFormatVersion",
    "symmetricHashJoin": "spark.sql.streaming.join.stateFormatVersion",
    "flatMapGroupsWithState": "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
}


def state_format(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT204: an entry that lacks, or changes, the state format of an operator makes Spark read old state wrongly."""
    newest, before = newest_entry(view), entry_before(view)
    if newest is None or newest.metadata is None or not view.stateful:
        return
    fallback = {conf.key: conf.when_absent for conf in CATALOGUE}
    for operator, key in _STATE_FORMATS.items():
        if operator not in _of_micro_batches(_operators(view, deploy)):
            continue
        now = newest.metadata.conf.get(key) or fallback[key]
        if before is None and key in newest.metadata.conf:
            continue  # the first batch, whose own entry says in which format it wrote the state
        was = (before.metadata.conf.get(key) if before and before.metadata else None) or _DEFAULT_FORMAT
        if now == was:
            continue
        missing = key not in newest.metadata.conf
        yield an_error(
            "CKPT204",
            f"the conf {key} is {'missing, so Spark falls back to' if missing else 'now'} {now}, but the state "
            f"has format {was}",
            view.latest_planned,
            layout.offset_entry(view.latest_planned or 0),
            spark_error="IllegalArgumentException" if was == "3" else "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
            **from_backup_or_before(view, "the entry", view.latest_planned),
        )


_DEFAULT_FORMAT = "2"


def waits_for_data(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT225: what a watermark has closed comes with the first batch that has new data."""
    if (why := why_waiting(view)) is not None:
        yield a_note(
            "CKPT225",
            f"nothing runs until there is new data: {why}",
            view.latest_committed,
            layout.commit_entry(view.latest_committed or 0),
            "Wait for new data; the results come with it, or right after it.",
        )


def metadata_can_be_written(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """What is not there of the schemas and the metadata of operators is written before the batch runs."""
    if deploy.operators == ():
        return
    for finding in checksums.orphans_of_state(view):
        if deploy.spark_version >= _OPERATORS_SINCE or not (finding.name or "").endswith("/_metadata/.metadata.crc"):
            yield finding


def state_loads(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Every store finds its files, unless the sink skips the batch, which is then not computed."""
    skipped = view.sink is not None and (view.sink.latest or -1) >= view.next_batch
    for finding in _load(view, deploy):
        planned = "/_" in (finding.name or "")  # what Spark reads to plan the batch, it reads whatever the sink does
        yield replace(finding, spark_error=None) if skipped and not planned else finding


def _load(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    yield from (f for f in unknown_provider(view, deploy.classes) if f.spark_error is None)
    if has_foreign_state(view, deploy):
        return  # ckpt does not know its files
    yield from state.commit_without_ids(view)
    yield from state.ids_of_rerun(view)
    yield from state_names.ids_of_fewer_partitions(view)
    yield from state_names.metadata_of_another(view)
    yield from state_partitions(view, deploy)
    yield from state.folders(view)
    yield from state_names.names_of_no_version(view)
    yield from state.incomplete_chain(view)
    yield from sums_of_state(view, deploy)
    yield from state.unknown_partitions(view)
    yield from unknown_codec(view, deploy.classes)
    yield from state.unfinished_state(view) if _may_be_skipped(view, deploy) else ()
    yield from state.state_ahead(view)
    yield from state.damaged_operator_metadata(view)
    for finding in state.repaired_snapshot(view):
        repairs = deploy.spark_version >= _REPAIRS_SINCE
        error = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
        yield finding if repairs else replace(finding, severity="error", spark_error=error)
    yield from state_format_switched(view, deploy)


def _may_be_skipped(view: CheckpointView, deploy: DeploySpec) -> bool:
    """True if the sink holds the batch in flight, or may hold it: its state is then not written again."""
    if view.sink is not None or view.marker is not None:
        held = (view.sink.latest if view.sink is not None else None, view.marker.last_batch if view.marker else None)
        return any(batch is not None and batch >= view.next_batch for batch in held)
    return deploy.sink is None or deploy.sink.said.lower() in (*MARKING, *SINKS_OF_BATCHES)


def state_format_switched(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT222: from Spark 4.3 on the newest commit decides on the state checkpoint format; 4.2 asks the session."""
    wanted, commit = deploy.confs.get(STATE_FORMAT), newest_commit(view)
    if commit is None or not view.stateful:
        return
    has = "2" if commit.state_unique_ids else "1"
    if deploy.spark_version == (4, 2) and (wanted or "1") != has:
        yield _switched(
            view, f"Spark 4.2 takes {STATE_FORMAT} = {wanted or '1'} from the session", has, _error_in_4_2(view, has)
        )
    elif wanted is not None and wanted != has:
        yield _switched(view, f"{STATE_FORMAT} = {wanted} will be ignored", has, None)


def _switched(view: CheckpointView, problem: str, has: str, error: str | None) -> Finding:
    return an_error(
        "CKPT222",
        f"{problem}, but the checkpoint has format {has}",
        view.latest_committed,
        layout.commit_entry(view.latest_committed or 0),
        f"Deploy with {STATE_FORMAT}={has}, {OR_NEW_LOCATION}",
        error,
    )


def _error_in_4_2(view: CheckpointView, has: str) -> str | None:
    if has == "2":
        return "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
    conf = logged_confs(view) or {}
    hdfs = "HDFSBackedStateStoreProvider" in (conf.get(STATE_PROVIDER) or "")
    return "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED" if hdfs else "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"


def _operators(view: CheckpointView, deploy: DeploySpec) -> tuple[str, ...]:
    return deploy.operators if deploy.operators is not None else view.operator_names
