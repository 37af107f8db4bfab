"""Asking an engine about the runs of an application, and waiting for their end. Silence is never taken for an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.engines.engine import Engine
from airflow_provider_ckpt.engines.run import Presence, Run, Seen
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.running.find_unit import Unit
from airflow_provider_ckpt.times import duration_text


@dataclass(frozen=True, slots=True)
class Patience:
    """How long runs are waited for.

    Args:
        end_within_s: Seconds within which runs that were asked to end have to end.
        poll_s: Seconds between two questions.
        again_s: Seconds after which a run is asked to end again.
        now: A clock.
        sleep: Waits.
    """

    end_within_s: float = 300.0
    poll_s: float = 1.0
    again_s: float = 5.0
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def see(unit: Unit, engine: Engine, known: Collection[str], *, written_off: bool = False) -> Seen:
    """The runs of an application.

    Args:
        unit: The application.
        engine: Where it runs.
        known: Ids of the runs that have to be accounted for.
        written_off: A person knows that those of them have ended of which the engine does not say what they are.

    Raises:
        EngineUnknownError: It is not known which runs there are.
    """
    try:
        seen = engine.look(tuple(known))
    except EngineError as error:
        raise error.at(unit.location) from None
    if written_off:
        there = {run.id for run in seen.runs if run.presence in (Presence.LIVE, Presence.ENDED)}
        seen = replace(seen, runs=tuple(run for run in seen.runs if run.id in there or run.id not in known))
        known = [run_id for run_id in known if run_id in there]
    why = seen.unknown(tuple(known))
    live = seen.of(Presence.LIVE)
    if why is None and len(live) > 1 and any(run.generation is None for run in live):
        why = f"the runs {', '.join(run.id for run in live)} are there at once, and not all were started by ckpt"
    if why is not None:
        raise EngineUnknownError(
            f"the engine {unit.declared.name} does not say which runs of {unit.name} are there: {why}.",
            location=unit.location,
            hint="Nothing was done, and nothing was taken for stopped. See in the engine itself which runs there are, "
            f"and run the same command again; where you know that no run is there, ckpt start {unit.name} --execute "
            "--i-know-it-is-stopped writes off what it does not know.",
        )
    return seen


def never() -> bool:
    """Nothing is in vain."""
    return False


def end_all(
    unit: Unit,
    engine: Engine,
    known: Collection[str],
    patience: Patience,
    *,
    in_vain: Callable[[], bool] = never,
    tell: Tell = silent,
) -> tuple[Run, ...]:
    """End every run of an application, also one that the engine begins meanwhile.

    Args:
        unit: The application.
        engine: Where it runs.
        known: Ids of the runs that have to be accounted for.
        patience: How long is waited.
        in_vain: Asked while a run is there: whether it has passed what it was to stop at.
        tell: Told what is being waited for.

    Returns:
        All runs, once two answers that are as far apart as the engine's restart have none that is there; or as they
        are when it is in vain.

    Raises:
        EngineUnknownError: Not so within the time, or the engine does not answer until then.
    """
    until = patience.now() + patience.end_within_s
    names, asked, quiet_since = dict.fromkeys(known), dict[str, float](), None
    tell(f"Waiting up to {duration_text(patience.end_within_s * 1000)} until every run of {unit.name} has ended.")
    while True:
        problem: EngineUnknownError | None = None
        try:
            seen = engine.look(tuple(names))
            names |= dict.fromkeys(run.id for run in seen.runs)
            if seen.of(Presence.LIVE) and in_vain():
                return seen.runs
            for run in seen.of(Presence.LIVE):
                if patience.now() - asked.get(run.id, float("-inf")) >= patience.again_s:
                    asked[run.id] = patience.now()
                    engine.end(run)
            why = seen.unknown(tuple(names)) or next(
                (f"the run {run.id} is {run.native or 'there'}" for run in seen.of(Presence.LIVE)), None
            )
        except EngineUnknownError as error:
            why, problem = error.message, error
        if why is not None:
            quiet_since = None
        elif quiet_since is None:
            quiet_since = patience.now()
        elif patience.now() - quiet_since >= engine.settle_s:
            return seen.runs
        if patience.now() >= until:
            raise EngineUnknownError(
                f"not every run of {unit.name} has ended within {duration_text(patience.end_within_s * 1000)}: {why}.",
                location=unit.location,
                hint="Its end was asked for; run the same command again, which goes on.",
            ) from problem
        patience.sleep(patience.poll_s if quiet_since is None else min(patience.poll_s, engine.settle_s))
