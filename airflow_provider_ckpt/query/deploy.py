"""A coming deploy on a checkpoint, and how a mapping or a file of confs declares it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.paths import plain_place
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source, parse_sources
from airflow_provider_ckpt.query.spark_version import SPARK_MAX, SparkVersion, conf_text, parse_spark_version
from airflow_provider_ckpt.query.trigger import TRIGGERS


@dataclass(frozen=True, slots=True)
class DeploySpec:
    """A description of a deploy; a field that is None is not declared.

    Args:
        declared_version: The Spark that will restart the query; None is unknown, and the newest known one is assumed.
        confs: SQL confs that the deploy sets explicitly.
        sources: The sources of the query in order, or None.
        sink: The sink, or None.
        operators: Spark's names of the stateful operators by operator id, such as ``("stateStoreSave",)``; an empty
            tuple is a stateless query, None is unknown.
        async_progress: True if the deploy switches on async progress tracking; None is unknown.
        sink_name: Name of the sink (sink evolution); an empty text is a sink without one, None is unknown.
        trigger: One of TRIGGERS; None is unknown.
        source_options: Options of the query's sources, such as ``0.failOnDataLoss``.
        classes: Classes beside those of open Spark that are on the class path, such as a state store provider.
        sets_no_conf: True if an empty ``confs`` says that the deploy sets none, rather than nothing.
    """

    declared_version: SparkVersion | None = None
    confs: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Source, ...] | None = None
    sink: Sink | None = None
    operators: tuple[str, ...] | None = None
    async_progress: bool | None = None
    sink_name: str | None = None
    trigger: str | None = None
    source_options: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    sets_no_conf: bool = False

    @property
    def spark_version(self) -> SparkVersion:
        """The Spark that is forecast: the declared one, else the newest known."""
        return SPARK_MAX if self.declared_version is None else self.declared_version

    @property
    def says_confs(self) -> bool:
        """True if it is known which confs the deploy sets, even if it sets none."""
        return bool(self.confs) or self.sets_no_conf

    @property
    def by_id(self) -> dict[str, Source]:
        """The sources by name or position, as far as these are declared."""
        return {source.id: source for source in self.sources or () if source.id is not None}

    @property
    def source_kinds(self) -> dict[str, str | None] | None:
        """Types of the sources by name or position; None unless every source was declared."""
        if self.sources is None:
            return None
        kinds = {source.id: source.type for source in self.sources if source.id is not None}
        return kinds if len(kinds) == len(self.sources) else None

    @property
    def file_sink(self) -> str | None:
        """Location of the output directory of a file sink; None for any other, and where it is not declared."""
        return self.sink.location or None if self.sink is not None and self.sink.kind == "file" else None

    def switches_on(self, key: str) -> bool:
        """True if a boolean conf is set to true, in upper or lower case, as Spark reads it."""
        return is_true(self.confs.get(key))

    def with_confs(self, confs: Mapping[str, str]) -> DeploySpec:
        """The same deploy with more confs, also if there are none; they win over those that it has."""
        return replace(self, confs={**self.confs, **confs}, sets_no_conf=True)


def is_true(value: str | None) -> bool:
    """True if Spark reads the value of a boolean conf as true."""
    return value is not None and value.strip().lower() == "true"


def declare(deploy: DeploySpec, document: Mapping[str, Any]) -> DeploySpec:
    """A deploy with what a mapping says of it, by the keys that a query has in the query file; that wins, conf by conf.

    ``sources`` is a number, a list of types in order, or a mapping from name to type; after a type and a colon comes
    what the source reads from, such as ``kafka:broker:9092/orders``.

    Raises:
        ValueError: It says something else; the message names the key.
    """
    unknown = sorted(map(str, document.keys() - _PARSERS.keys()))
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(_PARSERS))}")
    said = {key: _PARSERS[key](value) for key, value in document.items() if value is not None}
    confs = said.pop("confs", None)
    fields = {_FIELDS.get(key, key): value for key, value in said.items()}
    declared = replace(deploy, **fields)
    return declared if confs is None else declared.with_confs(confs)


def _typed(key: str, kind: type) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(f"{key} is not a {kind.__name__}: {value!r}")
        return value

    return parse


def _parse_confs(confs: Any) -> dict[str, str]:
    if not isinstance(confs, dict):
        raise ValueError("confs is not a mapping from key to value")
    for key, value in confs.items():
        if not isinstance(key, str) or not key:
            raise ValueError(f"confs has the key {key!r}, which is not the name of a conf")
        if value is None:
            raise ValueError(f'the conf {key} has no value; write "" for an empty one, or leave it out')
        if isinstance(value, dict | list | set):
            raise ValueError(f"the conf {key} is a {type(value).__name__}, not a text, a number, true or false")
    return {key: conf_text(value) for key, value in confs.items()}


def _parse_classes(classes: Any) -> tuple[str, ...]:
    if not isinstance(classes, list) or not all(isinstance(name, str) and name for name in classes):
        raise ValueError(f"classes must be a list of names, not {classes!r}")
    return tuple(classes)


def _parse_operators(operators: Any) -> tuple[str, ...]:
    if not isinstance(operators, list):
        raise ValueError(f"operators must be a list of names, not {operators!r}")
    return tuple(map(str, operators))


def _parse_sink(sink: Any) -> Sink:
    if isinstance(sink, Sink):
        return sink
    try:
        return parse_sink(_typed("sink", str)(sink))
    except StoreError as error:
        raise ValueError(f"{error.message}. {error.hint}") from None


def _parse_version(version: Any) -> SparkVersion:
    if isinstance(version, float):  # YAML has made 4.1 of 4.10
        raise ValueError(
            f"spark_version is the number {version}, and as a number 4.10 is the same as 4.1: write it in quotes"
        )
    return parse_spark_version(str(version))


def _parse_trigger(trigger: Any) -> str:
    if trigger not in TRIGGERS:
        raise ValueError(f"trigger must be one of {', '.join(TRIGGERS)}, not {trigger!r}")
    return str(trigger)


def _parse_source_options(options: Any) -> dict[str, str]:
    from airflow_provider_ckpt.query.source_options import option_texts  # a room that most deploys do not need

    return option_texts(options)


#: Names of keys that are not those of the fields.
_FIELDS = {"spark_version": "declared_version"}
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "spark_version": _parse_version,
    "confs": _parse_confs,
    "sources": parse_sources,
    "sink": _parse_sink,
    "operators": _parse_operators,
    "async_progress": _typed("async_progress", bool),
    "sink_name": _typed("sink_name", str),
    "trigger": _parse_trigger,
    "source_options": _parse_source_options,
    "classes": _parse_classes,
}
#: The keys by which a query file says what is deployed.
DEPLOY_KEYS = tuple(_PARSERS)


def parse_conf_file(text: str, name: str = "") -> dict[str, str]:
    """The confs of a ``spark-defaults.conf``: ``key value`` or ``key=value``, comments with ``#``.

    Args:
        text: Its content.
        name: Its name, a path or a URL: YAML is refused by it.

    Raises:
        ValueError: A line is none, a key is given again with another value, or the file is YAML.
    """
    if name.endswith((".yaml", ".yml")):
        raise ValueError(
            "it is YAML, and a spark-defaults.conf is wanted; write its keys under queries, NAME of a ckpt.yaml, with "
            "checkpoint: LOCATION beside them, and give the NAME in place of the location"
        )
    confs: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith(("#", "!")):
            match = _PROPERTY.fullmatch(line)
            if match is None:
                raise ValueError(f"{line[:60]!r} is not a line of spark-defaults.conf; write key value, or key=value")
            key, value = match[1], (match[2] or "").strip()
            if confs.setdefault(key, value) != value:
                raise ValueError(f"the conf {key} is given twice, as {confs[key]!r} and as {value!r}; give it once")
    return confs


_PROPERTY = re.compile(r"([^\s=:\[\]{}\"',]+)(?:\s*[=:\s]\s*(.*))?")


@dataclass(frozen=True, slots=True)
class Deploys:
    """Declared deploys of several queries.

    Args:
        own: By the place of the checkpoint of each, as ``plain_place`` has it.
        over: Keys that win for every query, as :func:`declare` takes them.
    """

    own: Mapping[str, DeploySpec] = field(default_factory=dict)
    over: Mapping[str, Any] = field(default_factory=dict)

    def with_said(self, said: Mapping[str, Any]) -> Deploys:
        """The same deploys with keys that win for every query. Raises ValueError as :func:`declare`."""
        declare(DeploySpec(), said)
        return replace(self, over=said)

    def of(self, location: str) -> DeploySpec:
        """The deploy of the query with a checkpoint there; one that says nothing where none is declared."""
        return declare(self.own.get(plain_place(location), DeploySpec()), self.over)
