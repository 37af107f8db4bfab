"""Conditions that must still hold when a plan is applied: a closed set, each of which checks itself.

A requirement that cannot be checked, for want of what it reads, does not hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_provider_ckpt.change.plan.facts import Facts, kept_objects
from airflow_provider_ckpt.checkpoint.progress import or_none
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.untrusted.fields import Fields

_DIGEST = re.compile(r"[0-9a-f]{40,}")
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Fact:
    """A requirement in JSON: its kind, and what is expected; for people it is a sentence."""

    kind: ClassVar[str]
    #: The sentence, around what is expected.
    says: ClassVar[str]
    expected: str

    @property
    def sentence(self) -> str:
        """The condition as a sentence. A digest is cut to its beginning."""
        text = _DIGEST.sub(lambda found: f"{found[0][:16]}…", self.expected)
        return self.says.format(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")

    def to_dict(self) -> dict[str, str]:
        """JSON-ready."""
        return {"kind": self.kind, "expected": self.expected}

    def _compared(self, what: str, found: str) -> str | None:
        return None if found == self.expected else f"{what}: expected {self.expected}, found {found}"


@dataclass(frozen=True, slots=True)
class SameQuery(_Fact):
    """The checkpoint is that of the query with this id, or ``none``.

    A plan that replaces ``metadata`` says in its steps what has to be there.
    """

    kind: ClassVar[str] = "query_id"
    says: ClassVar[str] = "The checkpoint is still that of the query {}."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        if layout.METADATA in facts.touched("checkpoint"):
            return None
        return self._compared("the query id", facts.query_id or "none")


@dataclass(frozen=True, slots=True)
class LatestCommitted(_Fact):
    """The newest committed batch, or ``none``; a plan that was begun changes it itself."""

    kind: ClassVar[str] = "latest_committed"
    says: ClassVar[str] = "The newest committed batch is still {}."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        return None if facts.resuming else self._compared("the newest committed batch", or_none(facts.latest_committed))


@dataclass(frozen=True, slots=True)
class LatestPlanned(_Fact):
    """The newest planned batch, or ``none``; a plan that was begun changes it itself."""

    kind: ClassVar[str] = "latest_planned"
    says: ClassVar[str] = "The newest planned batch is still {}."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        return None if facts.resuming else self._compared("the newest planned batch", or_none(facts.latest_planned))


@dataclass(frozen=True, slots=True)
class KeptObjects(_Fact):
    """Digest over what the plan leaves alone in the checkpoint."""

    kind: ClassVar[str] = "kept_objects"
    says: ClassVar[str] = "No file that the plan leaves alone has changed (their digest is {})."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        found = kept_objects(facts.objects["checkpoint"], facts.touched("checkpoint"))
        return self._compared("the digest of the files that the plan does not change", found)


@dataclass(frozen=True, slots=True)
class KeptSinkLog(_Fact):
    """Digest over what the plan leaves alone in the log of the file sink."""

    kind: ClassVar[str] = "kept_sink_log"
    says: ClassVar[str] = "No entry of the sink log that the plan leaves alone has changed (their digest is {})."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        if "sink" not in facts.objects:
            return f"the log of the sink: expected {self.expected}, found no sink"
        found = kept_objects(facts.objects["sink"], facts.touched("sink"))
        return self._compared("the digest of the sink log entries that the plan does not change", found)


@dataclass(frozen=True, slots=True)
class WriterStopped(_Fact):
    """Somebody has said that no query writes to the checkpoint; files alone cannot show that."""

    kind: ClassVar[str] = "writer_stopped"
    says: ClassVar[str] = "Somebody says that the query is stopped: {}."
    expected: str = "yes"

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        return self._compared("the confirmation that the query is stopped", "yes" if facts.writer_stopped else "no")


@dataclass(frozen=True, slots=True)
class Fenced(_Fact):
    """A fence is there: an offset entry, and the SHA-256 (hex) of its content.

    No query that was at the batch before it can plan another one. A plan that was begun may have changed the entry, or
    removed it as its last step but one.
    """

    kind: ClassVar[str] = "fenced"
    says: ClassVar[str] = "The fence {} is still there, or what the change has made of it."

    @property
    def name(self) -> str:
        """The entry."""
        return self.expected.partition(" ")[0]

    @property
    def batch_id(self) -> int:
        """Its batch."""
        return int(self.name.rpartition("/")[2])

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        stored = facts.at("checkpoint", self.name)
        if stored is None:
            return None if facts.resuming else f"the fence: expected {self.name}, found no such entry"
        found = facts.sha256_of("checkpoint", self.name)
        if f"{self.name} {found}" == self.expected or (facts.resuming and facts.is_own("checkpoint", self.name)):
            return None
        return f"the fence: {self.name} has another content than it had"


@dataclass(frozen=True, slots=True)
class FromBackup(_Fact):
    """The backup that copies come from; not needed any more when the plan was begun, for all is copied by then."""

    kind: ClassVar[str] = "backup"
    says: ClassVar[str] = "The backup {} is still there."

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        if facts.resuming or facts.backup_id == self.expected:
            return None
        return f"the backup {self.expected} was deleted after the plan was made"


@dataclass(frozen=True, slots=True)
class EmptyLocation(_Fact):
    """Nothing is at the location but what the plan itself writes."""

    kind: ClassVar[str] = "location"
    says: ClassVar[str] = "The location is still {}."
    expected: str = "empty"

    def check(self, facts: Facts) -> str | None:
        """None when the requirement is met, otherwise the expected and the found value."""
        others = facts.objects["checkpoint"].keys() - facts.touched("checkpoint")
        return f"the location: expected no file, found {min(others)}" if others else None


Requirement = (
    SameQuery
    | LatestCommitted
    | LatestPlanned
    | KeptObjects
    | KeptSinkLog
    | WriterStopped
    | Fenced
    | FromBackup
    | EmptyLocation
)
KINDS: dict[str, type[Requirement]] = {
    known.kind: known
    for known in (
        SameQuery,
        LatestCommitted,
        LatestPlanned,
        KeptObjects,
        KeptSinkLog,
        WriterStopped,
        Fenced,
        FromBackup,
        EmptyLocation,
    )
}
_FENCE = re.compile(r"offsets/(?:0|[1-9][0-9]{0,17}) [0-9a-f]{64}")
#: The only text that a requirement of this kind may expect.
_FIXED = {"writer_stopped": ("yes",), "location": ("empty",)}


def requirement_from_dict(value: Any) -> Requirement:
    """The requirement that ``to_dict`` wrote. Raises PlanError for anything else."""
    fields = Fields("a requirement", value, ("kind", "expected"))
    kind = fields.one_of("kind", tuple(KINDS))
    expected = fields.one_of("expected", _FIXED[kind]) if kind in _FIXED else fields.text("expected")
    if kind == Fenced.kind and not _FENCE.fullmatch(expected):
        raise fields.wrong("expected", "an offset entry and a SHA-256 in hex")
    return KINDS[kind](expected)
