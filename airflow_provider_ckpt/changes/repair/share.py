"""Data files that a batch has added to the table, when the entry that named them is lost, and the proof of that.

All files of the attempt that was committed were written while the batch ran. An attempt that was killed before it may
have left files as well, whose rows would come twice. Of a task that both attempts ran, the later file is taken. That is
right as long as no task has outlived its driver. One that did may write its file behind those of the attempt that was
committed, or while a later batch runs. So nothing is proven where a file is left that no batch can have, of an attempt
of this batch or of one shortly before. Else the file of task 0 proves the rest: each attempt that is committed has
written it (``FileFormatWriter``), and no file that was written after it is of an earlier attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ckpt.changes.repair.batch_times import BatchTimes
from airflow_provider_ckpt.changes.repair.data_file import DataFile, newest_of_each_role, same_role
from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import Effect
from airflow_provider_ckpt.untrusted.spans import Span, batches_text

_FIRST = ("", 0, 0)
#: An executor that has lost its driver ends after 60 heartbeats of 10 s at the latest, as Spark sets it.
OUTLIVED_MS = 10 * 60_000


@dataclass(frozen=True, slots=True)
class Share:
    """Share of a batch, or of all batches of a span together, in the log.

    Args:
        span: The batches.
        files: Their data files, in the order of their names.
        effect: Effect of that on the rows of the table.
        reason: Why, with the batch as its subject.
    """

    span: Span
    files: tuple[DataFile, ...]
    effect: Effect
    reason: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A batch whose added files are not known.

    Args:
        span: The batches.
        why: Why, as a part of a sentence.
        candidates: Files that may be theirs.
    """

    span: Span
    why: str
    candidates: tuple[DataFile, ...] = ()

    @property
    def batch_id(self) -> int:
        """The batch by which somebody decides about it."""
        return self.span.last


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of batches whose entries are lost.

    Args:
        times: Times at which the batches ran.
        free: Whole data files that no entry names, in the order in which they were written.
        partitioned: Whether the table has directories by the values of columns.
        decisions: Decisions of a person.
        orphans: Files that are of no batch: no entry names them, and the times give them to none. Attempts that were
            not committed have left them, whole or cut off.
        elsewhere: The newest batch that an original query has written to another sink, before this one began as its
            fork; -1 when none is known.
        is_bare: Whether nothing at all is in the output directory.
    """

    times: BatchTimes
    free: tuple[DataFile, ...]
    partitioned: bool = False
    decisions: Decisions = field(default_factory=Decisions)
    orphans: tuple[DataFile, ...] = ()
    elsewhere: int = -1
    is_bare: bool = False

    def left_for(self, batch_id: int) -> tuple[DataFile, ...]:
        """The files that were not given to another batch by their names."""
        others = (names for other, names in self.decisions.adopted.items() if other != batch_id)
        claimed = {name for names in others for name in names}
        return tuple(file for file in self.free if file.name not in claimed)

    def other_attempt(self, batch_id: int) -> DataFile | None:
        """A file of an attempt with a task that may have gone on while a batch ran; None without a sign of one."""
        window = self.times.windows[batch_id]
        near = (file for file in self.orphans if file.modified_ms >= window.from_ms - OUTLIVED_MS)
        return next((file for file in near if window.to_ms is None or file.modified_ms <= window.to_ms), None)


def orphans_of(
    unnamed: Sequence[DataFile], free: Sequence[DataFile], times: BatchTimes, batches: Iterable[int]
) -> tuple[DataFile, ...]:
    """The files of no batch; those before the first batch whose times are known may be of earlier ones.

    Args:
        unnamed: Files that no entry names.
        free: Those of them that are whole.
        times: Times at which batches ran.
        batches: Those whose entries are lost.
    """
    taken = {file.name for batch in batches for file in newest_of_each_role(times.written_during(batch, free))}
    first_ms = min((window.from_ms for window in times.windows.values()), default=0)
    return tuple(file for file in unnamed if file.name not in taken and file.modified_ms >= first_ms)


def share_of(span: Span, evidence: Evidence) -> Share | Doubt:
    """Share of batches: as it was decided, or else as it is proven. Raises PlanError for a file that is none of them.

    Args:
        span: A batch; or all those before the first whose times the checkpoint still has.
        evidence: The evidence on them.
    """
    proven = _by_times(span, evidence)
    if span.last in evidence.decisions.emptied:
        return _emptied(span, proven)
    if (names := evidence.decisions.adopted.get(span.last)) is not None:
        return _adopted(span, names, evidence, proven)
    return proven


def _by_times(span: Span, evidence: Evidence) -> Share | Doubt:
    times, batch = evidence.times, span.last
    free = evidence.left_for(batch)
    if span.count == 1 and batch in times.repartitions:
        why = f"batch {batch} gets no file, because it gave the state other partitions and no sink got rows of it"
        return Share(span, (), "exact", why)
    if (nothing := _nothing_there(span, evidence)) is not None:
        return nothing
    if times.doubt:
        return Doubt(span, times.doubt, free)
    if span.count > 1 or batch not in times.windows:
        return Doubt(
            span, "the checkpoint does not have its entries any more, which say when it ran", _earlier(times, free)
        )
    mine = times.written_during(batch, free)
    for file in mine:
        if len(others := times.batches_at(file.modified_ms)) > 1:
            both = " and ".join(map(str, others))
            return Doubt(span, f"{file.name} was written at a time at which the batches {both} may have run", mine)
    return _proven(span, mine, evidence)


def _gets(span: Span) -> str:
    return f"{batches_text(span.first, span.last)} {'get' if span.count > 1 else 'gets'}"


def _nothing_there(span: Span, evidence: Evidence) -> Share | None:
    """What batches get that have written nothing to this directory, or of which it has lost everything."""
    if span.last <= evidence.elsewhere:
        why = (
            f"{_gets(span)} no file: this query began as a fork after batch {evidence.elsewhere}, and the original "
            "query wrote what came before to its own sink"
        )
        return Share(span, (), "exact", why)
    if evidence.is_bare:
        why = (
            f"{_gets(span)} no file, because the directory is empty: that is right if the query wrote "
            f"{'them' if span.count > 1 else 'it'} to another sink, and if the directory was emptied, the rows are lost"
        )
        return Share(span, (), "unknown", why)
    return None


def _earlier(times: BatchTimes, free: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """Files that were written before the first batch whose time is known."""
    first_ms = min((window.from_ms for window in times.windows.values()), default=None)
    return tuple(file for file in free if first_ms is None or file.modified_ms < first_ms)


def _proven(span: Span, mine: Sequence[DataFile], evidence: Evidence) -> Share:
    batch, files = span.last, newest_of_each_role(mine)
    if not files:
        why = (
            f"batch {batch} gets no file, because no data file is there that was written while it ran: if it had rows, "
            "readers do not get them"
        )
        return Share(span, (), "skipped", why)
    count = f"{len(files)} data file{'s' if len(files) > 1 else ''}"
    gone = len(mine) - len(files)
    left = f", and not {gone} of an earlier attempt" if gone else ""
    if (other := next((file for file in mine if file not in files), evidence.other_attempt(batch))) is not None:
        why = (
            f"batch {batch} gets {count} that were written while it ran{left}; {other.name} is of an attempt that was "
            "not committed, and if one of its tasks has outlived its driver, rows come twice or are lacking"
        )
        return Share(span, files, "unknown", why)
    if _is_sure(files, partitioned=evidence.partitioned):
        which = "that of task 0, which each attempt writes" + (", or a later one" if len(files) > 1 else "")
        why = f"batch {batch} gets {count} that the attempt which was committed has written: each is {which}"
        return Share(span, files, "exact", why)
    why = (
        f"batch {batch} gets {count} that were written while it ran; an attempt that was killed may have left some of "
        "them, and their rows then come twice"
    )
    return Share(span, files, "unknown", why)


def _is_sure(files: Sequence[DataFile], *, partitioned: bool) -> bool:
    """True if all files are of the attempt that was committed; a partitioned table has no file that each attempt
    writes.
    """
    first = next((file for file in files if file.role == _FIRST), None)
    if partitioned or first is None:
        return False
    return all(file is first or file.modified_ms > first.modified_ms for file in files)


def _emptied(span: Span, proven: Share | Doubt) -> Share:
    if isinstance(proven, Share) and not proven.files:
        return proven
    those = batches_text(span.first, span.last)  # what a plan has said of one batch stays
    return Share(span, (), "skipped", f"{those} get no file, as it was decided: readers do not get their rows")


def _adopted(span: Span, names: Collection[str], evidence: Evidence, proven: Share | Doubt) -> Share:
    if not names:
        if isinstance(proven, Share):
            return proven
        files = proven.candidates
        if not evidence.times.doubt and span.count == 1 and span.last in evidence.times.windows:
            files = newest_of_each_role(files)
    else:
        free = {file.name: file for file in evidence.free}
        for name in names:
            if name not in free:
                raise PlanError(
                    f"{name!r:.300} cannot be adopted by batch {span.last}: it is no whole data file of the output "
                    "directory that no entry names.",
                    batch_id=span.last,
                    hint="Nothing was done. Give the name relative to the output directory.",
                )
        files = tuple(sorted((free[name] for name in names), key=lambda file: file.name))
        if isinstance(proven, Share) and {file.name for file in proven.files} == set(names):
            return proven
        if twice := same_role(files):
            why = (
                f"{_gets(span)} {len(files)} data files, as it was decided, of which {twice[0].name} and "
                f"{twice[1].name} are of the same task: their rows come twice"
            )
            return Share(span, files, "duplicated", why)
    why = f"{_gets(span)} {len(files)} data files, as it was decided, and it is not proven which batch has written them"
    return Share(span, files, "unknown", why)


def require_one_taker(spans: Sequence[Span], evidence: Evidence) -> None:
    """Raise PlanError where two batches would each get all files that are left."""
    unnamed = [
        span.last
        for span in spans
        if evidence.decisions.adopted.get(span.last) == ()
        and (evidence.times.doubt or span.count > 1 or span.last not in evidence.times.windows)
    ]
    if len(unnamed) > 1:
        raise PlanError(
            f"the batches {unnamed[0]} and {unnamed[1]} cannot both adopt all files that no entry names, for it is not "
            "known when they ran.",
            batch_id=unnamed[1],
            hint="Nothing was done. Give the files of one of them by name: --adopt BATCH=NAME.",
        )


def shares_by_effect(shares: Sequence[Share]) -> Mapping[Effect, str]:
    """The reasons of shares, by their effects, each in words of its own."""
    found: dict[Effect, list[str]] = {}
    for share in shares:
        found.setdefault(share.effect, []).append(share.reason)
    return {effect: "; ".join(_few(reasons)) for effect, reasons in found.items()}


def _few(reasons: Sequence[str], most: int = 3) -> list[str]:
    left = len(reasons) - most
    return [*reasons[:most], *([f"and {left} more batches likewise"] if left > 0 else [])]
