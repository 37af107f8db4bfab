"""Making the plans of repairs: see what the log of a file sink lacks, and what is known of those batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, ClassVar, Self

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fit_sink import last_written, require_fit
from airflow_provider_ckpt.change.make_plan import Planner, Seen, observe_whole
from airflow_provider_ckpt.change.option import Opt
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repair.data_file import Spelling, spelling_of
from airflow_provider_ckpt.changes.repair.decision import Decisions, decisions_of, parse_decisions
from airflow_provider_ckpt.changes.repair.find_evidence import Gathering
from airflow_provider_ckpt.changes.repair.find_fork import find_fork
from airflow_provider_ckpt.changes.repair.lacking import Lacking, LogContents
from airflow_provider_ckpt.changes.repair.plan import NewEntry, content_of, effects_of, plan_repair
from airflow_provider_ckpt.changes.repair.read_copied import copied_statuses, names_in, read_copied, require_whole_copy
from airflow_provider_ckpt.changes.repair.read_log import read_log
from airflow_provider_ckpt.changes.repair.refusals import (
    MOST_BATCHES,
    NOTHING,
    require_own_content,
    require_used,
    too_many,
    undecided,
)
from airflow_provider_ckpt.changes.repair.share import Doubt, Evidence, Share, require_one_taker, share_of
from airflow_provider_ckpt.checkpoint.compaction import Shape, interval_of, misnamed
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.spans import Span


def make_repair(stores: Stores, sink: Sink, decisions: Decisions | None = None) -> Plan:
    """Plan to complete the log of a file sink, or find the plan of the same repair that was killed.

    Args:
        stores: Where; ``stores.backups`` is a copy of the output directory or of its ``_spark_metadata``, if given.
        sink: The sink of the query.
        decisions: Decisions of a person about batches whose files cannot be proven.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    return RepairRequest(sink=sink, decided=decisions or Decisions()).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest(Planner):
    """Which log of a file sink is completed, and with what.

    Args:
        decided: Decisions, where they are not said by the other fields.
    """

    kind: ClassVar[Kind] = "repair"
    sink: Annotated[
        Sink | None,
        Opt("--sink file:URI", "File sink of the query, whose _spark_metadata is completed.", "sink"),
    ] = None
    copy: Annotated[
        str | None,
        Opt(
            "--copy URI",
            "Copy of the output directory or of its _spark_metadata, from which missing entries are taken.",
            "place",
        ),
    ] = None
    adopt: Annotated[
        tuple[str, ...],
        Opt(
            "--adopt BATCH[=NAME]",
            "Give this batch the data files that may be its own and that no entry names, or this one of them. Can be "
            "given more than once.",
            "name",
        ),
    ] = ()
    empty: Annotated[
        tuple[str, ...],
        Opt(
            "--empty BATCH",
            "Give this batch an entry without files: readers do not get its rows. Can be given more than once.",
            "name",
        ),
    ] = ()
    compact_interval: Annotated[
        int | None,
        Opt(
            "--compact-interval BATCHES",
            "What the query sets as spark.sql.streaming.fileSink.log.compactInterval. By default 10.",
            "whole",
            least=1,
        ),
    ] = None
    decided: Decisions | None = None

    @property
    def decisions(self) -> Decisions:
        """What is decided about batches whose files are not proven. Raises ValueError."""
        return self.decided or parse_decisions(self.adopt, self.empty, self.compact_interval)

    @property
    def places(self) -> Mapping[str, Any]:
        """The sink, and the copy in the place of a backup."""
        return {"sink": self.sink, "backups": self.copy}

    def require_sense(self) -> None:
        """Raise ValueError without a sink, and for decisions that contradict each other."""
        if self.sink is None:
            raise ValueError("give the sink whose log is to be completed: --sink file:URI (in a DAG: sink), or a plan")
        _ = self.decisions

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The repair with the same decisions."""
        return cls(sink=plan.declared_sink, decided=decisions_of(plan.asked))

    def is_met_by(self, plan: Plan) -> bool:
        """The same decisions lead to the same log."""
        return plan.asked == self.decisions.text

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with the log of its sink. Raises PlanError for a sink that has none as well."""
        sink = stores.declared(self.sink)
        if sink.kind != "file" or stores.sink is None:
            raise PlanError(
                f"the sink {sink.name} has no log that ckpt can repair; only a file sink has one.",
                location=stores.checkpoint.location,
                hint=f"{NOTHING} Declare the file sink: --sink file:URI.",
            )
        view = observe_whole(stores.checkpoint)
        if view.latest_committed is None:
            raise PlanError("no batch is committed, so the sink needs no log.", location=view.location, hint=NOTHING)
        return replace(view, sink=read_file_sink(stores.sink))

    def decide(self, seen: Seen) -> Plan:
        """What the log lacks comes, and what nobody reads and Spark would mistake goes."""
        return _decide(seen.stores, seen.view, seen.stores.declared(self.sink), self.decisions)


