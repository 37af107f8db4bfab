"""``ckpt wait``: wait for committed progress in a shell or a pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click

from airflow_provider_ckpt.bounded_json import parse_json
from airflow_provider_ckpt.cli.options import DURATION, PAUSE, TIME, TIMES, open_store, pairs, shared, source_types
from airflow_provider_ckpt.cli.render import Bar, print_json, say, waiting_bar
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.lifecycle import Wait, Watched, answer, begin, outcome
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.waiting import SourceEnds, Target, all_of, any_of, target_from_dict
from airflow_provider_ckpt.waiting.pace import eta_text, pause_s

_SOURCE_HELP = (
    "The type of a source, such as 0=kafka, to compare offsets; or where it reads from, such as 0=kafka:host:9092, "
    "0=delta:URI, 0=iceberg:URI, 0=file:DIRECTORY, for --caught-up, --until and --lag."
)


@click.command(epilog=TIMES)
@click.argument("location")
@click.option("--batch", "batch_id", type=click.IntRange(min=0), help="Until this batch, or a later one, is committed.")
@click.option("--next-batch", is_flag=True, help="Until a batch is committed that began after now.")
@click.option(
    "--watermark", type=TIME, help="Until the watermark has passed this time (ISO 8601, UTC when it names no zone)."
)
@click.option(
    "--offsets", help='Until these offsets are reached: JSON by source id, such as {"0": {"topic": {"0": 5}}}.'
)
@click.option("--caught-up", is_flag=True, help="Until all that is in the sources now is in a committed batch.")
@click.option("--until", type=TIME, help="Until all that was in the sources at this time is in a committed batch.")
@click.option(
    "--lag",
    metavar="LAG",
    help="Until the query is behind by no more than a duration (5m, PT5M) or so many records (1000).",
)
@click.option("--idle", type=DURATION, help="Until all batches are committed, and nothing was for so long (PT10M).")
@click.option("--stalled", type=DURATION, help="Until nothing was committed for so long, whatever the reason.")
@click.option(
    "--target", "spelled", multiple=True, metavar="JSON", help='Any target: {"target": "batch", "batch_id": 5}.'
)
@click.option(
    "--any", "one_is_enough", is_flag=True, help="One of the targets is enough; otherwise all must be reached."
)
@click.option("--source", "sources", multiple=True, metavar="ID=TYPE[:PLACE]", help=_SOURCE_HELP)
@click.option(
    "--kafka-config", "kafka_config", multiple=True, metavar="KEY=VALUE", help="An option of the Kafka client."
)
@click.option("--timeout", type=DURATION, help="Give up after this long (36h, PT1H, or seconds), with code 1.")
@click.option("--deadline", type=TIME, help="Give up at this time, with code 1.")
@click.option(
    "--poll-interval",
    default=5.0,
    show_default=True,
    type=PAUSE,
    metavar="DURATION",
    help="How often to ask; sooner when the target is near.",
)
@click.option(
    "--fail-fast", is_flag=True, help="Give up with code 4 at what will not be met as things stand: it says so anyway."
)
@shared
def wait(
    location: str,
    sources: tuple[str, ...],
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
    """Wait for committed progress; several targets must all be reached, unless --any is given.

    Exit code 0: reached. 1: not by the deadline. 4: it cannot be reached any more, because the checkpoint was replaced
    or rolled back below where the wait began; with --fail-fast also when it will not be met as things stand. 5: at the
    deadline the storage did not answer.
    """
    declared = dict(pairs(sources, "--source"))
    source_types(sources)
    targets = _targets(given, declared)
    if not targets:
        raise click.UsageError("say what to wait for, such as --batch, --watermark or --caught-up")
    target = any_of(*targets) if one_is_enough else all_of(*targets)
    store = open_store(location, storage_options)
    ends = _ends(store, target, declared, kafka_config, storage_options)
    ends_ms = [deadline, None if timeout is None else int(time.time() * 1000) + timeout]
    end_ms = min((at_ms for at_ms in ends_ms if at_ms is not None), default=None)
    with waiting_bar() as bar:
        document = _wait(store, target, ends, end_ms, poll_interval, bar, fail_fast)
    document = {"location": store.location, "reached": document["status"] == "reached", **document}
    if as_json:
        print_json(document)
    elif document["reached"]:
        say(f"Reached: {document['text']}", colour="green")
    else:
        say(f"Timed out: {document['text']}", colour="red")
    raise click.exceptions.Exit(0 if document["reached"] else 1)


def _wait(
    store: Store,
    target: Target,
    ends: SourceEnds | None,
    end_ms: int | None,
    interval_s: float,
    bar: Bar,
    fail_fast: bool,
) -> dict[str, Any]:
    watched = Watched(store.location)
    begun: Wait | None = None
    progress: Progress | None = None
    standing = target
    warnings = _Said()
    asked_at: int | None = -1
    while True:
        pause, text = interval_s, ""
        try:
            progress = answer(watched.look(target.needs), store)
            begun = begun or begin(store.location, target, progress, at_ms=progress.looked_at_ms, ends=ends)
            standing = begun.standing(progress)
            text = standing.explain(progress)
            if standing.reached(progress):
                return {**outcome("reached", progress, standing), "text": text, "target": begun.target.to_dict()}
            if progress.batch_id != asked_at:  # a doubt may cost requests, and does not change with every poll
                warnings.say(begun.doubts(standing, progress, store, fail_fast=fail_fast))
                asked_at = progress.batch_id
            pause = pause_s(interval_s, standing, progress, watched.earlier)
            bar(text + eta_text(standing, progress, watched.earlier), standing.remaining(progress))
        except StoreUnavailableError as error:
            if _is_over(end_ms):
                raise
            bar(str(error), None)
        if _is_over(end_ms):
            return {
                **outcome("timeout", progress),
                "text": text,
                "target": (begun.target if begun else target).to_dict(),
            }
        time.sleep(pause if end_ms is None else max(0.0, min(pause, end_ms / 1000 - time.time())))


class _Said:
    """Says each warning once, on stderr."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, doubts: Iterable[str]) -> None:
        """Say what was not said yet."""
        for doubt in doubts:
            if doubt not in self._said:
                click.secho(f"Warning: {doubt}", fg="yellow", err=True)
                self._said.add(doubt)


