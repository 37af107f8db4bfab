"""The marker by which a sink recognises a batch of a query, and the commits that the sink consists of."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.query.sink import FILE_FORMATS, NOT_DECLARED

#: Those of them that do not even compute such a batch: Spark then writes no state of it. Iceberg computes it.
LEAVING_NO_STATE = ("file", "delta", "hudi")
#: What Spark ends the name of a file with, before the ending of its compression or after it, by format.
_ENDINGS = {**{name: name for name in FILE_FORMATS}, "txt": "text"}
#: What Delta calls a commit that puts an earlier version back.
RESTORE = "RESTORE"


def format_of(path: str) -> str | None:
    """The format of a file of a file sink, as its name says: ``part-0.c000.snappy.parquet``, ``part-0.json.gz``."""
    endings = path.rpartition("/")[2].split(".")[1:]
    return next((_ENDINGS[ending] for ending in reversed(endings) if ending in _ENDINGS), None)


@dataclass(frozen=True, slots=True)
class SinkCommit:
    """One of the commits that a sink is made of.

    Args:
        version: How the format names the state after it: table version, snapshot id, instant.
        batch_id: The batch of the query that the commit holds; None for a commit of another writer, or of maintenance.
        operation: The format's name of it.
    """

    version: str
    batch_id: int | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True)
class SinkMarker:
    """A sink's memory of one query.

    Args:
        kind: ``file``, ``delta``, ``iceberg``, ``hudi``, ``history``, ``kafka``, ``foreachBatch``, …; empty when not
            declared.
        location: Where it is, or empty.
        writer: The id by which it knows the query; empty when it asks for none.
        last_batch: The newest batch that it has recorded: it skips every batch up to it. None when it knows none.
        commits: The commits that it consists of now, oldest first; they go back at least to the batch asked about, or
            as far as the format remembers.
        undone: Batches that it once held and that a restore of the table took back.
    """

    kind: str
    location: str = ""
    writer: str = ""
    last_batch: int | None = None
    commits: tuple[SinkCommit, ...] = ()
    undone: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Kind and location."""
        return f"{self.kind}:{self.location}" if self.location else self.kind or NOT_DECLARED

    def held_after(self, batch_id: int) -> tuple[int, ...]:
        """Batches after one that it holds, ascending."""
        held = {commit.batch_id for commit in self.commits if commit.batch_id is not None}
        return tuple(sorted(batch for batch in held if batch > batch_id))

    def skipped_after(self, batch_id: int) -> tuple[int, int] | None:
        """First and last (inclusive) of the batches after one that it skips when they run again."""
        return None if self.last_batch is None or self.last_batch <= batch_id else (batch_id + 1, self.last_batch)

    def lost_up_to(self, batch_id: int) -> tuple[int, ...]:
        """Batches up to one (inclusive) that a restore of the table took back and nothing has written again."""
        held = {commit.batch_id for commit in self.commits}
        return tuple(sorted(batch for batch in set(self.undone) - held if batch <= batch_id))

    def version_of(self, batch_id: int) -> str | None:
        """The newest earlier version that holds nothing after a batch; None when the format remembers none."""
        at = self._last_good(batch_id)
        return None if at is None else self.commits[at].version

    def others_after(self, batch_id: int) -> tuple[SinkCommit, ...]:
        """Commits of others that go away as well when the sink goes back to that version."""
        at = self._last_good(batch_id)
        later = () if at is None else self.commits[at + 1 :]
        return tuple(commit for commit in later if commit.batch_id is None and commit.operation != RESTORE)

    def _last_good(self, batch_id: int) -> int | None:
        """Where in ``commits`` that version is; a table cannot be restored to the version that it is at."""
        later = (at for at, commit in enumerate(self.commits) if (commit.batch_id or 0) > batch_id)
        end = next(later, len(self.commits) - 1)
        good = (at for at in range(end - 1, -1, -1) if self.commits[at].operation != RESTORE)
        return next(good, None)
