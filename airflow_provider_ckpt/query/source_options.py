"""The options of sources that decide what they read next or stop at, as ``readStream.option`` takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.codec.offsets.kafka import Partition
from airflow_provider_ckpt.query.spark_version import conf_text
from airflow_provider_ckpt.query.trigger import REAL_TIME
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: ``maxTriggerDelay`` of a source that sets none, milliseconds.
DEFAULT_DELAY_MS = 15 * 60_000
#: Spark's units of a duration (``JavaUtils.timeStringAs``), milliseconds; a plain number has the unit of the option.
_UNITS_MS = {"us": 0.001, "ms": 1, "": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"\s*(\d{1,15})\s*([a-z]*)\s*", re.ASCII)
#: Of Iceberg: epoch milliseconds.
FROM_TIMESTAMP = "stream-from-timestamp"
#: Options that are either true or false.
_FLAGS = (
    "failOnDataLoss",
    "skipChangeCommits",
    "ignoreDeletes",
    "ignoreChanges",
    "readChangeFeed",
    "streaming-skip-delete-snapshots",
    "streaming-skip-overwrite-snapshots",
)
_NUMBERS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", FROM_TIMESTAMP)
_GROUP_ID = "kafka.group.id"
_TEXTS = (
    "subscribePattern",
    "assign",
    _GROUP_ID,
    "schemaTrackingLocation",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "startingVersion",
    "startingTimestamp",
    "streaming-max-files-per-micro-batch",
    "streaming-max-rows-per-micro-batch",
)
#: Options that are known. Spark ignores the case of their names.
OPTIONS = (*_NUMBERS, *_FLAGS, *_TEXTS)
_KNOWN = {option.lower() for option in OPTIONS}
_BOOLEAN = {option.lower(): option for option in _FLAGS}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a source reads in one batch, as its options and its trigger say.

    Args:
        most: ``maxOffsetsPerTrigger``; None without it. With 0 the query never reads anything.
        least: ``minOffsetsPerTrigger``; None without it.
        delay_ms: ``maxTriggerDelay``: a batch is not held back longer than this after the one before it, milliseconds.
        trigger: As ``DataStreamWriter.trigger`` calls it; ``once`` ignores both limits, ``realTime`` allows none. None
            is unknown, and is taken for a query that goes on.

    Raises:
        ValueError: Spark would not start with these: the least is more than the most, one of them is negative, or there
            is one in real-time mode.
    """

    most: int | None = None
    least: int | None = None
    delay_ms: int = DEFAULT_DELAY_MS
    trigger: str | None = None

    def __post_init__(self) -> None:
        for option, value in (("maxOffsetsPerTrigger", self.most), ("minOffsetsPerTrigger", self.least)):
            if value is not None and value < 0:
                raise ValueError(
                    f"{option} is {value}: a negative limit makes Spark take the source for one that lost data"
                )
            if value is not None and self.trigger == REAL_TIME:
                raise ValueError(f"{option} is {value}, which Spark refuses in real-time mode")
        if self.most is not None and self.least is not None and self.least > self.most:
            raise ValueError(
                f"minOffsetsPerTrigger is {self.least}, higher than maxOffsetsPerTrigger, which is {self.most}: Spark "
                "does not start the query"
            )


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options that a query sets for a Kafka source.

    Args:
        limits: Limits of one batch.
        fails_on_data_loss: ``failOnDataLoss``; None when it is not known (Spark's default is true).
        is_pattern: True if it subscribes to a pattern, and not to topics by name; None when that is not known.
        assigned: The partitions of the option ``assign``; None when the query subscribes to whole topics.
        has_group_id: True if it sets ``kafka.group.id``, which one of Spark's errors mentions.
    """

    limits: Limits = field(default_factory=Limits)
    fails_on_data_loss: bool | None = None
    is_pattern: bool | None = None
    assigned: frozenset[Partition] | None = None
    has_group_id: bool = False


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Options that a query sets for its Kafka sources, and its trigger, which applies to all of them.

    Args:
        by_source: The declared options, by source id.
        trigger: As ``DataStreamWriter.trigger`` calls it; None is unknown.
    """

    by_source: Mapping[str, SourceOptions] = field(default_factory=dict)
    trigger: str | None = None

    def of(self, source_id: str) -> SourceOptions:
        """The options of a source; of one without any, what Spark then takes."""
        return self.by_source.get(source_id) or SourceOptions(Limits(trigger=self.trigger))


def parse_options(pairs: Iterable[tuple[str, str]], trigger: str | None = None) -> QueryOptions:
    """The options of all sources.

    Args:
        pairs: ``("0.maxOffsetsPerTrigger", "1000")``: the id, a dot, and the option.
        trigger: As ``DataStreamWriter.trigger`` calls it; None is unknown.

    Raises:
        ValueError: An option is not known, has no such value, or Spark would not start with it.
    """
    said: dict[str, dict[str, str]] = {}
    for key, value in pairs:
        source_id, option = _split(key)
        if not source_id or option.lower() not in _KNOWN:
            raise ValueError(f"{key!r} is no option of a source; write ID.OPTION with one of {', '.join(OPTIONS)}")
        if option.lower() in _BOOLEAN and value.lower() not in ("true", "false"):
            raise ValueError(f"{_BOOLEAN[option.lower()]} is {value!r}, which is neither true nor false")
        if option.lower() == FROM_TIMESTAMP:
            _number(FROM_TIMESTAMP, value)
        said.setdefault(source_id, {})[option.lower()] = value
    return QueryOptions({source_id: _options(options, trigger) for source_id, options in said.items()}, trigger)


def options_of(source_id: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of one source by their names in lower case, of all that are set, such as ``0.failOnDataLoss``."""
    pairs = ((_split(key), value) for key, value in options.items())
    return {option.lower(): value for (owner, option), value in pairs if owner == source_id}


def _split(key: str) -> tuple[str, str]:
    """The id of the source and the name of the option; one of them may have dots in it."""
    if key.lower().endswith(f".{_GROUP_ID}"):
        return key[: -len(_GROUP_ID) - 1], _GROUP_ID
    source_id, _, option = key.rpartition(".")
    return source_id, option


def option_texts(options: Any) -> dict[str, str]:
    """The options of sources as texts, of a mapping such as YAML and Python have it, with booleans and numbers.

    Raises ValueError: it is no mapping, and as :func:`parse_options`.
    """
    if not isinstance(options, Mapping):
        raise ValueError("source_options is not a mapping such as 0.failOnDataLoss: false")
    texts = {str(key): conf_text(value) for key, value in options.items()}
    parse_options(texts.items())
    return texts


def _options(said: dict[str, str], trigger: str | None) -> SourceOptions:
    limits = Limits(
        _number("maxOffsetsPerTrigger", said.get("maxoffsetspertrigger")),
        _number("minOffsetsPerTrigger", said.get("minoffsetspertrigger")),
        _duration_ms(said["maxtriggerdelay"]) if "maxtriggerdelay" in said else DEFAULT_DELAY_MS,
        trigger,
    )
    fails = said.get("failondataloss")
    return SourceOptions(
        limits,
        None if fails is None else fails.lower() == "true",
        True if "subscribepattern" in said else None,
        parse_assigned(said["assign"]) if "assign" in said else None,
        _GROUP_ID in said,
    )


def parse_assigned(text: str) -> frozenset[Partition]:
    """The partitions in the text that ``readStream.option("assign", ...)`` takes (Spark's ``JsonUtils.partitions``).

    Raises ValueError: it is no such text.
    """
    try:
        topics = parse_json(text)
        found = frozenset((topic, number) for topic, numbers in topics.items() for number in numbers)
    except (AttributeError, TypeError, ValueError):
        found = frozenset()
    if not found or not all(type(number) is int and number >= 0 for _, number in found):
        raise ValueError(f'assign is {text!r:.60}, which is not like {{"orders": [0, 1]}}')
    return found


def _number(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,19}", text):
        raise ValueError(f"{option} is {text!r:.40}, which is no whole number")
    return int(text)


def _duration_ms(text: str) -> int:
    match = _DURATION.fullmatch(text.lower())
    if match is None or match[2] not in _UNITS_MS:
        raise ValueError(f"maxTriggerDelay is {text!r:.40}, which is no duration such as 15m")
    return int(int(match[1]) * _UNITS_MS[match[2]])