def _is_over(end_ms: int | None) -> bool:
    return end_ms is not None and time.time() * 1000 >= end_ms


#: What an option becomes, by its name.
_SPELLED: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "batch_id": lambda batch_id: {"target": "batch", "batch_id": batch_id},
    "next_batch": lambda _: {"target": "next_batch"},
    "watermark": lambda at_ms: {"target": "watermark", "watermark_ms": at_ms},
    "offsets": lambda text: {"target": "offsets", "offsets": _object(text, "--offsets")},
    "caught_up": lambda _: {"target": "frozen_end"},
    "until": lambda at_ms: {"target": "frozen_end", "at_ms": at_ms},
    "lag": lambda text: {"target": "caught_up", **_lag(text)},
    "idle": lambda for_ms: {"target": "idle", "for_ms": for_ms},
    "stalled": lambda for_ms: {"target": "stalled", "for_ms": for_ms},
}


def _targets(given: Mapping[str, Any], declared: Mapping[str, str]) -> list[Target]:
    """The targets that the options name. Raises click.UsageError."""
    try:
        return [target_from_dict(fields) for fields in _spelled(given, declared)]
    except CheckpointError as error:
        raise click.UsageError(str(error)) from None


def _spelled(given: Mapping[str, Any], declared: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The targets that the options name."""
    kinds = {source: place.partition(":")[0] for source, place in declared.items()}
    for name, spell in _SPELLED.items():
        if given[name] is not None and given[name] is not False:
            yield {**spell(given[name]), **({"kinds": kinds} if name == "offsets" else {})}
    for text in given["spelled"]:
        yield _object(text, "--target")


def _lag(text: str) -> dict[str, Any]:
    """A number is records, anything else a duration."""
    if text.isdecimal():
        return {"lag_units": int(text)}
    return {"lag_ms": DURATION.convert(text, None, None)}


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
    target: Target,
    declared: Mapping[str, str],
    kafka_config: tuple[str, ...],
    storage_options: tuple[str, ...],
) -> SourceEnds | None:
    """Where the sources end, for a target that asks; declared sources then have to say where they are."""
    if not (target.asks_ends or target.asks_ends_again):
        return None
    from airflow_provider_ckpt.source_ends import Access, DeclaredEnds

    config = dict(pairs(kafka_config, "--kafka-config"))
    return DeclaredEnds(
        declared, Access(lambda location: open_store(location, storage_options), store, config, "--source ")
    )


COMMANDS = (wait,)
