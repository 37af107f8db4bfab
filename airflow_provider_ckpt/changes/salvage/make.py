"""Making the plan of a salvage: read everything, try batches from the newest on, and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, Any, ClassVar, Self

from airflow_provider_ckpt.change.added_errors import require_no_worse
from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.make_plan import Planner, Seen, find_begun, observe_whole, with_lock_warnings
from airflow_provider_ckpt.change.option import Downstream, Opt, SinkOf, TriggerOf
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Copy
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.resume import Said
from airflow_provider_ckpt.changes.rollback.goal import facts_of
from airflow_provider_ckpt.changes.rollback.gone_inputs import without_gone_inputs
from airflow_provider_ckpt.changes.rollback.judge_effects import inputs_after, judge_sink
from airflow_provider_ckpt.changes.rollback.make import make_exchange
from airflow_provider_ckpt.changes.rollback.make_steps import coming_from
from airflow_provider_ckpt.changes.rollback.plan import unknown_warnings
from airflow_provider_ckpt.changes.salvage.candidates import Candidate, candidates, known_commits, newest_seen
from airflow_provider_ckpt.changes.salvage.entries import broken_entries
from airflow_provider_ckpt.changes.salvage.find_backups import Found, find_backups, is_whole
from airflow_provider_ckpt.changes.salvage.find_temporaries import Temporaries, known_piece, rewritten_pieces
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.plan import exchanged, plan_salvage
from airflow_provider_ckpt.changes.salvage.put_together import Assembler
from airflow_provider_ckpt.changes.salvage.report import MOST_TOLD, Report, notes_of, report_of, unjudged, why_nothing
from airflow_provider_ckpt.changes.salvage.tree import Assembled
from airflow_provider_ckpt.changes.salvage.ways import Ways, WithBackup, WithTemporaries
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
from airflow_provider_ckpt.checkpoint.sink_marker import SinkMarker
from airflow_provider_ckpt.checkpoint.spark_confs import COMPRESSION_CODEC
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import is_text_log, read_text_logs
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout, state_content
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BackupCorruptError, BatchNotRestorableError, PlanError
from airflow_provider_ckpt.query.sink import MARKING, Sink
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.fields import require_flag


def make_salvage(
    stores: Stores, *, trim_sink_log: bool = False, sink: Sink | None = None, trigger: str | None = None
) -> Plan:
    """Plan to make the newest batch that can be saved of a damaged checkpoint, or find a salvage that was killed.

    A plan without steps says that nothing is needed.

    Args:
        stores: The places of the change; in ``stores.backups`` files are searched for that the checkpoint lacks.
        trim_sink_log: Remove the batches that are given up from the file sink's log as well.
        sink: The sink at ``stores.sink``, or a sink that has no place; a file sink when nothing says otherwise.
        trigger: The trigger of the query as the query file says it.

    Raises:
        BatchNotRestorableError: No batch can be saved; the error says why for the newest ones.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    require_flag("trim_sink_log", trim_sink_log)
    return SalvageRequest(trim_sink_log=trim_sink_log, sink=sink, trigger=trigger).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageRequest(Planner):
    """With what a damaged checkpoint is saved: the newest batch that can be."""

    kind: ClassVar[Kind] = "salvage"
    backup_root: Annotated[
        str | None,
        Opt("--backup-root ROOT", "Root of backups, where files that the checkpoint lacks are searched for.", "place"),
    ] = None
    sink: SinkOf = None
    trim_sink_log: Annotated[
        bool,
        Opt(
            "--trim-sink-log",
            "Also remove the batches that are given up from the file sink's log. Needs --sink file:URI.",
        ),
    ] = False
    downstream: Downstream = ()
    trigger: TriggerOf = None

    @property
    def places(self) -> Mapping[str, Any]:
        """The sink and the backups."""
        return {"sink": self.sink, "backups": self.backup_root}

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The salvage with the same sink and backups."""
        if plan.backup_id is not None and stores.backups is None:
            raise PlanError(f"the root {plan.source} of the backup was not given to open.", location=plan.location)
        return cls(sink=plan.declared_sink, trigger=plan.trigger, trim_sink_log=bool(plan.sink))

    def is_met_by(self, plan: Plan) -> bool:
        """Every salvage leads to the newest batch."""
        return True

    def observe(self, stores: Stores) -> CheckpointView:
        """The checkpoint with all of its small files."""
        checkpoint = stores.checkpoint
        view = observe_whole(checkpoint)
        names = [name for name in view.objects if is_text_log(name)]
        return read_text_logs(checkpoint, view, names, checkpoint.head, checkpoint.chunks)

    def decide(self, seen: Seen) -> Plan:
        """Try batches from the newest on."""
        return _Salvage(seen).plan()[0]

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """Each way is judged by what it puts together."""
        return plan

    def plan(self, stores: Stores, opener: Callable[[str], Store] | None = None) -> Plan:
        """See :meth:`with_report`."""
        return self.with_report(stores)[0]

    def with_report(self, stores: Stores) -> tuple[Plan, Report | None]:
        """The plan, and its report as a value; one that was killed has none. Raises as :func:`make_salvage`."""
        if (begun := find_begun(self, stores)) is not None:
            return begun, None

        def made() -> tuple[Plan, Report]:
            plan, report = _Salvage(Seen(stores, self.observe(stores), self.said)).plan()
            return with_lock_warnings(plan, stores.checkpoint), report

        return read_unmoved(made, stores.checkpoint, stores.sink)


class Executor(InPlace):
    """Makes the newest batch that can be saved of a checkpoint."""

    planner = SalvageRequest

    @property
    def ways_out(self) -> str:
        """Commands that put everything back, or make the plan anew."""
        place = quote(self.plan.location)
        return (
            f"run `{self.stores.undo_command}` to put everything back as it was, or `ckpt salvage {place}` to salvage "
            "what is there now"
        )


@dataclass(frozen=True, slots=True)
class _Way:
    """Where files come from, and of which backup."""

    ways: Ways
    backup_id: str = ""


class _Salvage:
    def __init__(self, seen: Seen) -> None:
        self._stores, self._view, self._said = seen.stores, seen.view, seen.said
        stores, checkpoint = seen.stores, seen.checkpoint
        self._broken = broken_entries(self._view)
        self._temporaries = Temporaries(checkpoint, self._view, _codec_of_state(self._view, self._broken), self._broken)
        self._known = {name: known_piece(name, text) for name, text in self._known_texts()}
        self._known |= {piece.name: piece for piece in rewritten_pieces(checkpoint, self._view, self._broken)}
        self._backups = [] if stores.backups is None else find_backups(stores.backups, self._view, self._broken)
        self._assembler = Assembler(checkpoint, self._view, self._broken, stores.backups)

    def plan(self) -> tuple[Plan, Report]:
        """The plan, and its report. Raises BatchNotRestorableError when no batch can be saved."""
        problems: dict[int, str] = {}
        own = {_committed(target) for target in (*self._temporaries.targets, *self._known)}
        others = {batch for batch in own if batch is not None} | {item.backup.batch_id for item in self._backups}
        asked: set[int] = set()
        lost = {name: why for name, why in self._broken.items() if name not in self._known}
        for wanted in candidates(self._view, lost, others):
            for way in self._ways(wanted):
                found = self._assembler.put_together(wanted, way.ways)
                if isinstance(found, Assembled):
                    problems.pop(wanted.batch_id, None)
                    return self._planned(found, way, problems)
                problems[wanted.batch_id] = found
            if wanted.last == wanted.batch_id and wanted.batch_id not in asked:
                asked.add(wanted.batch_id)
                if (exchange := self._exchange(wanted.batch_id, problems)) is not None:
                    return exchange
        raise self._nothing(problems)

    # --- ways ------------------------------------------------------------------------------------------------------

    def _ways(self, wanted: Candidate) -> Iterator[_Way]:
        """Yield the ways to try for a batch: the simplest way first, and of the backups the nearest one."""
        if layout.offset_entry(wanted.last) not in self._known:  # which is not in its place
            yield _Way(Ways())
        own = self._temporaries
        in_place = WithTemporaries(own.piece, own.targets, own.problem, self._known)
        yield _Way(in_place)
        root = self._stores.backups
        if root is None:
            return
        for item in self._backups:
            if item.shared is not None and item.backup.batch_id <= wanted.batch_id + 1:
                yield _Way(_with(root, in_place, item), item.backup.backup_id)

    def _exchange(self, batch_id: int, problems: dict[int, str]) -> tuple[Plan, Report] | None:
        """The batch as a backup has it, where nothing here shows that the backup is of the same history."""
        for item in self._backups:
            if item.backup.batch_id != batch_id or self._stores.backups is None:
                continue
            try:
                plan = make_exchange(self._stores, item.backup, self._said)
            except (BatchNotRestorableError, BackupCorruptError) as error:
                problems[batch_id] = f"{problems.get(batch_id, '')}; and {error.message.rstrip('.')}".lstrip("; ")
                continue
            note = f"Batch {batch_id} is the newest batch that can be saved, from backup {item.backup.backup_id}."
            told = [f"Batch {batch} cannot be saved: {why}." for batch, why in problems.items() if batch > batch_id]
            plan = exchanged(plan, self._view, (note, *told[:MOST_TOLD], *plan.notes))
            root, checkpoint = self._stores.backups, self._stores.checkpoint
            plan = judge_start(plan, self._view, checkpoint, coming_from(root, checkpoint))
            return plan, self._report_of_exchange(plan, item.backup.backup_id, problems)
        return None

    def _report_of_exchange(self, plan: Plan, backup_id: str, problems: dict[int, str]) -> Report:
        copies = [step for step in plan.actions if isinstance(step, Copy)]
        pieces = tuple(Piece(step.name, "backup", step.size, step.sha256, step.source) for step in copies)
        newest, batch_id = newest_seen(self._view, self._temporaries.targets), plan.batch_id
        given_up = (batch_id + 1, newest) if newest is not None and newest > batch_id else None
        later = {batch: why for batch, why in problems.items() if batch > batch_id}
        broken = {name: why for name, why in self._broken.items() if name in self._view.objects}
        return Report(
            batch_id=batch_id,
            reruns_batch=None,
            backup_id=backup_id,
            pieces=pieces,
            not_whole=broken,
            not_saved=later,
            given_up=given_up,
            not_judged=plan.warnings,
        )

    def _known_texts(self) -> Iterator[tuple[str, str]]:
        yield from known_commits(self._view, self._broken).items()
        if self._view.query_id is None or layout.METADATA in self._broken:
            ids = [record.plan.query_id for record in journal.history(self._stores.checkpoint, self._stores.undo)]
            if known := next((query_id for query_id in reversed(ids) if query_id), None):
                yield layout.METADATA, f'{{"id":"{known}"}}'

    # --- the plan --------------------------------------------------------------------------------------------------

    def _planned(self, found: Assembled, way: _Way, problems: dict[int, str]) -> tuple[Plan, Report]:
        stores, tree = self._stores, found.tree
        said = replace(self._said, trigger=trigger_of(self._said.trigger, found.after.operator_names))
        newest = newest_seen(self._view, self._temporaries.targets)
        effect, sink_log = self._effect(found, said, newest)
        entry = found.after.offset_seq(tree.batch_id)
        notes = (*notes_of(found, problems, newest, way.backup_id), f"Batch {tree.batch_id} {facts_of(entry)}.")
        root = stores.backups
        plan = plan_salvage(
            found,
            now_ms(),
            effects=(effect,),
            sink_log=sink_log,
            notes=notes,
            warnings=(
                *unjudged(found),
                *self._empty_directories(found),
                *self._changed_sources(tree.last),
                *unknown_warnings(self._view),
            ),
            backup=(root.location, way.backup_id) if root is not None and way.backup_id else None,
        )
        marker = self._marker_beside(found, said) if sink_log is None else None
        plan = require_no_worse(replace(plan, trigger=said.trigger or ""), self._view, found.after, marker=marker)
        if tree.last == tree.batch_id and plan.actions:
            plan = without_gone_inputs(plan, inputs_after(stores.checkpoint, self._readable(found), tree.batch_id))
        return plan, report_of(found, problems, newest, way.backup_id)

    def _readable(self, found: Assembled) -> CheckpointView:
        """The checkpoint as it is, with the entry of the batch and without what cannot be read."""
        objects = {name: stored for name, stored in self._view.objects.items() if name not in self._broken}
        return replace(self._view, objects=objects, entries={**self._view.entries, **found.after.entries}, damaged={})

    def _effect(self, found: Assembled, said: Said, newest: int | None) -> tuple[SinkEffect, SinkLog | None]:
        tree, declared = found.tree, self._stores.declared(said.sink)
        view = replace(self._view, entries={**self._view.entries, **found.after.entries})
        kept = tree.batch_id if self._comes_twice(found, declared) else tree.last
        effect, sink_log = judge_sink(self._stores, view, kept, said, newest=newest)
        if effect.effect == "exact" and declared.kind not in MARKING and tree.batch_id < tree.last == newest:
            effect = replace(effect, reason=f"batch {tree.last} runs again with the rows that it had, and no other one")
        if effect.effect == "exact" and (reason := _doubt(found)):
            effect = replace(
                effect, effect="unknown", reason=reason, remedy="Compare the rows of that batch in the sink."
            )
        return effect, sink_log

    def _comes_twice(self, found: Assembled, declared: Sink) -> bool:
        """Whether the batch that runs again may be in a sink that does not know it again by its number.

        One that was not committed comes to a sink as after each crash of the query; nothing is known of a sink that
        nobody has declared.
        """
        tree = found.tree
        was_committed = any(batch > tree.batch_id for batch in self._view.committed)
        return tree.last > tree.batch_id and declared.kind not in MARKING and (was_committed or not declared.kind)

    def _marker_beside(self, found: Assembled, said: Said) -> SinkMarker | None:
        """What the sink remembers, where a batch runs again."""
        if found.tree.last == found.tree.batch_id:
            return None
        sink = self._stores.declared(said.sink)
        return read_marker(sink, self._stores.sink if sink.directory else None, self._view.query_id, found.tree.last)

    def _empty_directories(self, found: Assembled) -> Iterator[str]:
        if found.tree.cleared:
            names = sorted(found.tree.cleared)
            yield (
                f"{len(names)} directories are in the place of files and are removed, with what is in them, which is "
                f"kept for ckpt undo: {', '.join(names[:3])}."
            )

    def _changed_sources(self, last: int) -> Iterator[str]:
        """Changes of the sources of the query that are given up with the batches after ``last``."""
        for record in journal.history(self._stores.checkpoint, self._stores.undo):
            plan = record.plan
            if plan.kind == "sources" and record.state == "applied" and plan.batch_id > last:
                yield (
                    f"The change of sources {plan.plan_id}, made after batch {plan.batch_id}, is given up with that "
                    f"batch: start the query with the sources that it had before, or run ckpt sources again first. "
                    "A query with other sources stops or reads the wrong positions."
                )

    def _nothing(self, problems: dict[int, str]) -> BatchNotRestorableError:
        why = f": {why_nothing(problems)}" if problems else ", because no batch of it was committed"
        searched = "" if self._stores.backups is not None else "Search backups as well: --backup-root ROOT. "
        location = self._view.location
        return BatchNotRestorableError(
            f"no batch of this checkpoint can be saved{why}.",
            location=location,
            batch_id=max(problems, default=None),
            hint=f"Nothing was done. {searched}Or restore a backup to a new location (ckpt restore), or start the "
            "query at a new location from the positions that you know: ckpt seed NEW_LOCATION.",
        )


def _with(root: Store, first: Ways, item: Found) -> Ways:
    assert item.shared is not None
    return WithBackup(first, item.backup, item.shared, lambda stored: is_whole(root, stored))


def _committed(name: str) -> int | None:
    place = layout.parse(name)
    return place.batch_id if isinstance(place, layout.LogEntry) and place.log == layout.COMMITS else None


def _codec_of_state(view: CheckpointView, broken: dict[str, str]) -> str | None:
    """Short name of the codec of the state, as the newest entry that is whole says it."""
    for batch_id in reversed(view.planned):
        name = layout.offset_entry(batch_id)
        entry = view.entries.get(name)
        if name not in broken and isinstance(entry, OffsetSeq) and entry.metadata is not None:
            return state_content.short_codec(entry.metadata.conf.get(COMPRESSION_CODEC) or "lz4")
    return "lz4"


def _doubt(found: Assembled) -> str | None:
    """Why the batch may have run with other offsets than its entry has; None when nothing says so."""
    name = layout.offset_entry(found.tree.batch_id)
    piece: Piece | None = found.tree.pieces.get(name)
    commit = layout.commit_entry(found.tree.batch_id)
    if piece is None or piece.way != "temporary" or found.tree.pieces.get(commit, piece).way != "temporary":
        return None
    if any(sidecar in found.tree.view.objects for sidecar in layout.sidecars(name)):
        return None  # the checksum file of the entry itself
    if commit in found.tree.pieces:
        return None
    return f"{name} is taken from a temporary file: if the batch was planned a second time, it ran with other offsets"
