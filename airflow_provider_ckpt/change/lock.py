"""One change at a time: a lock beside the checkpoint, or in the root of backups.

* A lock is an object ``_ckpt_undo/<name>/lock.json`` that is created exclusively and removed at the end.
* A lock is never removed by anybody but its holder. Who takes over a stale one creates ``lock-<its token>.json``,
  exclusively as well, so of several that judge a lock stale one wins. The last lock of that chain is the one in force.
* Stale is a lock whose process has ended on this machine, and one that a task of the same name left on another machine
  for the same plan (Airflow runs a task once at a time). Any other needs a person's word.
* It lies beside the checkpoint wherever the records go, so that two operators with different records see one another.
  Nothing can lie beside a whole bucket: there the lock is with the records, and all must give the same root for them.
* A root of backups is locked in the same way, by a lock in the root itself: one prune at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from shlex import quote

from airflow_provider_ckpt.checkpoint.find_records import make_place, records_of
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointLockedError,
    CheckpointNotFoundError,
    ObjectExistsError,
    PlanError,
    StoreError,
)
from airflow_provider_ckpt.storage.local import link_to_nowhere
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import Fields

LOCK = "lock.json"
#: Directory, beside the lock of a checkpoint, of the runs of its query.
RUNS = "runs"
#: A warning.
NO_EXCLUSIVE_CREATE = (
    "This storage cannot create an object exclusively, so the lock is written and then read back: two changes that "
    "begin at the same moment may both go on. Make sure that nobody else changes this checkpoint now."
)
#: Where a store has no exclusive create: how long a lock must be unchanged before it counts.
SETTLE_S = 1.0
#: A lock has some 300 bytes; of a larger file the rest says nothing either.
_MOST_BYTES = 16_384
_MOST_PID = (1 << 31) - 1
_TOKEN = re.compile(r"\w{1,64}", re.ASCII)
#: Tokens of the locks that this process holds; its own lock that is not among them was left by a failed release.
_held: set[str] = set()


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock.

    Args:
        token: Unique to one taking of a lock.
        by: Who acts: a DAG run's task, or user and host.
        plan_id: The plan that is carried out.
        machine: Where process ids mean the same: a machine, or a container on it.
        pid: Id of the process.
        life: Tells a process from a later one with the same id; empty where the system does not say.
        since_ms: Epoch milliseconds.
        records: Root of the records that was given for the plan; empty for the directory beside the checkpoint.
    """

    token: str
    by: str
    plan_id: str
    machine: str
    pid: int
    life: str
    since_ms: int
    records: str = ""

    @property
    def is_here(self) -> bool:
        """True if it is a process of this machine, so that its end can be seen."""
        return self.machine == this_machine()

    @property
    def is_gone(self) -> bool:
        """True if its process has surely ended, or released the lock."""
        if not self.is_here:
            return False
        if self.pid == os.getpid() and self.life == life_of(self.pid):
            return self.token not in _held
        return not _is_alive(self.pid) or self.life != life_of(self.pid)

    def encode(self) -> bytes:
        """The bytes to store."""
        return json.dumps(asdict(self), sort_keys=True).encode()


class Held:
    """A lock that is held, and with it the clock of the storage, which has dated it."""

    def __init__(self, checkpoint: Store, place: Store, name: str, holder: Holder) -> None:
        self._checkpoint, self._place, self._name, self._holder = checkpoint, place, name, holder
        self._taken_at = time.monotonic()

    def storage_now_ms(self) -> int | None:
        """The time by the clock of the storage, epoch milliseconds; None where it does not date its objects."""
        stored = self._place.ls()[0].get(self._name)
        if stored is None or stored.modified_ms is None:
            return None
        return stored.modified_ms + int((time.monotonic() - self._taken_at) * 1000)

    def require_mine(self) -> None:
        """Raise CheckpointBusyError when somebody has taken the lock over meanwhile, also when they have ended."""
        there = _read(self._place, self._name)
        winner = _read(self._place, _successor(self._holder)) if there == self._holder else there
        if there != self._holder or winner is not None:
            raise _taken_over(self._checkpoint, winner)


def _decode(data: bytes) -> Holder:
    """A holder; one that nobody knows when the bytes say nothing, or nothing that a lock says."""
    try:
        fields = Fields("a lock", parse_json(data), tuple(Holder.__dataclass_fields__), ("records",))
        token, by, plan_id, machine, life = map(fields.text, ("token", "by", "plan_id", "machine", "life"))
        holder = Holder(
            token=token,
            by=by,
            plan_id=plan_id,
            machine=machine,
            pid=fields.number("pid"),
            life=life,
            since_ms=fields.number("since_ms"),
            records=fields.text("records") if fields.has("records") else "",
        )
    except (ValueError, PlanError):
        holder = None
    if holder is None or not _TOKEN.fullmatch(holder.token) or holder.pid > _MOST_PID:
        return Holder(
            token=hashlib.sha256(data).hexdigest()[:16], by="", plan_id="", machine="", pid=0, life="", since_ms=0
        )
    return holder


