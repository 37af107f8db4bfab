"""The specification of a Spark Declarative Pipeline, ``spark-pipeline.yml``, as ``spark-pipelines`` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.query.yaml_text import parse_yaml
from airflow_provider_ckpt.untrusted.secrets import may_be_secret

#: The conf that says what a table keeps its rows in where its definition does not.
DEFAULT_FORMAT = "spark.sql.sources.default"
_KEYS = ("catalog", "configuration", "database", "libraries", "name", "schema", "storage")
#: What Spark takes where nothing says another catalog and database.
NAMESPACE = ("spark_catalog", "default")


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """What a specification says.

    Args:
        name: Name of the pipeline.
        storage: Below it are the checkpoints, as the cluster spells it.
        catalog: The catalog of names without one; None where the session decides.
        database: The database of names without one; None where the session decides.
        configuration: Confs of its session, without any that may be a secret.
        libraries: Patterns of its definitions, relative to the specification.
    """

    name: str
    storage: str
    catalog: str | None = None
    database: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()

    @property
    def namespace(self) -> tuple[str, str]:
        """Catalog and database of a name that says none."""
        catalog, database = NAMESPACE
        configured = self.configuration.get("spark.sql.defaultCatalog")
        return self.catalog or configured or catalog, self.database or database

    @property
    def format(self) -> str | None:
        """What tables keep their rows in where their definition does not say it; None where the session decides."""
        said = self.configuration.get(DEFAULT_FORMAT)
        return None if said is None else said.strip().lower()


def parse_pipeline_spec(text: str, place: str) -> PipelineSpec:
    """The specification that a text is.

    Args:
        text: Content of the file.
        place: The file: a path or a URL.

    Raises:
        ValueError: It is none, or Spark would refuse it; the message names the file and the key.
    """
    try:
        said = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if not isinstance(said, dict):
        raise ValueError(f"{place}: it is no specification of a pipeline, which has the keys name and storage")
    for key in said:
        if key not in _KEYS:
            raise ValueError(f"{place}, {key}: it is unknown to Spark; the keys are {', '.join(_KEYS)}")
    name, storage = (_text(place, said, key) for key in ("name", "storage"))
    if name is None or storage is None:
        raise ValueError(f"{place}: it has no {'name' if name is None else 'storage'}, and Spark refuses it")
    if not storage.startswith("/") and ":/" not in storage:
        raise ValueError(
            f"{place}, storage: it is {storage!r:.60}, and has to be a whole location, such as file:///srv/s"
        )
    configuration = said.get("configuration", {})
    if not isinstance(configuration, dict):
        raise ValueError(f"{place}, configuration: it is not a mapping from confs to texts")
    for key, value in configuration.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(
                f"{place}, configuration.{key}: it is {value!r:.40}, and has to be a text in quotes, as Spark asks"
            )
    return PipelineSpec(
        name,
        storage.rstrip("/"),
        _text(place, said, "catalog"),
        _text(place, said, "database") or _text(place, said, "schema"),
        {key: value for key, value in configuration.items() if not may_be_secret(key, value)},
        tuple(_libraries(place, said.get("libraries", []))),
    )


def _libraries(place: str, said: Any) -> list[str]:
    found = []
    for entry in said if isinstance(said, list) else [said]:
        pattern = entry.get("glob") if isinstance(entry, dict) else None
        include = pattern.get("include") if isinstance(pattern, dict) else None
        if not isinstance(include, str) or not include:
            raise ValueError(
                f"{place}, libraries: each is a glob with its include, such as - glob: {{include: flows/**}}"
            )
        if any(sign in include.removesuffix("/**") for sign in "*?["):
            raise ValueError(
                f"{place}, libraries: {include!r:.60} is neither a file nor a directory with /** behind it, and Spark "
                "refuses it"
            )
        found.append(include)
    return found


def _text(place: str, said: Mapping[str, Any], key: str) -> str | None:
    value = said.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"{place}, {key}: it is {value!r:.40}, and has to be a text")
    return value
