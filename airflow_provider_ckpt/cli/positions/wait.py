"""``ckpt wait``: wait for committed progress in a shell or a pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.cli.options import (
    DURATION,
    PAUSE,
    TIME,
    TIMES,
    Whole,
    command,
    directories,
    open_store,
    option,
    pairs,
    shared,
    triggered,
    units_or_ms,
    with_kafka_config,
    with_sources,
)
from airflow_provider_ckpt.cli.positions.source_options import declared_options
from airflow_provider_ckpt.cli.render import Bar, print_json, say, waiting_bar
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.storage.requests import answer_from, drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.waiting import Condition, SourceEnds, all_of, any_of, condition_from_dict
from airflow_provider_ckpt.waiting.poll import Poller, why_absent, why_quiet, with_offsets
from airflow_provider_ckpt.waiting.wait import Lost, Reached, TimedOut, Waiting, outcome

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.progress import Progress
    from airflow_provider_ckpt.documents.waits import WaitDocument
    from airflow_provider_ckpt.query.source_options import QueryOptions
    from airflow_provider_ckpt.waiting.foreseen import Foreseen

_SOURCE_HELP = (
    "Type of a source by its id, such as 0=kafka; --offsets needs it. --caught-up, --until and --lag also need what it "
    "reads from: 0=kafka:host:9092, 0=delta:URI, 0=iceberg:URI, 0=file:DIRECTORY. Can be given more than once."
)


@command(
    "ckpt wait s3://lake/checkpoints/orders --batch 41 --timeout PT1H",
    "ckpt wait s3://lake/checkpoints/orders --caught-up --source 0=kafka:broker:9092",
    also=TIMES,
)
@click.argument("location", shell_complete=directories)
@option("--batch BATCH_ID", "Wait until this batch, or a later one, is committed.", "batch_id", type=Whole(min=0))
@option("--next-batch", "Wait until a batch is committed that began after now.")
@option("--watermark TIME", "Wait until the watermark of a committed batch has reached this time.", type=TIME)
@option(
    "--offsets JSON",
    'Wait until each source has reached its offsets, by source id, such as {"0": {"topic": {"0": 5}}}.',
)
@option("--caught-up", "Wait until every record that is in the sources now is committed.")
@option("--until TIME", "Wait until every record that was in the sources at this time is committed.", type=TIME)
@option(
    "--lag LAG",
    "Wait until the query is behind its sources by at most this duration with a unit (5m, PT5M) or this number of "
    "records (1000).",
)
@option(
    "--idle DURATION",
    "Wait until all planned batches are committed and nothing was committed for this long, such as 10m; a plain number "
    "is seconds.",
    type=DURATION,
)
@option(
    "--stalled DURATION",
    "Wait until nothing was committed for this long, whatever the reason, such as 30m; a plain number is seconds.",
    type=DURATION,
)
@option(
    "--condition JSON",
    'Wait for a condition in JSON, such as {"condition": "batch", "batch_id": 5}. Can be given more than once.',
    "spelled",
    multiple=True,
)
@option("--any", "End when one of the conditions is met. By default all must be met.", "one_is_enough")
@with_sources(_SOURCE_HELP)
@option(
    "--source-option ID.KEY=VALUE",
    "Option of a Kafka source, such as 0.maxOffsetsPerTrigger=1000: the wait then says how many batches are left, and "
    "ends when the query ends too early. Can be given more than once.",
    "source_options",
    multiple=True,
)
@triggered
@with_kafka_config
@option(
    "--timeout DURATION",
    "End with exit code 1 after this time, such as 36h or PT1H; a plain number is seconds.",
    type=DURATION,
)
@option("--deadline TIME", "End with exit code 1 at this time, such as now+2h.", type=TIME)
@option(
    "--poll-interval DURATION",
    "Usual pause between two polls of the storage, such as 5s; a plain number is seconds. ckpt polls sooner when the "
    "condition is nearly met.",
    default="5s",
    type=PAUSE,
)
@option(
    "--fail-fast",
    "End with exit code 4 when the condition cannot be met in the present state. By default that is a warning.",
)
@shared
def wait(
    location: str,
    sources: dict[str, Source],
    source_options: tuple[str, ...],
    trigger: str | None,
    kafka_config: tuple[str, ...],
    timeout: int | None,
    deadline: int | None,
    poll_interval: float,
    one_is_enough: bool,
    fail_fast: bool,
    storage_options: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Wait for committed progress. Several conditions must all be met, unless --any is given.

    Exit code 0: the condition is met. 1: it was not met before the deadline. 4: it cannot be met any more, because the
    checkpoint was replaced or rolled back below the batch at which the wait began, or a run with --trigger availableNow
    or once has ended before; with --fail-fast also when it cannot be met in the present state. 5: the storage did not
    answer at the deadline.
    """
    kafka_config = _answering_within(timeout, kafka_config) if sources else kafka_config
    store = open_store(location, storage_options)
    options = declared_options(source_options, trigger)
    conditions = _conditions(given, sources)
    if not conditions:
        raise click.UsageError(
            "no condition is given; give one to wait for, such as --batch, --watermark or --caught-up"
        )
    condition = any_of(*conditions) if one_is_enough else all_of(*conditions)
    deadlines_ms = [deadline, None if timeout is None else now_ms() + timeout]
    waiting = Waiting(
        store.location,
        condition,
        ends=_ends(store, condition, sources, kafka_config, storage_options),
        interval_s=poll_interval,
        deadline_ms=min((at_ms for at_ms in deadlines_ms if at_ms is not None), default=None),
        fail_fast=fail_fast,
        why_absent=partial(why_absent, store),
        why_quiet=partial(why_quiet, store),
        foresee=_foresight(store, sources, options, kafka_config, storage_options),
    )
    with waiting_bar() as bar:
        step = _wait(waiting, store, bar)
    is_reached = isinstance(step, Reached)
    if as_json:
        status = "reached" if is_reached else "timeout"
        progress = with_offsets(store, step.progress) if step.progress else None
        ended = outcome(status, progress, step.condition if isinstance(step, Reached) else None)
        document: WaitDocument = {
            "format_version": FORMAT_VERSION,
            "location": store.location,
            "reached": is_reached,
            **ended,
            "text": step.text,
            "condition": waiting.condition.to_dict(),
        }
        print_json(document)
    elif is_reached:
        say(f"Reached: {step.text}", colour="green")
    else:
        say(f"Timed out: {step.text}", colour="red")
    raise click.exceptions.Exit(0 if is_reached else 1)


