"""Text for the approval of the plans of a whole fleet: each query, its target, its effect, and the refusals; and what
came of the plans that were approved.

The text is Markdown, and bounded: effects that are not exact come first, so only what a person needs least is left out,
and the number of those is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.fleet.bookmarks import Refusal
from airflow_provider_ckpt.sinks.effects import EFFECTS
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: Of the whole text, of its list of refusals, and of one line.
MOST_CHARS, MOST_OF_REFUSALS, MOST_OF_LINE = 100_000, 30_000, 600
#: Of a location.
MOST_OF_NAME = 200


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The plan of one query.

    Args:
        checkpoint: Its location.
        index: Index of the task that made the plan.
        told: The return value of that task.
    """

    checkpoint: str
    index: int
    told: Mapping[str, Any]

    @property
    def has_steps(self) -> bool:
        """True if there is something to do."""
        return bool(self.told["actions"])

    @property
    def effect(self) -> str:
        """The worst effect on a sink."""
        return str(self.told["sink_effect"])


@dataclass(frozen=True, slots=True)
class JointPlan:
    """The plans of a fleet, as one person is to approve them.

    Args:
        planned: The plans, in the order of the queries.
        refused: Queries that are left alone.
        left_out: How many bookmarks are of queries that were not asked for.
    """

    planned: Sequence[PlannedQuery]
    refused: Sequence[Refusal]
    left_out: int = 0

    @property
    def to_do(self) -> list[PlannedQuery]:
        """The plans with steps, the worst effect on a sink first."""
        found = [query for query in self.planned if query.has_steps]
        return sorted(found, key=lambda query: -EFFECTS.index(query.effect))

    @property
    def already_there(self) -> list[PlannedQuery]:
        """The plans without steps."""
        return [query for query in self.planned if not query.has_steps]

    def headline(self) -> str:
        """How many queries go back, how many are there already, and how many are refused."""
        counted = [f"{len(self.to_do)} of {len(self.planned) + len(self.refused)} queries go back"]
        counted += [f"already there: {len(self.already_there)}"] if self.already_there else []
        counted += [f"refused: {len(self.refused)}"] if self.refused else []
        counted += [f"bookmarks of queries that were not asked for: {self.left_out}"] if self.left_out else []
        return f"{'; '.join(counted)}."

    def text(self) -> str:
        """Text for the person who approves."""
        steps = sum(query.told["actions"] for query in self.to_do)
        is_undo = any(query.told.get("kind") == "undo" for query in self.to_do)
        kept = "An undo cannot be undone" if is_undo else "What they remove is kept for `ckpt undo`"
        parts = [
            self._effects(),
            f"{self.headline()} The plans have {steps:,} steps. {kept}; every step is in the log of the task `plan` of "
            "its query, and all lines are in the log of `weigh`.",
        ]
        if self.refused:
            refused = _bounded((_refused_line(item) for item in self.refused), MOST_OF_REFUSALS)
            parts.append(f"**Refused, and left alone:**\n\n{refused}")
        rest = MOST_CHARS - sum(map(len, parts))
        parts.append(f"**What is to be done:**\n\n{_bounded(map(_planned_line, self.to_do), rest)}")
        parts.append("**Approve only when all these queries are stopped.**")
        return "\n\n".join(parts)

    def lines(self) -> Iterator[str]:
        """All of it, for a log."""
        yield self.headline()
        yield from map(_refused_line, self.refused)
        yield from map(_planned_line, self.to_do)
        yield from (f"{_code(query.checkpoint)}: is there already" for query in self.already_there)

    def _effects(self) -> str:
        counted = Counter(query.effect for query in self.to_do)
        if not set(counted) - {"exact"}:
            return "Sink effect: **exact** for every query. Nothing is lost, and nothing comes twice."
        shown = ", ".join(f"**{effect}** for {counted[effect]}" for effect in reversed(EFFECTS) if counted[effect])
        return f"Sink effect: {shown}. To approve is to accept that."


def refusal_text(refused: Sequence[Refusal], most: int = MOST_OF_REFUSALS) -> str:
    """Refusals and their reasons, one a line."""
    return _bounded(map(_refused_line, refused), most)


def _planned_line(query: PlannedQuery) -> str:
    told = query.told
    sinks = "; ".join(f"{item['effect']}: {item['sink']}. {item['remedy']}".strip() for item in told["sink_effects"])
    shown = f"**{query.effect}**" if query.effect == "exact" else f"**{query.effect}** ({sinks})"
    warnings = " ".join(told["warnings"])
    text = f"to batch {told['batch_id']} in {told['actions']} steps, plan {told['plan_id']}, {shown}"
    return f"{_code(query.checkpoint)}: {_plain(f'{text}. {warnings}' if warnings else text)}"


def _refused_line(refused: Refusal) -> str:
    return f"{_code(refused.what)}: {_plain(refused.reason)}"


def _bounded(lines: Iterable[str], most: int) -> str:
    """A list of as many lines as fit, and how many do not."""
    shown, length, left = [], 0, 0
    for line in lines:
        if left or length + len(line) + 3 > most:
            left += 1
        else:
            shown.append(f"* {line}")
            length += len(line) + 3
    return "\n".join([*shown, *([f"* … and {left:,} more, which are in the log of the task."] if left else [])])


def _code(name: str) -> str:
    """A name of others in Markdown, as it is spelled."""
    return f"`{_cut(visible(scrub(name)).replace('`', chr(39)), MOST_OF_NAME)}`"


def _plain(text: str) -> str:
    """A sentence of ours with names of others in it: one line, and no link and no picture."""
    return _cut(visible(text).translate(str.maketrans("[]<>`", "()()'")), MOST_OF_LINE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one plan.

    Args:
        checkpoint: Its location.
        plan_id: The plan.
        index: Index of the task that carries it out.
        problem: Why it was not carried out; empty when it was.
    """

    checkpoint: str
    plan_id: str
    index: int
    problem: str = ""


def outcomes(approved: Sequence[Mapping[str, Any]], told: Sequence[Any], errors: Sequence[Any]) -> tuple[Outcome, ...]:
    """Outcome of each plan, in their order.

    Args:
        approved: ``checkpoint`` and ``plan_id`` of each plan.
        told: The return value of each task, or None.
        errors: The error with which each task was refused (its XCom ``error``), or None.
    """
    return tuple(
        Outcome(item["checkpoint"], item["plan_id"], index, _problem(item, result, error))
        for index, (item, result, error) in enumerate(zip(approved, told, errors, strict=True))
    )


def _problem(item: Mapping[str, Any], result: Any, error: Any) -> str:
    if isinstance(result, Mapping) and result.get("plan_id") == item["plan_id"] and result.get("receipt"):
        return ""
    return reason_of(error) or "Its task has ended without an answer; its log may say why."


def reason_of(error: Any) -> str:
    """Reason for the refusal of a task, as a sentence, from its XCom ``error``; empty when there is none."""
    fields = error.get("error") if isinstance(error, Mapping) else None
    if not isinstance(fields, Mapping):
        return ""
    return " ".join(str(fields[key]) for key in ("message", "hint") if fields.get(key))


def trouble_text(found: Sequence[Outcome], task_id: str) -> str:
    """Failures with their next steps; one a line."""
    failed = [item for item in found if item.problem]
    refused = [
        Refusal(
            item.checkpoint,
            f"{item.problem} Clear {task_id} ({item.index}), which completes what was begun.",
        )
        for item in failed
    ]
    count = f"{len(found) - len(failed)} of {len(found)} queries are back, and {len(failed)} are not:"
    return f"{count}\n{refusal_text(refused)}"
