"""Explanation of an error text: its cause, the evidence on a checkpoint, and the commands. One value for every face."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.explain.matching import Match, Sign
from airflow_provider_ckpt.explain.message_facts import fill
from airflow_provider_ckpt.explain.page import Cause, Told
from airflow_provider_ckpt.storage.opening import other_name

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import ExplanationFields, UnknownTextFields

#: Locations in the examples of the runbook: of a checkpoint that does not exist yet, of the checkpoint, of backups.
_NEW = re.compile(r"s3://(?:new/checkpoints/\w+|\w+/checkpoints/\w+-(?:\d+|old))(?![\w/-])")
_LOCATION = re.compile(r"s3://\w+/checkpoints/\w+(?![\w/-])")
_BACKUPS = re.compile(r"s3://\w+/backups(?:/(?!ID\b)\w+)?(?![\w-])")
#: Values of options in the examples, and the word for each.
_VALUES = (
    (re.compile(r"(--(?:to-)?batch) \d+"), r"\1 N"),
    (re.compile(r"(--(?:skip|to|spark)-version) \d[\d.]*"), r"\1 VERSION"),
    (re.compile(r"(--partitions) \d+"), r"\1 NUMBER"),
    (re.compile(r"(--to-watermark) \d\S+"), r"\1 TIME"),
    (re.compile(r"(--offsets) '\{[^']*'"), r"\1 JSON"),
    (re.compile(r"--as \w+=\w+(?: --as \w+=\w+)*"), "--as NEW=OLD"),
)


def without_examples(text: str, location: str | None) -> str:
    """A text of the runbook with words in capitals for what its examples have.

    Args:
        text: Markdown; its sources and sinks are those of :class:`~airflow_provider_ckpt.explain.given.Given`.
        location: The checkpoint, which is put in its place; None where it is not known.
    """
    known = location is not None and location.isprintable() and not location.startswith("-")
    place = shlex.quote(location) if known and location is not None else "LOCATION"
    text = _NEW.sub("NEW_LOCATION", text)
    text = _LOCATION.sub(lambda _: place, text)
    text = _BACKUPS.sub("ROOT", text)
    for value, word in _VALUES:
        text = value.sub(word, text)
    return text


#: ``confirmed``: a finding shows the cause. ``contradicted``: everything was read that would show it, and nothing did.
#: ``unknown``: the files alone cannot tell.
Result = Literal["confirmed", "contradicted", "unknown"]
#: ``proven``: the text, its stack trace or the checkpoint shows the cause. ``possible``: it is one of several.
Certainty = Literal["proven", "possible"]
#: Rules whose finding is an entry that cannot be read, and what is done before such a checkpoint can be fenced.
_UNREADABLE, _AT_FIRST = frozenset({"CKPT101", "CKPT102"}), "ckpt salvage {location} --sink TYPE[:URI]"
#: Frames that are named where a stack trace would tell.
_SHOWN_FRAMES = 3
#: Commands that show what is there, and are safe on whatever checkpoint.
_READING = ("ckpt check ", "ckpt gate ", "ckpt show ", "ckpt log ", "ckpt history ", "ckpt backups ", "ckpt lag ")


#: Commands after those that give up nothing: the newest batch that can be saved or that a backup has, an earlier batch,
#: and the place.
_GIVES_UP = (
    re.compile(r"ckpt (?:salvage |rollback .*--to-backup )"),
    re.compile("ckpt rollback "),
    re.compile("ckpt restore "),
)


def _harm(command: str) -> int:
    """How much a command may give up, for their order."""
    return next((rank for rank, said in enumerate(_GIVES_UP, 1) if said.match(command)), 0)


@dataclass(frozen=True, slots=True)
class Evidence(Documented):
    """What a checkpoint says about a cause.

    Args:
        elsewhere: Whether the text names another query or another batch than the checkpoint has.
        record: Where the change by ckpt is recorded that is the cause; None without one.
    """

    result: Annotated[
        Result,
        "`confirmed`: a finding shows the cause; `contradicted`: what would show it was read, and does not; "
        "`unknown`: the files alone cannot tell",
    ]
    sentence: Annotated[str, "the result, for people"]
    findings: Annotated[tuple[Finding, ...], "what confirms the cause; without that, the errors of the checkpoint"] = ()
    elsewhere: bool = False
    record: str | None = None


@dataclass(frozen=True, slots=True)
class Met:
    """Where a text was met.

    Args:
        line: Number of the first line, from 1.
        last_line: Last line of its last occurrence.
        times: Number of its occurrences.
        is_warning: True if each occurrence is a record of level WARN: Spark goes on after it.
    """

    line: int
    last_line: int
    times: int = 1
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """One cause of what went wrong.

    Args:
        match: The page or the condition.
        cause: The cause; None for a condition that has nothing to do with checkpoints.
        facts: Facts of the text.
        met: The places where it was met.
        evidence: Evidence of the checkpoint; None when none was asked.
        code: The rule, when it is one that was asked about and not an error.
        given: Declarations of the user about the query.
    """

    match: Match
    cause: Cause | None
    facts: Mapping[str, str] = field(default_factory=dict)
    met: Met = field(default_factory=lambda: Met(1, 1))
    evidence: Evidence | None = None
    code: str | None = None
    given: Given = field(default_factory=Given)

    @property
    def occurrence(self) -> object:
        """Key that is the same for all causes of one failure."""
        return self.match.key, self.met.line

    @property
    def title(self) -> str:
        """The error, as the runbook or Spark names it, or in the words of the text; the title of a rule."""
        if self.code is not None:
            return RULES[self.code]
        if self.match.page is not None:
            return self.match.page.title
        entry = self.match.entry
        return self.match.condition or self.match.message or (entry.title if entry else "")

    @property
    def is_shown(self) -> bool:
        """True if the text or the checkpoint shows this cause, and the checkpoint does not contradict it."""
        if self.evidence is not None and self.evidence.result != "unknown":
            return self.evidence.result == "confirmed"
        return self.match.is_proven

    @property
    def certainty(self) -> Certainty | None:
        """Certainty of the cause; None where there is no cause, or a rule was asked about."""
        if self.cause is None or self.code is not None:
            return None
        is_confirmed = self.evidence is not None and self.evidence.result == "confirmed"
        return "proven" if is_confirmed or (self.is_shown and len(self.match.causes) == 1) else "possible"

    @property
    def signs(self) -> tuple[Sign, ...]:
        """Signs of it: in the text, and in the checkpoint."""
        found = () if self.evidence is None or self.evidence.result != "confirmed" else self.evidence.findings
        record = None if self.evidence is None else self.evidence.record
        records = () if record is None else (Sign("record", record),)
        return (*self.match.signs, *dict.fromkeys(Sign("finding", finding.code) for finding in found), *records)

    @property
    def cause_text(self) -> str | None:
        """Why Spark stops; None where nothing shows that this is why."""
        if self.cause is not None:
            return self.cause.text if self.is_shown or self.code is not None else None
        return (
            f"Spark has the condition {self.match.condition}, and ckpt knows of no checkpoint that raises it: it is "
            "about the query, its data or its cluster."
        )

    @property
    def doubt(self) -> str | None:
        """One sentence that says what else it may be and how to tell; None where the cause is shown."""
        if self.cause is None or self.code is not None or self.is_shown:
            return None
        if self.match.is_proven:
            return (
                f"{self.cause.text} The checkpoint does not show that now, so the text is about another checkpoint, or "
                "about an earlier state of this one."
            )
        item = self.match.page or self.match.entry
        told = Told() if item is None else item.told
        frames = ", ".join(sorted(self._readers)[:_SHOWN_FRAMES])
        by_frames = (
            f"the stack trace has one of {frames} with no code of the query above it, or "
            if frames and not told.is_doubtful
            else ""
        )
        rules = ", ".join(self.cause.rules)
        by_rules = f"ckpt check says {rules}" if rules else "ckpt check has a finding"
        if self.evidence is not None and self.evidence.result == "contradicted":
            by_rules = f"another checkpoint than this one is meant, for ckpt check says none of {rules} here"
        return (
            f"{told.otherwise}, or {told.maybe or 'a file of the checkpoint is meant'}: it is the checkpoint only if "
            f"{by_frames}{by_rules}."
        )

    @property
    def _readers(self) -> frozenset[str]:
        own = () if self.match.page is None else self.match.page.frames
        return frozenset((*own, *(frame for cause in self.match.causes for frame in cause.frames)))

    @property
    def page(self) -> str | None:
        """Name of the page of the runbook."""
        if self.match.page is not None:
            return self.match.page.name
        return self.match.entry.page if self.match.entry else None

    @property
    def text(self) -> str | None:
        """Remedy as Markdown: of the cause alone, where the text or the checkpoint tells which one it is.

        None where nothing shows the cause.
        """
        if self.doubt is not None:
            return None
        if self.match.page is not None:
            is_told = len(self.match.causes) == 1 or (self.evidence is not None and self.evidence.result == "confirmed")
            own = self.cause.repair if self.cause is not None and is_told else ""
            repair = own or self.match.page.sections["Repair"]
            is_here = self.evidence is not None and not self.evidence.elsewhere
            repair = self.given.in_place(repair, examples=True)
            return without_examples(repair, self.facts.get("location") if is_here else None)
        return self.match.entry.repair if self.match.entry else None

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type: what the findings say, and else the commands of the cause with the facts filled in.

        Of the cause then only what repairs it in another way. The command that gives up the least comes first.
        """
        evidence = self.evidence
        commands = () if self.cause is None else self.cause.commands
        if self.doubt is not None or (evidence is not None and evidence.elsewhere):
            commands = tuple(command for command in commands if command.startswith(_READING))
        damaged = () if evidence is None else {finding.code for finding in evidence.findings} & _UNREADABLE
        if damaged:  # a fence copies the newest entry, so what makes that readable comes first
            commands = tuple(_AT_FIRST if command.startswith("ckpt fence ") else command for command in commands)
        fitting = (command for command in commands if self.given.fits(command))
        filled = tuple(self.given.in_place(fill(command, self._usable)) for command in fitting)
        if evidence is not None and evidence.result == "confirmed":
            said = (command for finding in evidence.findings for command in finding.commands)
            found = tuple(dict.fromkeys(self.given.in_place(command) for command in said))
            known = {*_READING, *(" ".join(command.split()[:2]) for command in found)}
            if found:
                filled = (*found, *(command for command in filled if not command.startswith(tuple(known))))
        return tuple(sorted(filled, key=_harm))

    @property
    def _usable(self) -> Mapping[str, str]:
        """The facts, without a location under a name that no command opens."""
        if other_name(self.facts.get("location", "/")) is None:
            return self.facts
        return {name: value for name, value in self.facts.items() if name != "location"}

    def to_dict(self) -> ExplanationFields:
        """JSON-ready."""
        return {
            "code": self.code,
            "title": self.title,
            "text": self.text,
            "condition": self.match.condition,
            "message": None if self.code else self.match.message or None,
            "cause": None if self.code else self.cause_text,
            "possible": self.doubt,
            "certainty": self.certainty,
            "shown_by": [sign.to_dict() for sign in self.signs],
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "command": next(iter(self.commands), None),
            "commands": list(self.commands),
            "page": self.page,
            "rules": [] if self.cause is None else list(self.cause.rules),
            "facts": dict(self.facts),
            "line": None if self.code else self.met.line,
            "last_line": None if self.code else self.met.last_line,
            "times": None if self.code else self.met.times,
        }


@dataclass(frozen=True, slots=True)
class Unknown:
    """An exception that nothing explains.

    Args:
        message: Its class and message, cut.
        met: The places where it was met.
        thrown_by: The frame of the query's own code that threw it, or called what did; None where none is shown.
    """

    message: str
    met: Met
    thrown_by: str | None = None

    def to_dict(self) -> UnknownTextFields:
        """JSON-ready."""
        return {
            "message": self.message,
            "thrown_by": self.thrown_by,
            "line": self.met.line,
            "last_line": self.met.last_line,
            "times": self.met.times,
        }


@dataclass(frozen=True, slots=True)
class Explained:
    """Meaning of a text.

    Args:
        explanations: Most certain first.
        unknown: Exceptions that nothing explains, in their order.
        location: The checkpoint that the text names, which nobody has read; None without one.
    """

    explanations: tuple[Explanation, ...]
    unknown: tuple[Unknown, ...] = ()
    location: str | None = None
