"""Checks that the state of a query stays with its operators when the sources change.

Spark numbers stateful operators by their place in the plan, and finds the state of each by its number alone. Which
operator reads which source is in no file. So a change is allowed where no operator can come to the state of another
one: with one operator that is no join always, else only as far as the order of the sources and what is said of the
next query's operators prove it.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.changes.sources.source_change import SourceChange, is_position
from airflow_provider_ckpt.errors import PlanError

JOIN = "symmetricHashJoin"
_HINT = (
    "Nothing was done. Keep the sources and their order for this query, or start it with a new checkpoint location, "
    "where ckpt seed gives its sources the positions that they have here."
)


@dataclass(frozen=True, slots=True)
class Operators:
    """The stateful operators of a checkpoint.

    Args:
        count: How many have state.
        names: Spark's names of them, by operator id; None where one of them does not say (before Spark 4.0).
        joins: True if an operator is, or may be, a join of two streams.
    """

    count: int = 0
    names: tuple[str, ...] | None = ()
    joins: bool = False

    @property
    def text(self) -> str:
        """The operators in words."""
        return ", ".join(self.names) if self.names else f"{self.count} of which no file tells the names"


#: A query without state.
STATELESS = Operators()


def require_kept_state(change: SourceChange, ids: tuple[str, ...], operators: Operators, location: str) -> None:
    """Require that every operator of the next query finds its own state. Raises PlanError, which says why it may not.

    Args:
        change: The source that each new source continues.
        ids: The sources of the checkpoint.
        operators: The operators with state.
        location: Location of the checkpoint.
    """
    if not operators.count:
        return
    problem = _other_operators(change, operators) or _shifted(change, ids, operators)
    if problem:
        raise PlanError(f"the query has state, and {problem}.", location=location, hint=_HINT)


def _other_operators(change: SourceChange, operators: Operators) -> str:
    """Problem of the declared operators."""
    if change.operators is None:
        return ""
    if operators.names is None:
        return "no file tells the names of its operators, so that those of the next query cannot be compared"
    if change.operators != operators.names:
        now = ", ".join(change.operators) or "none"
        return f"its operators are {operators.text}, while the next query has {now}"
    return ""


def _shifted(change: SourceChange, ids: tuple[str, ...], operators: Operators) -> str:
    """Why an operator may come to the state of another one; empty where none can."""
    if operators.count == 1 and not operators.joins:
        return ""
    if _only_names(change, ids):
        return ""
    twice = operators.names is not None and len({*operators.names}) < operators.count
    what = "a join of two streams" if operators.joins else f"{operators.count} stateful operators"
    if operators.names is None:
        return f"it has {what}, of which no file tells the names: a source may come to another operator"
    if change.operators is None:
        said = " ".join(f"--operator {name}" for name in operators.names)
        return f"it has {what} ({operators.text}): say that the next query has the same ones, in Spark's order ({said})"
    if not (operators.joins or twice):
        return ""
    which = "the sides of the join" if operators.joins else "operators of one name"
    if change.dropped:
        return f"it has {what}: without source {change.dropped[0]}, {which} may change places"
    if change.copied:
        return f"it has {what}: with source {change.copied[0]} read more than once, {which} may change places"
    if not _keeps_order(change, ids):
        return f"it has {what}: when sources change places, {which} may change places with them"
    return ""


def _only_names(change: SourceChange, ids: tuple[str, ...]) -> bool:
    """True if the plan of the query stays as it is, and only names of its sources change, if anything."""
    olds = [old for _, old in change.continued]
    if change.dropped or None in olds or sorted(filter(None, olds)) != sorted(ids):
        return False
    swapped = any(new in ids and new != old for new, old in change.continued)
    return (change.named and not swapped) or (tuple(olds) == ids and all(map(is_position, ids)))


def _keeps_order(change: SourceChange, ids: tuple[str, ...]) -> bool:
    """True if the sources that go on come in the order in which they were; names have none that a file tells."""
    if change.named:
        return not any(new in ids and new != old for new, old in change.continued)
    olds = [old for _, old in change.continued if old is not None]
    return all(map(is_position, ids)) and olds == sorted(olds, key=int)