def lock_warnings(checkpoint: Store) -> tuple[str, ...]:
    """Warnings about the lock on this storage for the reader of a plan."""
    return () if checkpoint.creates_exclusively else (NO_EXCLUSIVE_CREATE,)


def who_holds(checkpoint: Store, undo: Store | None = None) -> Holder | None:
    """Who holds the lock of a checkpoint, as far as their end cannot be seen; None when nobody does."""
    holder, name = None, LOCK
    with suppress(PlanError, StoreError):
        place = place_of_lock(checkpoint, undo)
        while (there := _read(place, name)) is not None:
            holder, name = there, _successor(there)
    return None if holder is None or holder.is_gone else holder


@contextmanager
def locked(
    checkpoint: Store, plan_id: str, by: str, *, undo: Store | None = None, break_lock: bool = False
) -> Iterator[Held]:
    """Hold the lock of a checkpoint.

    Args:
        checkpoint: The checkpoint to change.
        plan_id: By which plan.
        by: Who does it; the same one may go on with the same plan on another machine.
        undo: Root of the records, which the lock of a whole bucket lies in; any other lies beside the checkpoint.
        break_lock: A person states that the holder of the lock has ended.

    Raises:
        CheckpointLockedError: Another one holds it, or was killed while it had its records at another place.
    """
    records = undo.location if undo is not None else ""
    with _holding(place_of_lock(checkpoint, undo), checkpoint, plan_id, by, break_lock, records) as held:
        if undo is not None:
            make_place(records_of(checkpoint, undo), checkpoint)
        yield held


@contextmanager
def locked_backups(root: Store, plan_id: str, by: str, *, break_lock: bool = False) -> Iterator[Held]:
    """Hold the lock of a root of backups, for a prune.

    Args:
        root: Location of the backup root.
        plan_id: By which rules.
        by: Who does it; the same one may go on with the same rules on another machine.
        break_lock: A person states that the holder of the lock has ended.

    Raises:
        CheckpointLockedError: Another one holds it.
    """
    with _holding(root, root, plan_id, by, break_lock) as held:
        yield held


@contextmanager
def locked_runs(
    checkpoint: Store, what: str, by: str, *, undo: Store | None = None, break_lock: bool = False
) -> Iterator[Held]:
    """Hold the lock of the runs of a query: one stop or start at a time, inside which a change may take its own.

    Args:
        checkpoint: Its checkpoint.
        what: What is done; the same one may go on by the same ``by`` on another machine.
        by: Who does it.
        undo: Root of the records, which count for a whole bucket alone.
        break_lock: A person states that the holder of the lock has ended.

    Raises:
        CheckpointLockedError: Another one holds it.
    """
    place = place_of_lock(checkpoint, undo)
    make_place(place, checkpoint)
    with _holding(place.child(RUNS), checkpoint, what, by, break_lock) as held:
        yield held


@contextmanager
def _holding(
    place: Store, checkpoint: Store, plan_id: str, by: str, break_lock: bool, records: str = ""
) -> Iterator[Held]:
    pid = os.getpid()
    mine = Holder(
        token=uuid.uuid4().hex[:16],
        by=by,
        plan_id=plan_id,
        machine=this_machine(),
        pid=pid,
        life=life_of(pid),
        since_ms=now_ms(),
        records=records,
    )
    _held.add(mine.token)
    try:
        names = _take(place, checkpoint, mine, break_lock)
        try:
            yield Held(checkpoint, place, names[-1], mine)
        except BaseException:  # Ctrl-C as well; where the storage fails too, the first error counts
            with suppress(StoreError):
                _release(place, names, mine)
            raise
        _release(place, names, mine)
    finally:
        _held.discard(mine.token)


def place_of_lock(checkpoint: Store, undo: Store | None) -> Store:
    """Where the lock of a checkpoint is: beside it, wherever its records go; of a whole bucket with the records."""
    try:
        return records_of(checkpoint)
    except PlanError:
        if undo is None:
            raise
        return records_of(checkpoint, undo)


