"""What a person can ask of an undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.change.option import Downstream, Opt, TriggerOf
from airflow_provider_ckpt.query.sink import Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest:
    """Which change is taken back."""

    sink: Annotated[
        Sink | None,
        Opt("--sink TYPE[:URI]", "Sink of the query. By default the one that was declared for the change.", "sink"),
    ] = None
    undoes: Annotated[
        str | None,
        Opt(
            "--undoes PLAN_ID",
            "Undo this change, as ckpt history names it, and no other. Refused when a later one has to be undone "
            "first; nothing is done when it is undone already, so a script may say it twice.",
        ),
    ] = None
    downstream: Downstream = ()
    trigger: TriggerOf = None
