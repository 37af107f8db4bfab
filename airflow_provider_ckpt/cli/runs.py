"""The commands that are about where a query runs: status, stop, hold, start and deploy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.options import (
    DURATIONS,
    PAUSE,
    breaking_lock,
    command,
    executing,
    opening,
    option,
    shared,
    together,
    user_and_host,
)
from airflow_provider_ckpt.cli.query_names import declared_file, declared_storage
from airflow_provider_ckpt.cli.render import print_json, say
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.engines.open_engine import open_engine
from airflow_provider_ckpt.errors import EngineUnknownError, NotBetweenBatchesError
from airflow_provider_ckpt.fleet.read_query_file import read_deploy
from airflow_provider_ckpt.running.deploy_query import DeployRequest, deploy_query
from airflow_provider_ckpt.running.find_status import Status, find_status, may_be_first, start_steps, stop_steps
from airflow_provider_ckpt.running.find_unit import Unit, find_unit
from airflow_provider_ckpt.running.read_application import read_application
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, interrupts, stop_query
from airflow_provider_ckpt.running.take_backups import back_up, backup_steps
from airflow_provider_ckpt.sinks.effects import EFFECTS

if TYPE_CHECKING:
    from airflow_provider_ckpt.engines.engine import Engine
    from airflow_provider_ckpt.running.receipt import StartReceipt, StopReceipt

_interrupting = together(
    option(
        "--interrupt-batch",
        "End it also where no fence is possible: a batch stays in flight, which the next start runs again.",
    ),
    option(
        "--wait-for-batch DURATION",
        "How long the fence waits for the commit of a batch in flight, such as 10m; a plain number is seconds. By "
        "default what the query file declares, or 1m.",
        type=PAUSE,
    ),
)
_starting = together(
    option("--no-gate", "Do not judge the restart first."),
    option(
        "--commit-within DURATION",
        "How long the first commit is waited for, such as 5m; a plain number is seconds. By default what the query "
        "file declares, or 10m.",
        type=PAUSE,
    ),
    option("--not-started", "Confirm that a start which was interrupted has begun no run."),
)


@command("ckpt status orders", "ckpt status orders --json")
@click.argument("name")
@shared
def status(name: str, storage_options: tuple[str, ...], as_json: bool) -> int:
    """Show where a query runs, as its engine says.

    Exit code 5 when the engine does not say which runs there are: that is taken neither for live nor for stopped.
    """
    unit, engine = _opened(name, storage_options)
    found = find_status(unit, engine)
    if as_json:
        print_json({"format_version": FORMAT_VERSION, "status": found.to_dict()})
    else:
        _show_status(found)
    return 5 if found.state == "unknown" else 0


@command("ckpt stop orders", "ckpt stop orders --execute --wait-for-batch 5m", also=DURATIONS)
@click.argument("name")
@_interrupting
@breaking_lock
@executing
@shared
def stop(
    name: str,
    interrupt_batch: bool,
    wait_for_batch: float | None,
    storage_options: tuple[str, ...],
    *,
    break_lock: bool,
    execute: bool,
    as_json: bool,
) -> int:
    """Stop a query between two batches, where it runs.

    It is fenced, ended at once, and seen twice to have ended. The receipt takes the place of --i-know-it-is-stopped
    in every change. Exit code 4 when it cannot be stopped between two batches, or has ended by itself inside one; 5
    when the engine does not say which runs there are.
    """
    request = StopRequest(interrupt_batch=interrupt_batch, wait_for_batch=wait_for_batch)
    return _stopped(name, request, storage_options, break_lock=break_lock, execute=execute, as_json=as_json)


@command("ckpt hold orders", "ckpt hold orders --execute", also=DURATIONS)
@click.argument("name")
@breaking_lock
@executing
@shared
def hold(name: str, storage_options: tuple[str, ...], *, break_lock: bool, execute: bool, as_json: bool) -> int:
    """Stop a query and close its checkpoint until ckpt start.

    For what restarts a query and cannot be kept from it: no Spark starts from a closed checkpoint, and none changes it.
    A batch in flight is interrupted, which the receipt says and the next start runs again; ckpt stop waits for it.
    """
    request = StopRequest(hold=True, interrupt_batch=True)
    return _stopped(name, request, storage_options, break_lock=break_lock, execute=execute, as_json=as_json)


@command("ckpt start orders", "ckpt start orders --execute --commit-within 5m", also=DURATIONS)
@click.argument("name")
@_starting
@option("--i-know-it-is-stopped", "Confirm that no run is there, in place of the receipt of a stop.", "is_stopped")
@breaking_lock
@executing
@shared
def start(
    name: str,
    no_gate: bool,
    commit_within: float | None,
    not_started: bool,
    is_stopped: bool,
    storage_options: tuple[str, ...],
    *,
    break_lock: bool,
    execute: bool,
    as_json: bool,
) -> int:
    """Start a query that is proven to be stopped.

    Its first commit is waited for. Exit code 1 when it does not commit in time: it goes on, and the same command
    waits again.
    """
    unit, engine = _opened(name, storage_options)
    before = find_status(unit, engine)
    steps = start_steps(unit, before)
    if not execute:
        return _planned(before, steps, as_json=as_json, is_first=may_be_first(before))
    receipt = start_query(
        unit,
        engine,
        read_application(unit),
        StartRequest(
            query_is_stopped=is_stopped, not_started=not_started, commit_within=commit_within, gate=not no_gate
        ),
        by=user_and_host(),
        break_lock=break_lock,
        tell=_tell,
    )
    _report(before, steps, started=receipt, as_json=as_json)
    return _exit_code(receipt)


@command("ckpt deploy orders", "ckpt deploy orders --execute --accept-sink unknown", also=DURATIONS)
@click.argument("name")
@_interrupting
@_starting
@option(
    "--accept-sink",
    "Effect on the sink that the rollback may have, should the new version fail. Can be given more than once.",
    multiple=True,
    type=click.Choice(EFFECTS),
)
@breaking_lock
@executing
@shared
def deploy(
    name: str,
    interrupt_batch: bool,
    wait_for_batch: float | None,
    no_gate: bool,
    commit_within: float | None,
    not_started: bool,
    accept_sink: tuple[str, ...],
    storage_options: tuple[str, ...],
    *,
    break_lock: bool,
    execute: bool,
    as_json: bool,
) -> int:
    """Deploy what the query file declares, with the way back.

    Gate, backup (where the query file says where backups are), stop, start, first commit; and where that does not
    come, the way back. The way back stops the new version, rolls back to the batch before it, and starts the version
    that was recorded before. Exit code 1 when the new version has failed.
    """
    unit, engine = _opened(name, storage_options)
    before = find_status(unit, engine)
    request = StopRequest(interrupt_batch=interrupt_batch, wait_for_batch=wait_for_batch)
    steps = (*backup_steps(unit), *_stop_steps(unit, before, request), *start_steps(unit, before))
    if not execute:
        return _planned(before, steps, as_json=as_json)
    done = deploy_query(
        unit,
        engine,
        read_application(unit),
        DeployRequest(
            stop=request,
            start=StartRequest(not_started=not_started, commit_within=commit_within, gate=not no_gate),
            accept_sink=accept_sink,
        ),
        by=user_and_host(),
        break_lock=break_lock,
        tell=_tell,
        back_up=lambda: back_up(unit, tell=_tell),
    )
    _report(before, steps, stopped=done.stopped, started=done.started, back=done.back, as_json=as_json)
    return _exit_code(done.started)


def _opened(name: str, storage_options: tuple[str, ...]) -> tuple[Unit, Engine]:
    file = declared_file()
    opener = opening((*declared_storage(file, storage_options), *storage_options))
    unit = find_unit(file, name, opener, lambda query: read_deploy(query, opener))
    return unit, open_engine(unit.declared, unit.name)


def _stopped(
    name: str,
    request: StopRequest,
    storage_options: tuple[str, ...],
    *,
    break_lock: bool,
    execute: bool,
    as_json: bool,
) -> int:
    unit, engine = _opened(name, storage_options)
    before = find_status(unit, engine)
    if not execute:
        steps = _stop_steps(unit, before, request)
        return _planned(before, steps, as_json=as_json)
    receipt = stop_query(unit, engine, request, by=user_and_host(), break_lock=break_lock, tell=_tell)
    _report(before, (), stopped=receipt, as_json=as_json)
    if not receipt.between_batches and not interrupts(unit, request):
        return NotBetweenBatchesError.exit_code
    return 0


def _stop_steps(unit: Unit, before: Status, request: StopRequest) -> tuple[str, ...]:
    if before.state == "unknown":
        return ()
    return stop_steps(unit, before, hold=request.hold, interrupt_batch=request.interrupt_batch)


def _planned(before: Status, steps: Sequence[str], *, as_json: bool, is_first: bool = False) -> int:
    """Show what would be done: nothing while it is not known which runs there are."""
    is_known = before.state != "unknown" or is_first
    _report(before, steps if is_known else (), as_json=as_json)
    return 0 if is_known else EngineUnknownError.exit_code


def _exit_code(started: StartReceipt) -> int:
    return 0 if started.is_good else 1


def _tell(text: str) -> None:
    say(text, err=True)


# --- output ----------------------------------------------------------------------------------------------------------


def _report(
    before: Status,
    steps: Sequence[str],
    *,
    stopped: StopReceipt | None = None,
    started: StartReceipt | None = None,
    back: StartReceipt | None = None,
    as_json: bool,
) -> None:
    is_done = stopped is not None or started is not None
    if as_json:
        print_json(
            {
                "format_version": FORMAT_VERSION,
                "status": before.to_dict(),
                "steps": list(steps),
                "executed": is_done,
                "stop": None if stopped is None else stopped.to_dict(),
                "start": None if started is None else started.to_dict(),
                "back": None if back is None else back.to_dict(),
            }
        )
        return
    if not is_done:
        _show_status(before)
        for step in steps:
            say(f"  {step}")
        say("Nothing was changed. Add --execute to carry it out.")
    if stopped is not None:
        _show_stop(stopped)
    if started is not None:
        _show_start(started)
    if back is not None:
        say("The version before was started again.", bold=True)
        _show_start(back)


def _show_status(found: Status) -> None:
    said = {
        "live": "runs",
        "stopped": "is stopped, which is proven",
        "ended": "has no run that is there; ckpt stop makes the proof that it is stopped",
        "unknown": f"may run or not: {found.unknown}",
    }
    say(f"{found.name} {said[found.state]} (engine {found.engine}, restarts: {found.restarts.value}).", bold=True)
    for run in found.runs:
        ui = f", {run.ui}" if run.ui else ""
        start_of = "" if run.generation is None else f", start {run.generation}"
        say(f"  run {run.id}: {run.presence.value} ({run.native or 'no state'}{start_of}{ui})")
    for query in found.queries:
        flight = "" if query.in_flight is None else f", batch {query.in_flight} in flight"
        closed = {None: "", "fence": ", fenced", "held": ", held"}[query.fenced]
        say(f"  {query.query}: batch {query.batch_id}{flight}{closed} ({query.location})")


def _show_stop(receipt: StopReceipt) -> None:
    how = "between two batches" if receipt.between_batches else "with a batch in flight"
    say(f"{receipt.name} is stopped {how}.", bold=True)
    for query in receipt.queries:
        flight = "" if query.in_flight is None else f"; batch {query.in_flight} is in flight"
        closed = "; its checkpoint is held" if query.held else "; fenced" if query.fence else ""
        say(f"  {query.query}: newest committed batch {query.batch_id}{flight}{closed}")
    for run in receipt.runs:
        say(f"  run {run.id}: {run.native or run.presence.value}")


def _show_start(receipt: StartReceipt) -> None:
    if receipt.committed:
        say(f"{receipt.name} was started as {receipt.token}, and has committed.", bold=True)
    elif receipt.waits_for_data:
        say(f"{receipt.name} was started as {receipt.token}, and runs. It has committed nothing:", bold=True)
        say("  its declared sources have nothing unread, so that its first commit was not seen.")
    else:
        say(f"{receipt.name} was started as {receipt.token}: {receipt.problem}.", bold=True)
    for query, batch_id in receipt.batches.items():
        say(f"  {query}: newest committed batch {batch_id}, before {receipt.from_batches.get(query)}")
