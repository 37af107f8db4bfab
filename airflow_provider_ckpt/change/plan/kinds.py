"""The kinds of plans: what a plan of each must say, which module carries it out, and which command makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.change.plan.actions import (
    Action,
    Clear,
    Close,
    Copy,
    Create,
    Delete,
    Open,
    Repartition,
    Replace,
)
from airflow_provider_ckpt.change.plan.requirements import (
    EmptyLocation,
    Fenced,
    FromBackup,
    KeptObjects,
    KeptSinkLog,
    LatestCommitted,
    LatestPlanned,
    Requirement,
    SameQuery,
    WriterStopped,
)
from airflow_provider_ckpt.documents.plans import Kind

__all__ = ["KINDS", "Kind", "Rules", "command_of"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for every plan of a kind.

    Args:
        requires: Requirements that it must have.
        may_require: Requirements that it may have as well.
        steps: The actions that it may have.
        executor: The module of the class ``Executor`` that carries it out in place, below the package; empty for a plan
            that writes to a new location.
        called: Name of a plan in sentences; empty where that is its kind.
        command: Name of the command that makes it; empty where that is its kind.
        can_be_undone: True if ``ckpt undo`` takes it back.
        takes_back: True if it takes another plan back, and so names it.
        takes_from_backups: True if the source that its copies name is a root of backups.
        puts_back_own: True if it may put back what it removes itself: that copy names no source and follows the delete.
        replaces: True if it may remove an object and write another one under the same name.
        moves_own: True if its copies name objects of the checkpoint itself, which come to another place.
        keeps_in_flight: True if it leaves a batch in flight planned, for the next query to run.
        adds_batch: True if it adds a batch after those that are there, and leaves all of them alone.
        is_passed: True if it is over when a query has run on: then there is nothing to take back.
    """

    requires: tuple[type[Requirement], ...]
    may_require: tuple[type[Requirement], ...]
    steps: tuple[type[Action], ...]
    executor: str = ""
    called: str = ""
    command: str = ""
    can_be_undone: bool = False
    takes_back: bool = False
    takes_from_backups: bool = False
    puts_back_own: bool = False
    replaces: bool = False
    moves_own: bool = False
    keeps_in_flight: bool = False
    adds_batch: bool = False
    is_passed: bool = False

    @property
    def in_place(self) -> bool:
        """True if it changes the checkpoint at its location, instead of making one there from its source."""
        return bool(self.executor)


KINDS: Mapping[Kind, Rules] = {
    "restore": Rules(
        requires=(EmptyLocation,),
        may_require=(FromBackup, KeptSinkLog),
        steps=(Copy, Create),
        takes_from_backups=True,
    ),
    "rollback": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
        may_require=(KeptSinkLog, FromBackup, Fenced),
        steps=(Close, Delete, Copy, Open),
        executor="changes.rollback.make",
        can_be_undone=True,
        takes_from_backups=True,
        puts_back_own=True,
    ),
    "undo": Rules(
        requires=(SameQuery, KeptObjects, WriterStopped),
        may_require=(LatestCommitted, LatestPlanned, KeptSinkLog, FromBackup),
        steps=(Close, Delete, Copy, Replace, Open),
        executor="change.undo.put_back",
        takes_back=True,
        replaces=True,
    ),
    "repartition": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
        may_require=(KeptSinkLog,),
        steps=(Repartition, Create),
        executor="changes.repartition.repartition",
        can_be_undone=True,
        adds_batch=True,
    ),
    "reset": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
        may_require=(Fenced,),
        steps=(Close, Delete, Replace, Open),
        executor="changes.reset.make",
        command="reset-offsets",
        can_be_undone=True,
    ),
    "salvage": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
        may_require=(KeptSinkLog, FromBackup),
        steps=(Close, Delete, Clear, Copy, Create, Open),
        executor="changes.salvage.make",
        can_be_undone=True,
        takes_from_backups=True,
        puts_back_own=True,
        replaces=True,
        keeps_in_flight=True,
    ),
    "seed": Rules(requires=(EmptyLocation,), may_require=(), steps=(Create,)),
    "fence": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned),
        may_require=(),
        steps=(Create,),
        can_be_undone=True,
        is_passed=True,
    ),
    "sources": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, WriterStopped),
        may_require=(Fenced,),
        steps=(Close, Delete, Copy, Replace, Open),
        executor="changes.sources.make",
        called="change of sources",
        can_be_undone=True,
        replaces=True,
        moves_own=True,
        keeps_in_flight=True,
    ),
    "repair": Rules(
        requires=(SameQuery, LatestCommitted, LatestPlanned, KeptObjects, KeptSinkLog, WriterStopped),
        may_require=(),
        steps=(Delete, Create, Replace),
        executor="changes.repair.make",
        can_be_undone=True,
        keeps_in_flight=True,
        takes_from_backups=True,
    ),
}


def command_of(kind: Kind) -> str:
    """The name of the command that makes a plan of a kind, such as ``reset-offsets``."""
    return KINDS[kind].command or kind


def with_article(kind: Kind) -> str:
    """The name of a plan in sentences with its article: ``a rollback``, ``an undo``."""
    name = KINDS[kind].called or kind
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