def _answering_within(timeout_ms: int | None, kafka_config: tuple[str, ...]) -> tuple[str, ...]:
    """The options of the client: a broker that does not answer must not keep a short wait beyond its timeout."""
    from airflow_provider_ckpt.sources.kafka.ask import TIMEOUT_S

    if timeout_ms is None or any("socket.timeout.ms=" in text for text in kafka_config):
        return kafka_config
    most_ms = max(1_000, timeout_ms // 2)  # a poll may ask twice before the deadline is looked at
    return kafka_config if most_ms >= TIMEOUT_S * 1_000 else (*kafka_config, f"socket.timeout.ms={most_ms}")


def _wait(waiting: Waiting, store: Store, bar: Bar) -> Reached | TimedOut:
    """Poll until the wait ends. Raises CheckpointError: it is lost, or at the deadline nobody answered."""
    poller = Poller(store.location)
    while True:
        try:
            step = waiting.step(drive(poller.poll(waiting.needs), answer_from(store)), now_ms())
        except StoreUnavailableError as error:
            step = waiting.unanswered(error, now_ms())
        if isinstance(step, Reached):
            return step
        if isinstance(step, Lost):
            raise step.error
        if isinstance(step, TimedOut) and step.unanswered:
            raise step.unanswered
        for warning in step.warnings:
            click.secho(f"Warning: {warning}", fg="yellow", err=True)
        bar(step.text, step.remaining)
        if isinstance(step, TimedOut):
            return step
        time.sleep(step.pause_s)


#: What an option becomes, by its name.
_SPELLED: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "batch_id": lambda batch_id: {"condition": "batch", "batch_id": batch_id},
    "next_batch": lambda _: {"condition": "next_batch"},
    "watermark": lambda at_ms: {"condition": "watermark", "watermark_ms": at_ms},
    "offsets": lambda text: {"condition": "offsets", "offsets": _offsets(text)},
    "caught_up": lambda _: {"condition": "source_end"},
    "until": lambda at_ms: {"condition": "source_end", "at_ms": at_ms},
    "lag": lambda text: {"condition": "lag", **_lag(text)},
    "idle": lambda for_ms: {"condition": "idle", "for_ms": for_ms},
    "stalled": lambda for_ms: {"condition": "stalled", "for_ms": for_ms},
}


