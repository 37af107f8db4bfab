"""The readings around a change: whoever else writes to the checkpoint is noticed before anything is lost.

Before the first step the whole listing must be the one that the plan was judged by; while files are saved, and before
each step on a log, the two logs must be; after the last step everything must be as the plan leaves it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.plan.actions import Action, Clear, Delete, Open, Repartition
from airflow_provider_ckpt.change.plan.facts import Facts, Place, batch_of, is_table
from airflow_provider_ckpt.checkpoint.listing import find_objects
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.times import duration_text

#: A writer is watched for at least this long.
MIN_WATCH_S = 2.0
#: Bounds of the quiet period that is read off the rhythm of the commits.
MIN_QUIET_S, MAX_QUIET_S = 5.0, 60.0
#: How often the logs are listed while files are saved.
RECHECK_S = 5.0
_LONGEST_QUIET_S = 7 * 86_400
_LOGS = (layout.COMMITS, layout.OFFSETS)

#: Why it is watched so long, where nobody has said how long.
_WHY = (
    ": by the times of its commits, one that runs would write within that time. --quiet-period sets another time (in a "
    "DAG quiet_period)."
)

#: Told what is being waited for.
Tell = Callable[[str], None]


def silent(text: str) -> None:
    """Nobody listens."""


def require_quiet(quiet_s: float | None, location: str) -> None:
    """Raise PlanError for what is no number of seconds to wait: not a number, none that is, less than 0, too many."""
    is_number = isinstance(quiet_s, int | float) and not isinstance(quiet_s, bool)
    if quiet_s is not None and not (is_number and 0 <= quiet_s <= _LONGEST_QUIET_S):
        raise PlanError(
            f"quiet_s must be a number of seconds from 0 to {_LONGEST_QUIET_S:,}, or None, not {quiet_s!r:.60}.",
            location=location,
            hint="Nothing was done.",
        )


class Guard:
    """Expected content of the places of a plan from one step to the next.

    Args:
        executor: The executor of the plan.
        facts: The first observation.
    """

    def __init__(self, executor: InPlace, facts: Facts) -> None:
        self._executor, self._first = executor, facts.objects
        self._plan, self._stores, self._mine = executor.plan, executor.stores, executor.mine
        #: Identities by name; None where it is not known.
        self._expected: dict[Place, dict[str, str | None]] = {
            place: {name: stored.identity for name, stored in objects.items()}
            for place, objects in facts.objects.items()
        }
        self._checked_at = time.monotonic()
        self._unit = ""

    def least_quiet_s(self, quiet_s: float | None) -> float | None:
        """How long to watch when somebody wants to watch so long; None to judge by the rhythm of the commits.

        A query may still run a batch in flight that an undo drops. It would commit the batch when the undo has ended,
        and nothing but time shows that.
        """
        return None if quiet_s is not None and quiet_s < MIN_WATCH_S and self._drops_a_batch_in_flight() else quiet_s

    def _drops_a_batch_in_flight(self) -> bool:
        """True if an undo removes a batch that a query has planned and not committed since the change."""
        objects = self._first["checkpoint"]
        for action in self._plan.actions if self._plan.rules.takes_back else ():
            entry = layout.parse(action.name)
            if not isinstance(action, Delete) or action.sha256 or not isinstance(entry, layout.LogEntry):
                continue  # what the change itself has put there is known by its content
            if entry.log == layout.OFFSETS and layout.commit_entry(entry.batch_id) not in objects:
                return True
        return False

    def watch(self, quiet_s: float | None, storage_now_ms: int | None, tell: Tell = silent) -> None:
        """Wait for a query that still writes, and read again.

        Args:
            quiet_s: Seconds to wait; None to judge by the rhythm of the commits.
            storage_now_ms: The time by the clock of the storage, epoch milliseconds; None when it is not known.
            tell: Told what is being waited for.

        Raises:
            CheckpointBusyError: Something was written.
        """
        watched_s = watch_s(self._first["checkpoint"], storage_now_ms) if quiet_s is None else quiet_s
        watched = duration_text(watched_s * 1000)
        if watched_s > 0:
            why = _WHY if quiet_s is None else "."
            tell(f"Checking for {watched} whether a query still writes to {self._plan.location}{why}")
            time.sleep(watched_s)
        found = self._difference()
        if found is not None:
            raise CheckpointBusyError(
                f"a query is running: it wrote to the checkpoint within {watched} ({found}).{self._upkeep(found)}",
                location=self._plan.location,
                hint=f"Nothing was done. {self._how_to_stop()}, then run the same command again.",
            )

    def _how_to_stop(self) -> str:
        """What ends the query that was seen."""
        if self._plan.fence is None:
            return "Stop the query and everything that restarts it"
        return (
            "Behind the fence the query stops by itself when it tries its next batch, for which it needs new rows: "
            "wait until it has ended"
        )

    def _upkeep(self, found: str) -> str:
        """What is to be known of a write that is of no new batch; empty for any other one."""
        name = found.rsplit(" ", 2)[0]
        batch, logs = batch_of(name), [layout.parse(name) for name in self._first["checkpoint"]]
        newest = max((entry.batch_id for entry in logs if isinstance(entry, layout.LogEntry)), default=-1)
        if not name.startswith(f"{layout.STATE}/") or batch is None or batch > newest:
            return ""
        return (
            f" That is maintenance of its state store, which it does while it is idle as well: the state after batch "
            f"{batch}, and no new batch."
        )

    def tick(self) -> None:
        """Now and then while files are saved: list the logs. Raises CheckpointBusyError."""
        if time.monotonic() - self._checked_at >= RECHECK_S:
            self._mine()
            self._require(self._difference_in_logs())
            self._checked_at = time.monotonic()

    def require_untouched(self) -> None:
        """Right before the first step: nothing changed since the first reading. Raises CheckpointBusyError."""
        self._mine()
        self._require(self._difference())

    def before(self, action: Action, done: int, total: int) -> None:
        """Before a step: when it begins with an entry of a log, nobody has written to the logs meanwhile.

        Raises:
            CheckpointBusyError: Somebody has, or another operator has taken over.
        """
        unit = main_name(action.name)
        is_new = action.place == "checkpoint" and unit != self._unit
        self._unit = unit
        if is_new and isinstance(layout.parse(unit), layout.LogEntry):
            self._mine()
            found = self._difference_in_logs()
            if not done:
                self._require(found)
            if found is not None:
                raise self.stopped(found, done, total)

    def note(self, action: Action, identity: str | None) -> None:
        """A step was done; ``identity`` is that of what it has put in its place.

        Raises CheckpointBusyError when Spark has written a batch, and somebody has written something else meanwhile.
        """
        if isinstance(action, Clear | Delete | Open):
            self._expected[action.place].pop(action.name, None)
        elif isinstance(action, Repartition):
            self._expect_batch()
        else:
            self._expected[action.place][action.name] = identity

    def _expect_batch(self) -> None:
        """From now on what Spark has written of the batch of the plan is expected; nothing else has changed."""
        now, batch = find_objects(self._stores.checkpoint), self._plan.batch_id

        def is_others(name: str) -> bool:
            return batch_of(name) != batch and not is_table(name)

        expected = {name: identity for name, identity in self._expected["checkpoint"].items() if is_others(name)}
        found = difference(expected, {name: stored for name, stored in now.items() if is_others(name)})
        if found is not None:
            raise self.stopped(found, 1, len(self._plan.actions))
        self._expected["checkpoint"] = {name: stored.identity for name, stored in now.items()}

    def require_as_planned(self, total: int) -> None:
        """After the last step: everything is as the plan leaves it. Raises CheckpointBusyError."""
        self._mine()
        found = self._difference()
        if found is not None:
            raise self.stopped(found, total, total)

    def stopped(self, found: str, done: int, total: int) -> CheckpointBusyError:
        """The error for a writer that appeared after the first step."""
        plan = self._plan
        return CheckpointBusyError(
            f"a query started during the {plan.called}: {found}. {done} of {total} steps were done.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint=self._executor.what_next,
        )

    # --- comparing -------------------------------------------------------------------------------------------------

    def _require(self, found: str | None) -> None:
        if found is not None:
            plan = self._plan
            raise CheckpointBusyError(
                f"a query started while the {plan.called} was prepared: {found}.",
                location=plan.location,
                batch_id=plan.batch_id,
                hint=f"No step was done. {self._how_to_stop()}, then run the same command again.",
            )

    def _difference(self) -> str | None:
        now: dict[Place, Mapping[str, StoredObject]] = {"checkpoint": find_objects(self._stores.checkpoint)}
        if "sink" in self._expected:
            now["sink"] = read_file_sink(self._stores.place("sink")).objects
        differences = (difference(self._expected[place], objects) for place, objects in now.items())
        return next((found for found in differences if found), None)

    def _difference_in_logs(self) -> str | None:
        checkpoint = self._stores.checkpoint
        for log in _LOGS:
            prefix = f"{log}/"
            expected = {name: value for name, value in self._expected["checkpoint"].items() if name.startswith(prefix)}
            found = difference(expected, _entries(checkpoint.ls(log)[0], expected))
            if found is not None:
                return found
        return None


def _entries(listed: Mapping[str, StoredObject], expected: Mapping[str, str | None]) -> dict[str, StoredObject]:
    """Entries listed in a log, without deeper objects that were expected."""
    deeper = {name for name in expected if name.count("/") > 1}
    return {**listed, **{name: StoredObject(name, 0, None, expected[name] or "") for name in deeper}}


def difference(expected: Mapping[str, str | None], now: Mapping[str, StoredObject]) -> str | None:
    """The first thing that is not as expected, in words; None when everything is."""
    for name in sorted(now.keys() - expected.keys()):
        return f"{name} is new"
    for name in sorted(expected.keys() - now.keys()):
        return f"{name} was removed"
    for name, identity in sorted(expected.items()):
        if identity is not None and now[name].identity != identity:
            return f"{name} was rewritten"
    return None


def watch_s(objects: Mapping[str, StoredObject], storage_now_ms: int | None) -> float:
    """How long to watch: until the newest write is so old that a query of this rhythm would have written again.

    Dates are the storage's, and so is the time that they are compared with: the clock of this machine has no say. What
    is dated in the future counts as written now.

    Args:
        objects: The listing of the checkpoint.
        storage_now_ms: The time by the clock of the storage, epoch milliseconds; without it nothing is known to be old.

    Returns:
        Seconds, from MIN_WATCH_S to MAX_QUIET_S.
    """
    commits = (stored for name, stored in objects.items() if name.startswith(f"{layout.COMMITS}/"))
    times = sorted(stored.modified_ms for stored in commits if stored.modified_ms)
    gaps = (later - earlier for earlier, later in itertools.pairwise(times))
    quiet_s = min(MAX_QUIET_S, max(MIN_QUIET_S, 2 * max(gaps, default=0) / 1000))
    newest = max((stored.modified_ms for stored in objects.values() if stored.modified_ms), default=None)
    if storage_now_ms is None or newest is None:
        return quiet_s
    return max(MIN_WATCH_S, quiet_s - max(0, storage_now_ms - newest) / 1000)