class Executor(InPlace):
    """Writes the entries that the log of a file sink lacks."""

    planner = RepairRequest

    @property
    def ways_out(self) -> str:
        """The log is completed from what is there then, or is as it was."""
        undo = self.stores.undo_command
        return f"run the same command again to complete the log, or `{undo}` to have it as it was"


def _decide(stores: Stores, view: CheckpointView, sink: Sink, decisions: Decisions) -> Plan:
    assert stores.sink is not None and view.sink is not None
    contents = read_log(view.sink, stores.sink)
    _require_fit(stores, view, sink, contents, _newest(contents, view))  # before any number of the log is relied on
    require_own_content(contents, stores.sink.location)
    log = _log_of(stores, contents, view, decisions)
    unknown, lacking = log.unknown, log.lacking
    files = stores.sink.find() if lacking else {}
    named = names_in(stores.sink, [*contents.statuses, *copied_statuses(log)])
    require_whole_copy(log, stores.sink, files)
    fork = find_fork(stores, view.query_id)
    gathered = Gathering(stores.checkpoint, stores.undo, stores.sink, view, log, files, named, fork=fork)
    evidence = gathered.evidence(unknown, decisions)
    if contents.log.latest is None or contents.log.latest < (last_written(stores.checkpoint, view) or 0):
        _require_own_files(stores, view, sink, evidence)
    shares = _shares(unknown, evidence, stores.sink, view)
    spelling = spelling_of(contents.statuses, stores.sink.root, stores.sink.location)
    entries = _entries(log, shares, stores.sink, spelling)
    effects = effects_of(sink.at(stores.sink).name, shares, _exact(lacking or log.outdated))
    reasons = (f"{share.reason[0].upper()}{share.reason[1:]}." for share in shares)
    notes = (*reasons, *_of_the_copy(log, stores), *_of_the_outdated(log), *_of_the_unreadable(log, entries))
    return plan_repair(
        view,
        contents.log,
        entries,
        now_ms(),
        outdated=log.outdated,
        effects=effects,
        notes=notes,
        source=stores.backups.location if stores.backups is not None else "",
        asked=decisions.text,
    )


def _of_the_outdated(log: Lacking) -> Iterable[str]:
    for name in log.outdated:
        yield (
            f"{name} is removed: a compacted entry after it is lost, so Spark would take a wrong interval between two, "
            "and search for entries under other names. Nobody reads this one."
        )


def _of_the_unreadable(log: Lacking, entries: Sequence[NewEntry]) -> Iterable[str]:
    written = {entry.name for entry in entries}
    for name in sorted(log.contents.log.damaged.keys() | log.contents.damaged.keys()):
        if name not in written and name not in log.outdated:
            yield (
                f"{name} cannot be read and stays as it is: readers begin at a later compacted entry. A rollback to a "
                "batch before that one needs it: restore it from a copy of _spark_metadata first."
            )


def _exact(lacking: Sequence[object]) -> str:
    return "readers get the rows of each batch once" if lacking else "its log lacks no entry"


def _of_the_copy(log: Lacking, stores: Stores) -> Iterable[str]:
    if log.copied and stores.backups is not None:
        names = ", ".join(sorted(log.copied))
        yield f"As in {stores.backups.location}: {names:.1000}."


# --- what is there -------------------------------------------------------------------------------------------------


def _newest(contents: LogContents, view: CheckpointView) -> int:
    return max(contents.log.latest if contents.log.latest is not None else -1, view.latest_committed or 0)


def _require_fit(stores: Stores, view: CheckpointView, sink: Sink, contents: LogContents, newest: int) -> None:
    """Raise PlanError for a sink that is not the query's own; a log that has lost its newest entries may be."""
    marker = read_marker(sink, stores.sink, view.query_id, view.latest_committed or 0)
    require_fit(stores.checkpoint, stores.undo, view, sink, stores.sink, replace(marker, last_batch=newest))
    assert stores.sink is not None
    links = [name for name in (layout.SINK_LOG, *contents.log.objects) if stores.sink.is_link(name)]
    if links:
        raise PlanError(
            "the log of the sink is a link, so it is not repaired.",
            location=stores.sink.location,
            name=links[0],
            hint=f"{NOTHING} Replace the link with the directory that it points to.",
        )


def _require_own_files(stores: Stores, view: CheckpointView, sink: Sink, evidence: Evidence) -> None:
    """A log that ends before the query does is that of the query only if its batches have left files there."""
    if not evidence.times.doubt and any(evidence.times.batches_at(file.modified_ms) for file in evidence.free):
        return
    if evidence.decisions.batches:
        return  # somebody says so
    if evidence.is_bare or evidence.elsewhere >= (view.latest_committed or 0):
        return  # what is not there contradicts nothing
    marker = read_marker(sink, stores.sink, view.query_id, view.latest_committed or 0)
    require_fit(stores.checkpoint, stores.undo, view, sink, stores.sink, marker)