def _conditions(given: Mapping[str, Any], declared: Mapping[str, Source]) -> list[Condition]:
    """The conditions that the options name. Raises click.UsageError."""
    try:
        return [condition_from_dict(fields) for fields in _spelled(given, declared)]
    except CheckpointError as error:
        raise click.UsageError(str(error)) from None


def _spelled(given: Mapping[str, Any], declared: Mapping[str, Source]) -> Iterator[Mapping[str, Any]]:
    """The conditions that the options name, as mappings."""
    types = {source_id: source.type for source_id, source in declared.items() if source.type is not None}
    for name, spell in _SPELLED.items():
        if given[name] is not None and given[name] is not False:
            yield {**spell(given[name]), **({"source_types": types} if name == "offsets" else {})}
    for text in given["spelled"]:
        yield _object(text, "--condition")


def _lag(text: str) -> dict[str, Any]:
    """A number is records, anything else a duration."""
    units, lag_ms = units_or_ms(text)
    return {"lag_ms": lag_ms} if units is None else {"lag_units": text}


def _offsets(text: str) -> dict[str, Any]:
    """Offsets by source id; none that any position has reached."""
    offsets = _object(text, "--offsets")
    for source_id, offset in offsets.items():
        parts = [offset, *(offset.values() if isinstance(offset, dict) else ())]
        if {} in parts:
            raise click.BadParameter(f"source {source_id} has no partition to wait for", param_hint="--offsets")
        numbers = [item for part in parts[1:] if isinstance(part, dict) for key, item in part.items() if key.isdigit()]
        if any(isinstance(number, int) and number < 0 for number in numbers):
            raise click.BadParameter(
                f"source {source_id} has a negative offset, which is none to wait for; --caught-up waits for the end",
                param_hint="--offsets",
            )
    return offsets


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint=option) from None
    if not isinstance(value, dict) or not value:
        raise click.BadParameter("give a JSON object", param_hint=option)
    return value


def _ends(
    store: Store,
    condition: Condition,
    declared: Mapping[str, Source],
    kafka_config: tuple[str, ...],
    storage_options: tuple[str, ...],
) -> SourceEnds | None:
    """Where the sources end, for a condition that asks; declared sources then have to say where they are."""
    if not condition.asks_ends:
        return None
    from airflow_provider_ckpt.sources.offer import hint_of
    from airflow_provider_ckpt.sources.open_end import Access, DeclaredEnds

    if not declared:
        raise click.UsageError(
            "the condition needs the latest offsets of the sources, but no source was declared. "
            + hint_of(store, option="--source ")
        )
    config = dict(pairs(kafka_config, "--kafka-config"))
    return DeclaredEnds(
        declared, Access(lambda location: open_store(location, storage_options), store, config, "--source ")
    )


def _foresight(
    store: Store,
    declared: Mapping[str, Source],
    options: QueryOptions | None,
    kafka_config: tuple[str, ...],
    storage_options: tuple[str, ...],
) -> Callable[[Condition, Progress], Foreseen] | None:
    """Make the forecast for the wait, when options of its sources or its trigger were declared."""
    if options is None:
        return None
    from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight
    from airflow_provider_ckpt.sources.open_end import Access

    config = dict(pairs(kafka_config, "--kafka-config"))
    access = Access(lambda location: open_store(location, storage_options), store, config, "--source ")
    return WaitForesight(declared, options, access)
