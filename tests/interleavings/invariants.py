"""What must hold whatever has happened, at each moment: a crash is that nobody goes on from there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from tests.interleavings.query import batches, end_of, rows_in_state
from tests.interleavings.scheduler import Actor, Run
from tests.interleavings.stores import ROOTS, open_store
from tests.interleavings.world import World

#: What is known of the query that is started.
DEPLOY = DeploySpec(async_progress=False)


#: What is left of a file that somebody was writing when he was killed; Spark leaves such files as well, and reads none.
_TEMPORARY = re.compile(r"(.*/)?\.[^/]*\.tmp")


class BrokenError(AssertionError):
    """An invariant does not hold; ``invariant`` is its name."""

    def __init__(self, invariant: str, problem: str) -> None:
        super().__init__(invariant, problem)
        self.invariant = invariant

    def __str__(self) -> str:
        return ": ".join(self.args)


STARTS_RIGHT = "Spark starts right, or refuses"
STARTS = "Spark starts right after every step"
DONE_STARTS = "Spark starts from what a change has left that says it is done"
NOTHING_LOST = "nothing is removed that is not saved"
RECORD_TRUE = "a record says what was done"
GIVEN_BACK = "an undo gives every byte back, and what is repeated completes it"
BACKUPS_WHOLE = "nothing that a backup names is missing"
BACKUPS_RIGHT = "a backup is of one moment"
BACKUP_LEFT = "a backup is left"
ONE_WINNER = "one operator at a time changes a checkpoint"
TYPED = "an operator is done, or ends with a typed error"


@dataclass(slots=True)
class Invariants:
    """The invariants of a scenario; what was judged before is not judged again.

    Args:
        kind: Of the storage.
        original: The checkpoint before anybody acted.
        must_start: Whether Spark may not even refuse, because no query writes to the checkpoint meanwhile.
        recorded: The plan whose record must say what is there; None where others change it as well.
        keeps_backups: Whether there are backups, of which one has to be left.
        restores: The batch of the backup that is restored: nothing else may start there, nor from the beginning.
        after_crash: What is there when somebody else is done after a crash.
        moved: A batch, and the row from which it may read although its state has others: where a reset goes.
        done_backups_only: Whether a backup counts when whoever takes it is done, and not when its manifest is there.
        refused_is_clean: Whether the checkpoint is as it was when an operator has ended with an error.
        keeps_done: Whether a backup stays when whoever takes it is done.
        given_back: What is there when whoever changed the checkpoint last is done; None where a query may write.
    """

    kind: str
    original: Mapping[str, bytes]
    must_start: bool = False
    recorded: Plan | None = None
    keeps_backups: bool = False
    restores: int | None = None
    moved: tuple[int, int] | None = None
    done_backups_only: bool = False
    refused_is_clean: bool = False
    keeps_done: bool = False
    given_back: Mapping[str, bytes] | None = None
    after_crash: Mapping[str, bytes] | None = None
    _starts: dict[int, tuple[int | None, str]] = field(default_factory=dict)
    _backups: set[tuple[int, ...]] = field(default_factory=set)
    #: The manifests that were there before anybody acted.
    _first: set[str] | None = None

    @property
    def _root(self) -> str:
        return ROOTS[self.kind]

    def judge(self, run: Run) -> None:
        """Raise BrokenError."""
        starts = self._judge_start(run.world)
        if run.lost:
            raise BrokenError(NOTHING_LOST, f"{run.lost} was removed and is not saved")
        if self.must_start:
            self._judge_saved(run.world)
        self._judge_restored(run.world)
        self._judge_record(run.world)
        self._judge_backups(run)
        for actor in run.actors:
            if actor.state == "done":
                self._judge_end(run, actor, starts=starts)
        held = [actor.holds for actor in run.actors if actor.holds and actor.state == "ready"]
        if len(held) > len(set(held)):
            raise BrokenError(ONE_WINNER, f"two have the lock of {held[0]}")
        if run.owner in run.displaced:
            raise BrokenError(ONE_WINNER, f"{run.owner} went on after {sorted(run.displaced)} had begun")

    # --- Spark ---------------------------------------------------------------------------------------------------

    def _judge_start(self, world: World) -> bool:
        """Whether Spark starts."""
        batch_id, problem = self._forecast(world, "orders")
        if batch_id is not None and problem:
            raise BrokenError(STARTS_RIGHT, problem)
        if self.must_start and batch_id is None:
            raise BrokenError(STARTS, problem)
        return batch_id is not None

    def _judge_restored(self, world: World) -> None:
        if self.restores is None:
            return
        batch_id, problem = self._forecast(world, "restored")
        begun = any(not name.rpartition("/")[2].startswith(".") for name in world.files(f"{self._root}/restored"))
        if begun and batch_id is not None and (problem or batch_id != self.restores + 1):
            raise BrokenError(STARTS_RIGHT, problem or f"what is not whole would start with batch {batch_id}")

    def _forecast(self, world: World, checkpoint: str) -> tuple[int | None, str]:
        """The batch with which Spark starts, and what is wrong with that; None and why when it refuses."""
        files = world.files(f"{self._root}/{checkpoint}")
        key = hash((checkpoint, frozenset(files.items())))
        if key not in self._starts:
            self._starts[key] = self._forecast_anew(world, checkpoint, files)
        return self._starts[key]

    def _forecast_anew(self, world: World, checkpoint: str, files: Mapping[str, bytes]) -> tuple[int | None, str]:
        try:
            view = examine(open_store(self.kind, world, None, checkpoint), deep=True)
        except CheckpointError as error:
            return None, error.message
        told = forecast(view, DEPLOY)
        if told.spark_error is not None or told.resumes_at_batch is None:
            return None, str(told.spark_error)
        return told.resumes_at_batch, wrong_start(files, told.resumes_at_batch, self.moved, self.original)

    def _judge_saved(self, world: World) -> None:
        there = world.files(f"{self._root}/orders")
        away = {item for item in self.original.items() if there.get(item[0]) != item[1]}
        if not away:
            return
        records = world.below(f"{self._root}/_ckpt_undo/orders")
        saved = {(name.partition("/saved/checkpoint/")[2], item.data) for name, item in records}
        if away - saved:
            raise BrokenError(NOTHING_LOST, f"{min(away - saved)[0]} is neither in its place nor saved")

    # --- what was done -------------------------------------------------------------------------------------------

    def _judge_record(self, world: World) -> None:
        if self.recorded is None:
            return
        record = f"{self._root}/_ckpt_undo/orders/{self.recorded.undoes or self.recorded.plan_id}"
        there = set(world.files(f"{self._root}/orders"))
        names = {action.name for action in self.recorded.actions}
        if self.recorded.undoes and f"{record}/undone.json" in world.objects and not names <= there:
            raise BrokenError(RECORD_TRUE, "the change is recorded as undone, and is not")
        if not self.recorded.undoes and f"{record}/receipt.json" in world.objects and names & there:
            raise BrokenError(RECORD_TRUE, "the change is recorded as done, and is not")

    # --- backups -------------------------------------------------------------------------------------------------

    def _judge_backups(self, run: Run) -> None:
        there = dict(run.world.below(f"{self._root}/backups"))
        under_way = self._under_way(run, there)
        key = tuple(sorted((*(hash((name, stored.data)) for name, stored in there.items()), *map(hash, under_way))))
        if key in self._backups:
            return
        if self.keeps_backups and not any(name.endswith("/manifest.json") for name in there):
            raise BrokenError(BACKUP_LEFT, "there is none")
        for name, stored in there.items():
            if name.endswith("/manifest.json") and stored.data and name not in under_way:
                self._judge_backup(json.loads(stored.data), {name: item.data for name, item in there.items()})
        self._backups.add(key)

    def _under_way(self, run: Run, there: Iterable[str]) -> set[str]:
        """The manifests that do not count yet."""
        if not self.done_backups_only:
            return set()
        names = {name for name in there if name.endswith("/manifest.json")}
        self._first = names if self._first is None else self._first
        done = (actor.outcome.backup_id for actor in run.actors if isinstance(actor.outcome, Manifest))
        return names - self._first - {f"{backup_id}/manifest.json" for backup_id in done}

    def _judge_backup(self, manifest: Mapping[str, object], there: Mapping[str, bytes]) -> None:
        backup_id, files = manifest["backup_id"], {}
        for item in manifest["objects"]:
            data = there.get(item["stored_at"])
            if data is None or hashlib.sha256(data).hexdigest() != item["sha256"]:
                problem = "is missing" if data is None else "is not what was backed up"
                raise BrokenError(BACKUPS_WHOLE, f"{item['stored_at']}, which backup {backup_id} names, {problem}")
            files[item["name"]] = data
        if problem := wrong_start(files, manifest["batch_id"] + 1, self.moved):
            raise BrokenError(BACKUPS_RIGHT, f"backup {backup_id}: {problem}")

    def _judge_done_backup(self, world: World, taken: Manifest) -> None:
        if f"{self._root}/backups/{taken.backup_id}/manifest.json" not in world.objects:
            raise BrokenError(BACKUP_LEFT, f"{taken.backup_id} was taken, and is not there")

    # --- ends ----------------------------------------------------------------------------------------------------

    def _judge_given_back(self, world: World, wanted: Mapping[str, bytes]) -> None:
        files = world.files(f"{self._root}/orders")
        there = {name: data for name, data in files.items() if not _TEMPORARY.fullmatch(name)}
        if there != wanted:
            names = sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))
            raise BrokenError(GIVEN_BACK, f"it is done, and not as it should be: {names}")

    def _judge_end(self, run: Run, actor: Actor, *, starts: bool) -> None:
        if actor.error is None:
            if not starts and actor.name in run.unaware:
                raise BrokenError(DONE_STARTS, f"{actor.name} is done, and Spark refuses")
            if self.given_back is not None and actor.name == run.owner:
                self._judge_given_back(run.world, self.given_back)
            if self.after_crash is not None and actor.part.after_crash_of:
                self._judge_given_back(run.world, self.after_crash)
            if self.keeps_done and isinstance(actor.outcome, Manifest):
                self._judge_done_backup(run.world, actor.outcome)
            if actor.part.makes and self._forecast(run.world, actor.part.makes)[0] is None:
                raise BrokenError(DONE_STARTS, f"{actor.name} is done, and Spark refuses what it has made")
        elif isinstance(actor.error, CheckpointError):
            if self.refused_is_clean:
                self._judge_given_back(run.world, self.original)
        else:
            raise BrokenError(TYPED, f"{actor.name} ended with {actor.error!r}") from actor.error


def wrong_start(
    files: Mapping[str, bytes],
    batch_id: int,
    moved: tuple[int, int] | None = None,
    original: Mapping[str, bytes] = MappingProxyType({}),
) -> str:
    """What is wrong when Spark starts from these files with a batch; empty when each row is counted once.

    ``moved`` is the batch that may read from another row, and that row. A batch that was committed in ``original`` has
    ended, also when its commit was removed since: Spark goes by the newest offset entry, and says so in its log.
    """
    before = files.get(f"offsets/{batch_id - 1}")
    if before is None and batch_id:
        return f"batch {batch_id} would run, but nothing says where batch {batch_id - 1} ended"
    has_ended = f"commits/{batch_id - 1}" in original and original.get(f"offsets/{batch_id - 1}") == before
    if batch_id and f"commits/{batch_id - 1}" not in files and not has_ended:
        return f"batch {batch_id} would run, and batch {batch_id - 1}, which was never committed, would not"
    begin = end_of(before) if before is not None else 0
    try:
        counted = rows_in_state(files, batch_id, moved)
    except ValueError as error:
        return f"batch {batch_id} would run on a wrong state: {error}"
    if counted is None:
        return "the state before the batch is not there, and Spark is said to start"
    if counted != begin and (batch_id, begin) != moved:
        return f"batch {batch_id} would read from row {begin}, and its state has the rows up to {counted}"
    newest = batches(files, "offsets")[-1] if batches(files, "offsets") else -1
    return "" if batch_id in (newest, newest + 1) else f"batch {batch_id} would run, but {newest} is the newest"
