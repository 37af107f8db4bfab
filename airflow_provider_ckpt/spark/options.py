"""The options of ``spark.read`` and ``spark.readStream`` as values. Spark passes texts, and keys in small letters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from airflow_provider_ckpt.batches.columns import TABLES
from airflow_provider_ckpt.batches.selection import DeclaredTypes, Selection
from airflow_provider_ckpt.fleet import DEPTH
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

Value = TypeVar("Value")

STORAGE = "storage."
MODES = ("permissive", "failfast")


@dataclass(frozen=True, slots=True)
class Places:
    """Where checkpoints are, and how to get there.

    Args:
        roots: Locations of checkpoints, and of directories that have some below.
        depth: How many levels below a root are searched; 0 when every root is a checkpoint.
        storage_options: For the fsspec drivers. They travel to the executors and are not shown.
    """

    roots: tuple[str, ...]
    depth: int = DEPTH
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of a batch read.

    Args:
        rows: ``batches``, or ``checkpoints``.
        selection: The batches.
        declared: Source types.
        fails_fast: True if a problem is an error.
        deep: True if ``rows=checkpoints`` judges state and source logs, too.
        partitions: How many partitions; None for as many as the number of checkpoints needs.
    """

    places: Places
    rows: str = "batches"
    selection: Selection = field(default_factory=Selection)
    declared: DeclaredTypes = field(default_factory=DeclaredTypes)
    fails_fast: bool = False
    deep: bool = False
    partitions: int | None = None

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> TableOptions:
        """Parse the options that Spark passes. Raises ValueError, which names the option."""
        known = {"depth", "rows", "firstbatch", "lastbatch", "lastbatches", "startingtime", "endingtime"}
        options = _Options(texts, known | {"sourcetypes", "mode", "deep", "partitions"})
        return cls(
            _places(options),
            options.one_of("rows", tuple(TABLES)),
            _selection(options),
            options.get("sourceTypes", _declared) or DeclaredTypes(),
            options.one_of("mode", MODES) == "failfast",
            options.one_of("deep", ("false", "true")) == "true",
            options.get("partitions", _at_least(1)),
        )


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream.

    Args:
        declared: Source types.
        fails_on_data_loss: True if batches that were purged before they were read end the query.
        max_batches: No micro-batch has more batches than these, but for one of each checkpoint that has any.
        discover_ms: How often the roots are searched for new checkpoints, milliseconds.
        poll_ms: A checkpoint is polled no more often than this, milliseconds.
        quiet_ms: A checkpoint is polled at least as often as this, milliseconds.
    """

    places: Places
    declared: DeclaredTypes = field(default_factory=DeclaredTypes)
    fails_on_data_loss: bool = True
    max_batches: int = 100_000
    discover_ms: int = 300_000
    poll_ms: int = 10_000
    quiet_ms: int = 600_000

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> StreamOptions:
        """Parse the options that Spark passes. Raises ValueError, which names the option."""
        known = {"depth", "sourcetypes", "failondataloss", "maxbatchespertrigger", "discoverinterval"}
        options = _Options(texts, known | {"pollinterval", "maxpollinterval"})
        default = cls(_places(options))
        return cls(
            default.places,
            options.get("sourceTypes", _declared) or default.declared,
            options.one_of("failOnDataLoss", ("true", "false")) == "true",
            options.get("maxBatchesPerTrigger", _at_least(1)) or default.max_batches,
            options.get("discoverInterval", parse_duration_ms, default.discover_ms),
            options.get("pollInterval", parse_duration_ms, default.poll_ms),
            options.get("maxPollInterval", parse_duration_ms, default.quiet_ms),
        )


class _Options:
    """Texts by key, of which each is known."""

    def __init__(self, texts: Mapping[str, str], known: set[str]) -> None:
        self.texts = {key.lower(): value for key, value in texts.items()}
        unknown = [key for key in self.texts if key not in known | {"path", "paths"} and not key.startswith(STORAGE)]
        if unknown:
            raise ValueError(f"there is no option {unknown[0]!r}; docs/pipeline.md lists the options")

    def get(self, name: str, parse: Callable[[str], Value], default: Any = None) -> Any:
        """The parsed value, or the default. Raises ValueError, which names the option."""
        text = self.texts.get(name.lower())
        if text is None:
            return default
        try:
            return parse(text)
        except (ValueError, TypeError) as error:
            raise ValueError(f"the option {name} is not valid: {error}") from None

    def one_of(self, name: str, values: tuple[str, ...]) -> str:
        """One of some values; the first by default."""
        text = self.texts.get(name.lower(), values[0]).lower()
        if text not in values:
            raise ValueError(f"the option {name} must be {', '.join(values)}, not {text!r}")
        return text


def _places(options: _Options) -> Places:
    paths = options.get("paths", _paths) or ()
    path = options.texts.get("path")
    roots = (*paths, *((path,) if path else ()))
    if not roots:
        raise ValueError(
            "no location is given; give load() one or more checkpoint locations, or directories below which to search "
            "for them"
        )
    return Places(roots, options.get("depth", _at_least(0), DEPTH), storage_options(options.texts))


def storage_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Options for the fsspec drivers among the options of a reader or a writer."""
    lower = {key.lower(): text for key, text in texts.items()}
    return {key.removeprefix(STORAGE): _typed(text) for key, text in lower.items() if key.startswith(STORAGE)}


def absolute(path: str, options: Mapping[str, Any]) -> str:
    """A location as workers open it, which work in other directories than the driver."""
    store = Store.open(path, **options)
    return store.location if store.is_local else path


def storage_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Options of fsspec drivers as :func:`storage_options` reads them."""
    return {f"{STORAGE}{key}": value if isinstance(value, str) else json.dumps(value) for key, value in options.items()}


def _selection(options: _Options) -> Selection:
    return Selection(
        options.get("firstBatch", _at_least(0)),
        options.get("lastBatch", _at_least(0)),
        options.get("lastBatches", _at_least(1)),
        options.get("startingTime", parse_time_ms),
        options.get("endingTime", parse_time_ms),
    )


def _declared(text: str) -> DeclaredTypes:
    fields = parse_json(text)
    if not isinstance(fields, dict):
        raise ValueError('give {"0": "kafka"}, or {"s3://lake/orders*": {"0": "kafka"}}')
    return DeclaredTypes.parse(fields)


def _paths(text: str) -> tuple[str, ...]:
    paths = parse_json(text)
    if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
        raise ValueError("give a JSON list of locations")
    return tuple(paths)


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or len(text) > 18 or int(text) < least:
            raise ValueError(f"{text!r} is no whole number; it must be {least} or more")
        return int(text)

    return parse


def _typed(text: str) -> Any:
    """A storage option: JSON where it is an object, a list or a truth value, else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return parse_json(text) if text[:1] in ("{", "[") else text