def _take(place: Store, checkpoint: Store, mine: Holder, break_lock: bool) -> list[str]:
    """Create the lock; returns the names of the whole chain, the own one last."""
    names, holders = [LOCK], []
    while (holder := _read(place, names[-1])) is not None:
        holders.append(holder)
        names.append(_successor(holder))
    if holders and not break_lock:
        _require_ended(checkpoint, holders[-1], mine)
    try:
        make_place(place, checkpoint)
        place.create(names[-1], mine.encode())
    except ObjectExistsError:
        winner = _read(place, names[-1])
        if winner != mine:  # a driver may repeat a request whose answer was lost, and find its own lock
            _require_reachable(checkpoint, place)
            raise _busy(checkpoint, winner or mine) from None
    except StoreError as error:
        if not error.retryable:
            error.hint = _where(checkpoint, place, error.hint)
        raise
    if not place.creates_exclusively:
        time.sleep(SETTLE_S)
        if (winner := _read(place, names[-1])) != mine:
            raise _busy(checkpoint, winner or mine)
    if holders and _read(place, LOCK) != holders[0]:  # the chain was released before this lock was added to it
        place.delete(names[-1])
        return _take(place, checkpoint, mine, break_lock)
    return names


def _require_ended(checkpoint: Store, holder: Holder, mine: Holder) -> None:
    """Raise CheckpointLockedError where a holder may go on, or its record is not seen from here."""
    if not _may_take_over(holder, mine):
        raise _busy(checkpoint, holder)
    if holder.records != mine.records:
        raise _recorded_elsewhere(checkpoint, holder)


def _may_take_over(holder: Holder, mine: Holder) -> bool:
    if holder.is_here:
        return holder.is_gone
    return bool(mine.by) and (holder.by, holder.plan_id) == (mine.by, mine.plan_id)


def _release(place: Store, names: list[str], mine: Holder) -> None:
    """Remove the chain, unless somebody broke this lock: then what is there is no longer ours."""
    if _read(place, names[-1]) == mine and _read(place, _successor(mine)) is None:
        for name in names:
            place.delete(name)


def _successor(holder: Holder) -> str:
    return f"lock-{holder.token}.json"


def _read(place: Store, name: str) -> Holder | None:
    try:
        return _decode(place.read_up_to(name, _MOST_BYTES))
    except CheckpointNotFoundError:
        return None
    except StoreError as error:
        error.hint = error.hint or "This file is a lock. Delete it when no change and no prune runs at this location."
        raise


def _require_reachable(checkpoint: Store, place: Store) -> None:
    """Raise PlanError where the lock would be behind a link that leads nowhere: nobody holds it, and nobody can."""
    link = link_to_nowhere(place.root) if place.is_local else None
    if link is not None:
        raise PlanError(
            f"no change can take its lock: {link} is a symbolic link that leads nowhere.",
            location=checkpoint.location,
            hint="Nothing was done. Make the directory that the link leads to, or remove the link.",
        )


def _where(checkpoint: Store, place: Store, hint: str | None) -> str:
    """Why the lock is where it cannot be written, and what that means."""
    beside = (
        ""
        if place is checkpoint
        else ", beside the checkpoint also where --undo-to names another place for the records"
    )
    why = f"The lock is written to {place.location}{beside}, so that two operators see one another."
    return f"Nothing was done. {why} Without it no change is possible: let this user write there. {hint or ''}".rstrip()


def _busy(checkpoint: Store, holder: Holder) -> CheckpointLockedError:
    since = time_text(holder.since_ms)
    who = f"{holder.by or 'somebody'} (process {holder.pid}, plan {holder.plan_id or 'unknown'}, since {since})"
    return CheckpointLockedError(
        f"another run of ckpt has the lock of this location: {who}.",
        location=checkpoint.location,
        hint="Nothing was done. Wait until that process has ended. If it was killed, run its command again with "
        "--break-lock (break_lock=True in a DAG), which removes its lock.",
    )


def _recorded_elsewhere(checkpoint: Store, holder: Holder) -> CheckpointLockedError:
    place, way = "beside the checkpoint", "without --undo-to"
    if holder.records:
        place, way = f"in {holder.records}", f"with --undo-to {quote(holder.records)} (undo_root= in a DAG)"
    return CheckpointLockedError(
        f"{holder.by or 'somebody'} began the change {holder.plan_id} of this checkpoint and did not end it; its "
        f"record is {place}.",
        location=checkpoint.location,
        hint=f"Nothing was done. Run the command of that change again {way}, which completes it, or take it back with "
        "ckpt undo in the same way. --break-lock (break_lock=True in a DAG) leaves it as it is.",
    )


def _taken_over(checkpoint: Store, winner: Holder | None) -> CheckpointBusyError:
    who = f"{winner.by or 'somebody'} (process {winner.pid})" if winner is not None else "a process that has ended"
    return CheckpointBusyError(
        f"the lock of this run was removed, or taken over by {who}.",
        location=checkpoint.location,
        hint="This run stops, and deletes nothing more. 'ckpt history LOCATION' shows the changes to a checkpoint.",
    )


# --- processes -----------------------------------------------------------------------------------------------------


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
