"""The command that moves the positions of a source: reset-offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.changes.reset.make import export_positions, make_reset
from airflow_provider_ckpt.cli.changes.in_place import acting, carry_out, fencing, planned_behind, read_own
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.files import read_text
from airflow_provider_ckpt.cli.options import (
    DURATION,
    SOURCE,
    TIME,
    TIMES,
    Whole,
    directories,
    examples,
    opening,
    pairs,
    triggered,
    with_kafka_config,
    with_sink,
)
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source, require_asked
from airflow_provider_ckpt.sources.goal import Goal, parse_goal
from airflow_provider_ckpt.sources.kafka.kafka_csv import MOST_CHARACTERS
from airflow_provider_ckpt.sources.kafka.strategies import parse_scope
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.resolve_goal import resolve_aim

#: Options that say where to go, by the name of their values.
_GOALS = {
    "earliest": "--to-earliest",
    "latest": "--to-latest",
    "current": "--to-current",
    "at_ms": "--to-datetime",
    "duration_ms": "--by-duration",
    "shift": "--shift-by",
    "offsets": "--to-offsets",
    "file": "--from-file",
    "version": "--to-version",
    "snapshot": "--to-snapshot",
    "skip_version": "--skip-version",
    "skip_snapshot": "--skip-snapshot",
}


@click.command(
    "reset-offsets",
    epilog=examples(
        "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --to-datetime 'now-2h' "
        "--sink kafka",
        "ckpt reset-offsets s3://lake/checkpoints/orders --source 0=kafka:broker:9092 --shift-by -1000 "
        "--topic orders:0,1 --plan-out reset.json",
        also=TIMES,
    ),
)
@click.argument("location", shell_complete=directories)
@click.option(
    "--source",
    type=SOURCE,
    metavar="ID=TYPE:PLACE",
    help="Source to move, by its id, and what it reads from, such as 0=kafka:host:9092 or 0=delta:URI.",
)
@click.option("--to-earliest", "earliest", is_flag=True, help="Move to the first offset that each partition still has.")
@click.option("--to-latest", "latest", is_flag=True, help="Move to the end of each partition.")
@click.option(
    "--to-current",
    "current",
    is_flag=True,
    help="Keep the positions. Only drop a batch in flight, and correct positions that the topics do not hold.",
)
@click.option(
    "--to-datetime",
    "at_ms",
    type=TIME,
    metavar="TIME",
    help="Move to the first record of each partition that is not older than this time, or else to its end. The time is "
    "that of the records; for what was processed since a time, see ckpt rollback --to-timestamp.",
)
@click.option(
    "--by-duration",
    "duration_ms",
    type=DURATION,
    metavar="DURATION",
    help="Move to the first record of each partition that is not older than this, such as 36h; a plain number is "
    "seconds.",
)
@click.option(
    "--shift-by",
    "shift",
    type=Whole(),
    metavar="OFFSETS",
    help="Move by so many offsets, such as 100 or -100; a negative number goes back.",
)
@click.option(
    "--to-offsets",
    "offsets",
    metavar="JSON|OFFSET",
    help='Move to these offsets, such as {"orders": {"0": 5}}, in which -2 is the earliest and -1 the latest; or to '
    "one offset in every partition.",
)
@click.option(
    "--from-file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Move to the offsets in this file: lines topic,partition,offset, as --export and kafka-consumer-groups write "
    "them.",
)
@click.option(
    "--to-version",
    "version",
    type=Whole(min=0),
    metavar="VERSION",
    help="Move a Delta source to the end of this version of its table: the next batch begins with the one after it.",
)
@click.option(
    "--to-snapshot",
    "snapshot",
    type=Whole(min=0),
    metavar="SNAPSHOT",
    help="Move an Iceberg source to the end of this snapshot of its table, by its id: the next batch begins with the "
    "one after it.",
)
@click.option(
    "--skip-version",
    "skip_version",
    type=Whole(min=0),
    metavar="VERSION",
    help="Skip this version of a Delta table, at which the query stops, and no other. The query must have read all "
    "that comes before it.",
)
@click.option(
    "--skip-snapshot",
    "skip_snapshot",
    type=Whole(min=0),
    metavar="SNAPSHOT",
    help="Skip this snapshot of an Iceberg table, by its id, at which the query stops, and no other. The query must "
    "have read all that comes before it.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:PARTITIONS]",
    help="Move this topic only, or these of its partitions, such as orders:0,1. By default all that the offset log "
    "has. Can be given more than once.",
)
@click.option("--export", "exported", is_flag=True, help="Print the new offsets as CSV, and change nothing.")
@with_kafka_config
@with_sink
@click.option(
    "--state-will-see-rows-again",
    "state_sees_rows_again",
    is_flag=True,
    help="Confirm that the state of the query may count a row twice when it is read twice. A reset does not move "
    "state.",
)
@triggered
@fencing
@acting
def reset_offsets(
    location: str,
    source: Source | None,
    topics: tuple[str, ...],
    exported: bool,
    kafka_config: tuple[str, ...],
    sink: str | None,
    state_sees_rows_again: bool,
    trigger: str | None,
    undo_root: str | None,
    storage_options: tuple[str, ...],
    plan_file: str | None,
    earliest: bool,
    latest: bool,
    current: bool,
    at_ms: int | None,
    duration_ms: int | None,
    shift: int | None,
    offsets: str | None,
    file: str | None,
    version: int | None,
    snapshot: int | None,
    skip_version: int | None,
    skip_snapshot: int | None,
    fence: bool,
    wait_s: float,
    **how: Any,
) -> None:
    """Move the positions of a source, in place. ckpt undo takes it back.

    Give --source and exactly one target (--to-…, --by-duration, --shift-by, --from-file or --skip-…), as with
    kafka-consumer-groups; or give --plan. An offset that its partition does not hold becomes the nearest one that it
    holds. A batch in flight is dropped first, and kept for ckpt undo.
    """
    require_consistent(how["plan_out"], how["approved_by"], execute=how["execute"])
    opener = opening(storage_options)
    goals: dict[str, Any] = {
        "earliest": earliest,
        "latest": latest,
        "current": current,
        "at_ms": at_ms,
        "duration_ms": duration_ms,
    }
    goals |= {"shift": shift, "offsets": offsets, "file": file, "version": version}
    goals |= {"snapshot": snapshot, "skip_version": skip_version, "skip_snapshot": skip_snapshot}
    if plan_file:
        others = {"--source": source, "--topic": topics, "--export": exported, "--sink": sink}
        others |= {
            "--trigger": trigger,
            "--fence": fence or None,
            "--kafka-config": kafka_config,
            "--state-will-see-rows-again": state_sees_rows_again or None,
        }
        said = {_GOALS[name]: value if value is not False else None for name, value in goals.items()}
        require_alone("--plan", {**said, **others, "--export": exported or None})
        carry_out(*read_own(plan_file, "reset", Stores.of(location, opener, undo=undo_root)), opener, **how)
        return
    goal = _goal(goals)
    declared = _asked(source)
    source_id = declared.id or ""
    try:
        scope = parse_scope(topics)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--topic") from None
    declared_sink = parse_sink(sink) if sink else None
    stores = Stores.of(location, opener, sink=declared_sink, undo=undo_root)
    access = Access(opener, stores.checkpoint, dict(pairs(kafka_config, "--kafka-config")), "--source ")
    aim = resolve_aim(declared, goal, scope, access)
    if exported:
        if how["execute"] or how["plan_out"] or how["as_json"]:
            raise click.UsageError("--export only prints offsets, so leave out --execute, --plan-out and --json")
        click.echo(export_positions(stores, source_id, aim), nl=False)
        return
    told: dict[str, Any] = {"sink": declared_sink, "state_sees_rows_again": state_sees_rows_again, "trigger": trigger}

    def make(fenced: bool) -> Plan:
        return make_reset(stores, source_id, aim, fenced=fenced, **told)

    plan, _ = planned_behind(make, stores, fence=fence, wait_s=wait_s, trigger=trigger, how=how)
    carry_out(plan, stores, opener, **how)


def _goal(goals: dict[str, Any]) -> Goal:
    """Where to. Raises a usage error, also for a file of offsets that cannot be read."""
    file = goals.pop("file")
    try:
        csv = None if file is None else read_text(Path(file), MOST_CHARACTERS)
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{file} cannot be read: {error}", param_hint="--from-file") from None
    try:
        return parse_goal(csv=csv, called={**_GOALS, "csv": _GOALS["file"]}, **goals)
    except ValueError as error:
        option = "--to-offsets" if goals["offsets"] is not None else "--from-file" if csv is not None else ""
        if option and "exactly one" not in str(error):
            raise click.BadParameter(str(error), param_hint=option) from None
        raise click.UsageError(f"{error}; or give --plan FILE") from None


def _asked(source: Source | None) -> Source:
    """The source, with what it reads from. Raises a usage error."""
    if source is None:
        raise click.UsageError("give --source ID=TYPE:PLACE, such as 0=kafka:host:9092, or --plan FILE")
    try:
        require_asked(source)
    except CheckpointError as error:
        raise click.BadParameter(str(error), param_hint="--source") from None
    return source
