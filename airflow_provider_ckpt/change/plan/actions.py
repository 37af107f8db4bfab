"""The steps that a plan is made of: a closed set, each of which judges and carries out itself.

Several may concern one name: what a query wrote since is removed, and what had been there is put back.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, get_args

from airflow_provider_ckpt.change.plan.facts import Facts, Place, Spot
from airflow_provider_ckpt.codec.offset_log import CLOSING

PLACES: tuple[Place, ...] = get_args(Place)


class Executor(Protocol):
    """Executor of actions: it has the stores of a plan, and the places that its copies come from."""

    def delete(self, delete: Delete) -> None:
        """Remove the object that a delete means; it is fine when it is not there."""

    def put(self, copy: Copy) -> None:
        """Write the object that a copy means; its name must be free."""

    def create(self, place: Place, name: str, data: bytes) -> None:
        """Write an object whose name must be free."""

    def replace(self, step: Replace) -> None:
        """Give an object another content."""

    def repartition(self, step: Repartition) -> None:
        """Have Spark write the state anew."""

    def clear(self, step: Clear) -> None:
        """Remove a directory that is empty."""

    def close(self, step: Close) -> None:
        """Write the entry that closes a checkpoint; its name must be free."""

    def open(self, step: Open) -> None:
        """Remove the entry that closes a checkpoint."""


@dataclass(frozen=True, slots=True)
class _OnObject:
    """Common fields of every action: an object, and the place that it is in."""

    name: str
    place: Place = "checkpoint"

    @property
    def spot(self) -> Spot:
        """Where the object is, or will be."""
        return self.place, self.name


@dataclass(frozen=True, slots=True)
class Delete(_OnObject):
    """Remove an object.

    Args:
        name: The object.
        place: The store it is in.
        size: Bytes.
        identity: Identity that it must still have; empty in an undo that an older version has planned.
        sha256: SHA-256 that it must have when no identity is known, hex.
    """

    do: ClassVar[str] = "delete"
    size: int = 0
    identity: str = ""
    sha256: str = ""

    def is_done(self, facts: Facts) -> bool:
        """True if the object is gone; an object that the plan itself has put in its place does not count."""
        stored = facts.at(self.place, self.name)
        return stored is None or (self.spot in facts.written and not self._is(stored.identity, facts))

    def problem(self, facts: Facts) -> str | None:
        """Problem if neither the object is there nor the one that the plan leaves behind."""
        stored = facts.at(self.place, self.name)
        if stored is None:
            return None if facts.resuming or not self.identity else f"expected {self.identity}, found no such object"
        if self._is(stored.identity, facts) or (facts.resuming and facts.is_own(self.place, self.name)):
            return None
        expected = self.identity or f"an object with the SHA-256 {self.sha256}, or no object"
        return f"expected {expected}, found {stored.identity}"

    def apply(self, executor: Executor) -> None:
        """Remove it."""
        executor.delete(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self, size=self.size, identity=self.identity, sha256=self.sha256)

    def _is(self, identity: str, facts: Facts) -> bool:
        if self.identity:
            return identity == self.identity
        return facts.sha256_of(self.place, self.name) == self.sha256


@dataclass(frozen=True, slots=True)
class Copy(_OnObject):
    """Put an object in its place.

    Args:
        name: The object.
        place: The store it goes to.
        size: Bytes.
        sha256: What it must be, hex; empty in an undo that an older version has planned, which is not carried out.
        source: Where it comes from, relative to the plan's source; empty for what a rollback removes and puts back.
        identity: Identity that its origin in the same place must still have; empty for any other copy.
    """

    do: ClassVar[str] = "copy"
    size: int = 0
    sha256: str = ""
    source: str = ""
    identity: str = ""

    def is_done(self, facts: Facts) -> bool:
        """True if it is there."""
        return _is_there(self, facts)

    def problem(self, facts: Facts) -> str | None:
        """Problem if something else is in its place, or if the copy cannot be verified."""
        if not self.sha256:
            return "the plan has no SHA-256 to verify the copy with"
        return _taken(self, facts)

    def apply(self, executor: Executor) -> None:
        """Write it."""
        executor.put(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self, size=self.size, identity=self.identity, sha256=self.sha256, source=self.source)


@dataclass(frozen=True, slots=True)
class Create(_OnObject):
    """Write an object whose content is in the plan.

    Args:
        name: The object.
        place: The store it goes to.
        data: Its content.
    """

    do: ClassVar[str] = "create"
    data: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data.encode())

    @property
    def sha256(self) -> str:
        """Hex, of its content."""
        return hashlib.sha256(self.data.encode()).hexdigest()

    def is_done(self, facts: Facts) -> bool:
        """True if it is there."""
        return _is_there(self, facts)

    def problem(self, facts: Facts) -> str | None:
        """Problem if something else is in its place."""
        return _taken(self, facts)

    def apply(self, executor: Executor) -> None:
        """Write it."""
        executor.create(self.place, self.name, self.data.encode())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self, size=self.size, data=self.data)


@dataclass(frozen=True, slots=True)
class Replace(_OnObject):
    """Give an object another content, which is in the plan; whoever reads finds the one or the other, never none.

    Args:
        name: The object.
        place: The store it is in.
        size: Bytes that it has before.
        identity: Identity that it must still have.
        sha256_before: SHA-256 of its content before, hex.
        data: Its content afterwards.
    """

    do: ClassVar[str] = "replace"
    size: int = 0
    identity: str = ""
    sha256_before: str = ""
    data: str = ""

    @property
    def new_size(self) -> int:
        """Bytes that it has afterwards."""
        return len(self.data.encode())

    @property
    def sha256(self) -> str:
        """Hex, of its content afterwards."""
        return hashlib.sha256(self.data.encode()).hexdigest()

    def is_done(self, facts: Facts) -> bool:
        """True if it has the content of the plan."""
        stored = facts.at(self.place, self.name)
        return stored is not None and stored.size == self.new_size and facts.is_own(self.place, self.name)

    def problem(self, facts: Facts) -> str | None:
        """Problem if it has neither its old content nor that of the plan."""
        stored = facts.at(self.place, self.name)
        if stored is None:
            return f"expected {self.identity}, found no such object"
        if stored.identity == self.identity or (facts.resuming and self.is_done(facts)):
            return None
        return f"expected {self.identity}, found {stored.identity}"

    def apply(self, executor: Executor) -> None:
        """Exchange the content."""
        executor.replace(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self, size=self.size, identity=self.identity, sha256=self.sha256_before, data=self.data)


@dataclass(frozen=True, slots=True)
class Repartition(_OnObject):
    """Have Spark write the state anew in another number of partitions, as a batch of its own.

    Spark plans the batch, writes its state and commits it; what it writes has names that only Spark knows.

    Args:
        name: The commit entry that Spark writes last.
        place: The checkpoint.
        partitions: How many partitions the state will have.
    """

    do: ClassVar[str] = "repartition"
    partitions: int = 0

    @property
    def size(self) -> int:
        """Bytes; not known before."""
        return 0

    @property
    def sha256(self) -> str:
        """Hex; not known before."""
        return ""

    def is_done(self, facts: Facts) -> bool:
        """True if the batch is committed, and is this one."""
        return facts.at(self.place, self.name) is not None and facts.partitions == self.partitions

    def problem(self, facts: Facts) -> str | None:
        """Problem if another batch is in its place."""
        stored = facts.at(self.place, self.name)
        if facts.partitions not in (None, self.partitions):
            return f"expected a batch with {self.partitions} state partitions, found one with {facts.partitions}"
        return None if stored is None or facts.resuming else f"expected nothing, found {stored.identity}"

    def apply(self, executor: Executor) -> None:
        """Let Spark do it."""
        executor.repartition(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self, data=str(self.partitions))


@dataclass(frozen=True, slots=True)
class Clear(_OnObject):
    """Remove a directory in the place of a file; what was in it goes before, and an empty one does not come back."""

    do: ClassVar[str] = "clear"

    @property
    def size(self) -> int:
        """Bytes: a directory has none."""
        return 0

    @property
    def sha256(self) -> str:
        """Hex: a directory has none."""
        return ""

    def is_done(self, facts: Facts) -> bool:
        """True if there is no directory."""
        return self.name not in facts.folders

    def problem(self, facts: Facts) -> str | None:
        """Nothing: what is in it is judged by the steps that remove that."""
        return None

    def apply(self, executor: Executor) -> None:
        """Remove it."""
        executor.clear(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self)


@dataclass(frozen=True, slots=True)
class _OfClosingEntry(_OnObject):
    """Action on the entry that closes a checkpoint: the offset entry of its next batch."""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(CLOSING)

    @property
    def sha256(self) -> str:
        """Hex, of the entry."""
        return hashlib.sha256(CLOSING).hexdigest()

    def problem(self, facts: Facts) -> str | None:
        """Problem if there is another entry."""
        return _taken(self, facts)


@dataclass(frozen=True, slots=True)
class Close(_OfClosingEntry):
    """Close a checkpoint: no Spark starts from it, and no query plans its next batch, until it is opened again.

    A plan begins with it when Spark, started between two steps, would go wrong.
    """

    do: ClassVar[str] = "close"

    def is_done(self, facts: Facts) -> bool:
        """True if it is closed."""
        return facts.is_own(self.place, self.name)

    def apply(self, executor: Executor) -> None:
        """Write the entry."""
        executor.close(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self)


@dataclass(frozen=True, slots=True)
class Open(_OfClosingEntry):
    """Open a checkpoint that the same plan has closed: its last step."""

    do: ClassVar[str] = "open"

    def is_done(self, facts: Facts) -> bool:
        """True if it is open."""
        return facts.at(self.place, self.name) is None

    def apply(self, executor: Executor) -> None:
        """Remove the entry."""
        executor.open(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return _to_dict(self)


Action = Delete | Copy | Create | Replace | Repartition | Clear | Close | Open
#: The steps after which what was there is gone; it is saved before the first of them.
Taking = Delete | Replace
#: The steps around all others of a plan that closes the checkpoint.
Ends = Close | Open


def _to_dict(action: Action, **own: Any) -> dict[str, Any]:
    empty = {"size": 0, "identity": "", "sha256": "", "source": "", "data": ""}
    return {"do": action.do, "name": action.name, "place": action.place, **empty, **own}


def _is_there(action: Copy | Create, facts: Facts) -> bool:
    stored = facts.at(action.place, action.name)
    if stored is None or stored.identity == facts.deleted.get(action.spot):
        return False  # also when what is still to be deleted has the very bytes of what is to come
    return action.spot not in facts.deleted or facts.is_own(action.place, action.name)


def _taken(action: Copy | Create | _OfClosingEntry, facts: Facts) -> str | None:
    stored = facts.at(action.place, action.name)
    if stored is None or action.spot in facts.deleted:  # the delete of the same name judges what is there
        return None
    if stored.size == action.size and facts.is_own(action.place, action.name):
        return None
    return f"expected no object, found {stored.identity}"