def _log_of(stores: Stores, contents: LogContents, view: CheckpointView, decisions: Decisions) -> Lacking:
    assert stores.sink is not None
    entries = contents.log.entries
    plain = {entry.batch_id for entry in entries if not entry.compact}
    compacted = {entry.batch_id for entry in entries if entry.compact}
    interval = interval_of(plain, compacted, decisions.interval)
    if interval is None:
        raise PlanError(
            "the entries of the sink's log have names that fit no one interval of compactions.",
            location=stores.sink.location,
            name=layout.SINK_LOG,
            hint=f"{NOTHING} Say how many batches are between two compactions (spark.sql.streaming.fileSink.log."
            "compactInterval of the query): --compact-interval N. Else restore _spark_metadata from a copy.",
        )
    log = Lacking(contents, Shape(interval, _newest(contents, view)))
    if len(log.shape.live) > MOST_BATCHES:
        raise too_many(stores.sink.location)
    lacking = log.lacking
    if stores.backups is not None:
        log = replace(log, copied=read_copied(log, stores.backups, stores.sink))
    after = {*plain, *(batch for batch in lacking if not log.shape.compacts(batch))}
    compacted |= {batch for batch in lacking if log.shape.compacts(batch)}
    if wrong := misnamed(decisions.interval, after, compacted):
        if misnamed(decisions.interval, after, {max(compacted)}) is None:
            return replace(log, outdated=_compacted_before(max(compacted), contents))
        raise PlanError(
            f"Spark would not read this log after the repair either: with the interval {wrong.interval} it reads "
            f"{wrong.wanted}, and that compacted entry cannot be told apart from the later ones.",
            location=stores.sink.location,
            name=f"{layout.SINK_LOG}/{wrong.wanted}",
            hint=f"{NOTHING} Restore _spark_metadata from a copy of the table.",
        )
    return log


def _compacted_before(batch_id: int, contents: LogContents) -> tuple[str, ...]:
    """The names of the compacted entries before one, ascending."""
    earlier = (entry for entry in contents.log.entries if entry.compact and entry.batch_id < batch_id)
    return tuple(contents.log.entries[entry] for entry in sorted(earlier, key=lambda entry: entry.batch_id))


# --- what is known -------------------------------------------------------------------------------------------------


def _one_by_one(unknown: Sequence[Span], view: CheckpointView, evidence: Evidence) -> Iterable[Span]:
    """Batches one by one; those are one span that the checkpoint does not have, or that have written nothing here."""
    first = view.planned[0] if view.planned else view.next_batch
    if not evidence.decisions.batches:
        first = max(first, unknown[-1].last + 1 if evidence.is_bare and unknown else 0, evidence.elsewhere + 1)
    for span in unknown:
        if span.first < first:
            yield Span(span.first, min(span.last, first - 1))
        for batch in range(max(span.first, first), span.last + 1):
            yield Span(batch, batch)


def _shares(unknown: Sequence[Span], evidence: Evidence, sink: Store, view: CheckpointView) -> list[Share]:
    """Share of each batch that has no entry. Raises PlanError where it is neither proven nor decided."""
    spans = list(islice(_one_by_one(unknown, view, evidence), MOST_BATCHES + 1))
    if len(spans) > MOST_BATCHES:
        raise too_many(sink.location)
    evidence = replace(evidence, decisions=evidence.decisions.of_spans(spans))
    require_one_taker(spans, evidence)
    found = [share_of(span, evidence) for span in spans]
    doubts = [share for share in found if isinstance(share, Doubt)]
    if doubts:
        raise undecided(doubts, sink.location, view.location)
    shares = [share for share in found if isinstance(share, Share)]
    require_used(evidence.decisions, shares, sink.location)
    return shares


# --- what is written -----------------------------------------------------------------------------------------------


def _entries(log: Lacking, shares: Sequence[Share], sink: Store, spelling: Spelling) -> list[NewEntry]:
    """The entries that the log gets, the newest first."""
    own = {_taker(share.span, log): [spelling.status(file) for file in share.files] for share in shares}
    entries = []
    for batch in [*(batch for batch in log.lacking if not log.shape.compacts(batch)), *_behind(log, own), *_last(log)]:
        name = log.shape.entry(batch)
        if name in log.copied:
            data = log.copied[name].decode()
        elif log.shape.compacts(batch):
            data = content_of(log.up_to(batch, own))
        else:
            data = content_of(own.get(batch, ()))
        before = sink.sha256(name)[1] if name in log.contents.log.objects else ""
        entries.append(NewEntry(name, data, before))
    return entries


def _taker(span: Span, log: Lacking) -> int:
    """The batch whose entry names the files of a span: readers read the compacted one first, whatever comes later."""
    return log.shape.base if span.first <= log.shape.base <= span.last else span.last


def _behind(log: Lacking, own: Collection[int]) -> list[int]:
    """Batches before the compacted entry whose own entry cannot be read, and of which it is known what it has to say.

    No reader needs them, but a rollback to before the compacted entry does.
    """
    damaged = {batch for batch in own if batch < log.shape.base and log.shape.entry(batch) in log.contents.damaged}
    return sorted((batch for batch in damaged if not log.shape.compacts(batch)), reverse=True)


def _last(log: Lacking) -> list[int]:
    return [batch for batch in log.lacking if log.shape.compacts(batch)]
