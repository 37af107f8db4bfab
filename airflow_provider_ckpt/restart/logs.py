"""Steps of a restart that read the query id and the two logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE, SHUFFLE_PARTITIONS, catalogue
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import access, checksums, log_gaps, logs, sources, state, watermarks, writers
from airflow_provider_ckpt.checks.confs import refused_confs
from airflow_provider_ckpt.checks.findings import Finding, a_note, a_warning, an_error
from airflow_provider_ckpt.checks.logs import entry_before, newest_commit, newest_entry
from airflow_provider_ckpt.checks.remedies import OR_NEW_LOCATION
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.spark_version import SparkVersion, version_text
from airflow_provider_ckpt.restart.sources import COMPARED, count_fits, lines_of_no_source, source_findings, types_fit

STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_MAX_SUPPORTED = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
_EXACT_MATCH = "INVALID_LOG_VERSION.EXACT_MATCH_VERSION"
VERIFY_METADATA = "spark.sql.streaming.checkpoint.verifyMetadataExists.enabled"


#: The latest log versions that a Spark reads: offset log, commit log.
_OFFSET_LOG_2_SINCE: SparkVersion = (4, 2)
_COMMIT_LOG_2_SINCE: SparkVersion = (4, 0)
_COMMIT_LOG_3_SINCE: SparkVersion = (4, 2)
_EXACT_COMMIT_LOG: tuple[SparkVersion, ...] = ((4, 0), (4, 1))
_METADATA_REQUIRED_SINCE: SparkVersion = (4, 2)
_REPARTITION_SINCE: SparkVersion = (4, 2)
#: Since then a missing predecessor of an uncommitted batch is a failed requirement rather than an illegal state.
_REQUIRES_SINCE: SparkVersion = (4, 2)


def query_id(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The file ``metadata``; before Spark 4.2 a missing one is silently written anew."""
    lenient = deploy.spark_version < _METADATA_REQUIRED_SINCE or deploy.confs.get(VERIFY_METADATA) == "false"
    for finding in logs.missing_metadata(view):
        yield replace(finding, spark_error=None) if lenient else finding
    yield from _damaged(view, layout.METADATA)


def newest_offsets(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The newest offset log entry can be read, also by the target Spark."""
    yield from logs.ids_too_far_apart(view, layout.OFFSETS)
    yield from (finding for finding in logs.odd_names(view) if _in_log(finding, layout.OFFSETS))
    if view.latest_planned is None:
        return
    yield from _damaged(view, layout.offset_entry(view.latest_planned))
    entry = newest_entry(view)
    if entry is not None and entry.version >= 2 and deploy.spark_version < _OFFSET_LOG_2_SINCE:
        yield an_error(
            "CKPT220",
            f"the offset log has version {entry.version}, but Spark {version_text(deploy.spark_version)} reads only "
            "version 1",
            view.latest_planned,
            layout.offset_entry(view.latest_planned),
            f"Stay on Spark {version_text(_OFFSET_LOG_2_SINCE)} or later, {OR_NEW_LOCATION}",
            _MAX_SUPPORTED,
        )


def newest_commits(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The newest commit log entry can be read, also by the target Spark."""
    yield from logs.ids_too_far_apart(view, layout.COMMITS)
    yield from (finding for finding in logs.odd_names(view) if _in_log(finding, layout.COMMITS))
    if view.latest_committed is None:
        return
    exact = deploy.spark_version in _EXACT_COMMIT_LOG
    for finding in _damaged(view, layout.commit_entry(view.latest_committed)):
        too_new = exact and finding.code == "CKPT103"
        yield replace(finding, spark_error=_EXACT_MATCH) if too_new else finding
    commit = newest_commit(view)
    if commit is None:
        return
    if exact:
        yield from _exact_version(commit, view, deploy)
        return
    known = 1 if deploy.spark_version < _COMMIT_LOG_2_SINCE else 2 if deploy.spark_version < _COMMIT_LOG_3_SINCE else 3
    if commit.version > known:
        yield an_error(
            "CKPT221",
            f"the commit log has version {commit.version}, but Spark {version_text(deploy.spark_version)} reads only "
            f"versions up to {known}",
            view.latest_committed,
            layout.commit_entry(view.latest_committed),
            f"Stay on the Spark that wrote it, {OR_NEW_LOCATION}",
            _MAX_SUPPORTED,
        )


def _exact_version(commit: CommitMetadata, view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Spark 4.0 and 4.1 read the one version that the session's state checkpoint format asks for."""
    wanted = deploy.confs.get(STATE_FORMAT, "1")
    if str(commit.version) != wanted:
        yield an_error(
            "CKPT221",
            f"the commit log has version {commit.version}, but Spark {version_text(deploy.spark_version)} with "
            f"{STATE_FORMAT} = {wanted} reads only version {wanted}",
            view.latest_committed,
            layout.commit_entry(view.latest_committed or 0),
            f"Deploy with {STATE_FORMAT}={commit.version}, or a later Spark."
            if commit.version <= 2
            else "Stay on the Spark that wrote it.",
            _EXACT_MATCH,
        )


def empty_log(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Without offsets Spark begins with batch 0: there must be neither commits nor state."""
    if view.latest_planned is None:
        yield from logs.commits_ahead(view)
        yield from state.state_without_log(view)


def entry_before_newest(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The entry before the newest is there and can be read."""
    newest = view.latest_planned
    if newest is None:
        return
    before = view.predecessor(newest)
    stray = tuple(log_gaps.stray_entry(view))
    for finding in stray:
        error = None if deploy.async_progress else _missing_before(view, deploy)
        yield replace(finding, spark_error=error)
    if not stray and not deploy.async_progress and before != newest - 1 and newest > 0:
        yield _async_alone(view, newest, deploy)
    for finding in log_gaps.missing_predecessor(view):
        yield replace(finding, spark_error=_missing_before(view, deploy))
    if before is not None:
        name = layout.offset_entry(before)
        yield from _damaged(view, name)
        if (entry := entry_before(view)) is not None:
            yield from lines_of_no_source(view, before, deploy)
        if entry is not None and deploy.sources is not None:
            if entry.version == 1:
                yield from count_fits(entry, name, before, view, deploy)
            yield from _types_before(view, entry, before, deploy)


def _missing_before(view: CheckpointView, deploy: DeploySpec) -> str:
    """Error of Spark where the entry before the newest one is missing."""
    requires = view.in_flight is not None and deploy.spark_version >= _REQUIRES_SINCE
    return log_gaps.MISSING_BEFORE_PLANNED if requires else log_gaps.MISSING_BEFORE_COMMITTED


def _async_alone(view: CheckpointView, newest: int, deploy: DeploySpec) -> Finding:
    """CKPT231: only async progress tracking goes on where the batch before the newest one is left out."""
    said = deploy.async_progress is False
    told = "does not use that mode" if said else "does not declare that mode"
    return Finding(
        "CKPT231",
        "error" if said else "warning",
        f"offsets/{newest - 1} is missing, as async progress tracking leaves out entries, and the deploy {told}",
        newest,
        layout.offset_entry(newest - 1),
        "Deploy with asyncProgressTrackingEnabled=true if the query ran with it, and declare async_progress: true in "
        "the query file. If it did not, the entry was lost: ckpt salvage finds the newest batch that can be saved.",
        _missing_before(view, deploy) if said else None,
    )


def _types_before(view: CheckpointView, entry: OffsetSeq, before: int, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT212 of the entry before the newest one; where no source reads it, only when the newest one has none."""
    found = tuple(types_fit(entry, before, deploy))
    newest = newest_entry(view)
    if _reads_before(view, deploy):
        yield from found
    elif newest is not None and not any(types_fit(newest, before + 1, deploy)):
        yield from (replace(finding, severity="warning", spark_error=None) for finding in found)


#: Types whose source reads the offset that it goes on from alone, not the one before that.
_READS_ONE = frozenset({"kafka", "rate", "rate-micro-batch", "socket", "iceberg"})


def _reads_before(view: CheckpointView, deploy: DeploySpec) -> bool:
    """True if a source reads the offset before the newest one: where the batch in flight began, or an older source."""
    newest = newest_entry(view)
    has_all = newest is not None and all(offset is not None for _, offset in newest.offsets)
    return view.in_flight is not None or not has_all or not {*(deploy.source_kinds or {}).values()} <= _READS_ONE


def confs(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The confs of the newest entry are put into the session."""
    yield from logs.null_confs(view)
    yield from refused_confs(view)
    yield from shuffle_partitions_missing(view)
    yield from _other_spark(view, deploy)


def shuffle_partitions_missing(view: CheckpointView) -> Iterator[Finding]:
    """CKPT117: Spark 4.2 wrote entries of version 2 without the number of state partitions."""
    entry = newest_entry(view)
    if entry is None or entry.version < 2 or entry.metadata is None or SHUFFLE_PARTITIONS in entry.metadata.conf:
        return
    yield a_warning(
        "CKPT117",
        f"offsets/{view.latest_planned} has no {SHUFFLE_PARTITIONS}, so Spark does not know how many partitions "
        "the state has (SPARK-59662)",
        view.latest_planned,
        layout.offset_entry(view.latest_planned or 0),
        f"Deploy with the value of {SHUFFLE_PARTITIONS} that the query had before, and upgrade Spark.",
    )


def _other_spark(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """CKPT202, CKPT224: confs that the log does not have yet, and confs that the target Spark does not know."""
    entry, newest = newest_entry(view), view.latest_planned
    if entry is None or entry.metadata is None or newest is None:
        return
    logged, known = entry.metadata.conf.keys(), {conf.key: conf for conf in catalogue(deploy.spark_version)}
    absent = [
        conf for conf in known.values() if conf.key not in logged and conf.when_absent not in (None, conf.default)
    ]
    if absent:
        values = ", ".join(f"{conf.key} = {conf.when_absent}" for conf in absent)
        yield a_note(
            "CKPT202",
            f"an earlier Spark wrote the log; as long as this checkpoint is used, Spark will use {values}",
            newest,
            layout.offset_entry(newest),
            "These values give the behaviour from before the confs existed. For the new defaults, start the query "
            "with a new checkpoint location.",
        )
    later = sorted({conf.key for conf in CATALOGUE} & logged - known.keys())
    if later:
        yield a_warning(
            "CKPT224",
            f"a later Spark than {version_text(deploy.spark_version)} wrote the log; it has the confs "
            f"{', '.join(later)}",
            newest,
            layout.offset_entry(newest),
            "An earlier Spark ignores confs that it does not know, and may read the state in another way. Stay on "
            "the later Spark, or try the downgrade on a copy first.",
        )


def logs_agree(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """Findings on the next batch and on obstacles to it."""
    yield from log_gaps.repeated_entry(view)
    yield from sources.void_offsets(view)
    yield from sources.kinesis_goes_back(view)
    yield from (finding for finding in source_findings(view, deploy) if finding.code in COMPARED)
    if view.latest_planned is not None:
        yield from (_state_first(view, finding) for finding in logs.commits_ahead(view))
    yield from logs.commits_trail(view)
    yield from watermarks.watermark_goes_back(view)
    yield from watermarks.watermark_far_ahead(view)
    yield from log_gaps.gaps(view)
    yield from writers.two_writers(view)
    yield from writers.fenced(view)
    yield from access.closed_to_the_query(view)
    yield from logs.without_batch_metadata(view)
    for finding in logs.unfinished_repartition(view):
        yield finding if deploy.spark_version >= _REPARTITION_SINCE else replace(finding, spark_error=None)


def _state_first(view: CheckpointView, finding: Finding) -> Finding:
    """State checkpoint format 2: the batch runs with the ids of a later commit, and finds no state by them."""
    commit = newest_commit(view)
    if commit is None or not commit.state_unique_ids or finding.spark_error != "CONCURRENT_STREAM_LOG_UPDATE":
        return finding
    skipped = view.sink is not None and (view.sink.latest or -1) >= (view.latest_planned or 0)
    if not skipped and _has_state_of(view, commit):
        return finding
    error = "AssertionError" if skipped else "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
    return replace(finding, spark_error=error)


def _has_state_of(view: CheckpointView, commit: CommitMetadata) -> bool:
    """True if the ids of a commit are those of the state that the newest planned batch goes on from."""
    ids = {name for stores in (commit.state_unique_ids or {}).values() for names in stores for name in names}
    places = (layout.parse(name) for name in view.names_below(layout.STATE))
    loaded = [place for place in places if isinstance(place, layout.StateFile) and place.version == view.latest_planned]
    return any(place.unique_id in ids for place in loaded)


def offsets_can_be_written(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """A new batch is planned first."""
    if view.in_flight is None:
        yield from (finding for finding in _obstacles(view) if _in_log(finding, layout.OFFSETS))


def batch_can_be_committed(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """The commit is written last."""
    in_offsets = view.in_flight is None
    yield from (f for f in _obstacles(view) if not (in_offsets and _in_log(f, layout.OFFSETS)))
    yield from checksums.stale(view)


def _obstacles(view: CheckpointView) -> Iterator[Finding]:
    yield from checksums.orphans(view)
    yield from logs.folders(view)
    yield from logs.files_in_the_way(view)


def _damaged(view: CheckpointView, name: str) -> Iterator[Finding]:
    """Findings on a file that is read at a restart."""
    if name in view.damaged:
        yield logs.damaged_entry(view, name, stops=name in logs.read_at_restart(view))


def other_damage(view: CheckpointView, deploy: DeploySpec) -> Iterator[Finding]:
    """What a restart does not read, and what cannot be opened, of which nobody knows what Spark does with it."""
    yield from (finding for finding in logs.damaged_entries(view) if finding.spark_error is None)
    yield from logs.not_opened(view)


def _in_log(finding: Finding, log: str) -> bool:
    return (finding.name or "").startswith(f"{log}/")
