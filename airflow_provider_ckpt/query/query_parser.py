"""Reading a query file: each key is checked, and an error names the file, the line and the key."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.deploy import DEPLOY_KEYS, DeploySpec, declare
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.query.query_file import Alert, Cluster, Pipeline, Query, QueryFile, StorageAccess
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.query.yaml_text import Document, Path, parse_document
from airflow_provider_ckpt.times import parse_duration_ms
from airflow_provider_ckpt.untrusted.secrets import may_be_secret

FORMAT_VERSION = 1
#: More queries than any file has.
MOST_QUERIES = 10_000
#: Keys of the file, of the entry of a query beside those of a deploy, and of what no ``defaults`` may have.
FILE_KEYS = ("format_version", "defaults", "kafka", "storage", "paths", "queries", "pipelines")
QUERY_KEYS = ("checkpoint", "confs_file", "sinks", "backups", "undo", "alert", "engine")
NO_DEFAULT = ("checkpoint", "sources", "sink", "sinks", "source_options", "sink_name", "operators")
_ALERT = {"behind": "behind_ms", "delay": "delay_ms", "age": "age_ms", "rows": "rows"}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def parse_query_file(text: str, place: str = "ckpt.yaml") -> QueryFile:
    """The queries that a text declares.

    Args:
        text: Content of the file.
        place: The file: a path or a URL.

    Raises:
        ValueError: It is no query file; the message names the file, the line and the key.
    """
    try:
        document = parse_document(text)
    except ValueError as error:
        raise ValueError(f"{place}{' ' if str(error).startswith('line ') else ': '}{error}") from None
    return _Parser(document, place).file()


class _Parser:
    """Reads one document; each method takes the path of what it reads.

    Args:
        document: The parsed content of the file.
        place: The file.
    """

    def __init__(self, document: Document, place: str) -> None:
        self._document = document
        self._place = place
        self._clusters: dict[str, Cluster] = {}
        self._paths = Paths()

    def file(self) -> QueryFile:
        """The whole file."""
        top = self._mapping((), self._document.value, FILE_KEYS)
        version = top.get("format_version")
        if version != FORMAT_VERSION or isinstance(version, bool):
            raise self._error(("format_version",), f"it is {version!r:.40}, and this ckpt reads {FORMAT_VERSION}")
        self._refuse_secrets((), top)
        self._paths = Paths(self._texts(("paths",), top.get("paths")))
        self._clusters = self._each(("kafka",), top.get("kafka"), self._cluster)
        storage = self._mapping(("storage",), top.get("storage"), ("options", "conn_id"))
        defaults = self._mapping(("defaults",), top.get("defaults"), (*DEPLOY_KEYS, *QUERY_KEYS))
        for key in defaults.keys() & set(NO_DEFAULT):
            raise self._error(("defaults", key), "it is of one query, so it belongs to its entry")
        queries = self._each(("queries",), top.get("queries"), lambda path, said: self._query(path, said, defaults))
        self._refuse_one_checkpoint_twice(queries)
        return QueryFile(
            self._place,
            queries,
            self._each(("pipelines",), top.get("pipelines"), self._pipeline),
            StorageAccess(
                self._mapping(("storage", "options"), storage.get("options")),
                self._text(("storage", "conn_id"), storage.get("conn_id")),
            ),
            self._paths,
        )

    # --- parts of the file -----------------------------------------------------------------------------------------

    def _cluster(self, path: Path, said: Any) -> Cluster:
        settings = self._texts(path, said)
        servers, conn_id = settings.pop("bootstrap.servers", ""), settings.pop("conn_id", None)
        if not servers:
            raise self._error(path, "it has no bootstrap.servers, such as broker:9092")
        return Cluster(servers, settings, conn_id)

    def _pipeline(self, path: Path, said: Any) -> Pipeline:
        found = self._mapping(path, said, ("spec", "remote"))
        spec = self._text((*path, "spec"), found.get("spec"))
        if spec is None:
            raise self._error(path, "it has no spec, such as spark-pipeline.yml")
        return Pipeline(spec, self._text((*path, "remote"), found.get("remote")))

    def _query(self, path: Path, said: Any, defaults: Mapping[str, Any]) -> Query:
        own = self._mapping(path, said, (*DEPLOY_KEYS, *QUERY_KEYS))
        name = str(path[-1])
        at = {key: (*path, key) if key in own else ("defaults", key) for key in (*defaults, *own)}
        found = {**defaults, **own}
        checkpoint = self._text((*path, "checkpoint"), own.get("checkpoint"))
        if checkpoint is None:
            raise self._error(path, "it has no checkpoint, which is the location of its checkpoint")
        clusters: dict[str, Cluster] = {}
        if "sources" in own:
            found["sources"] = self._sources(at["sources"], own["sources"], found, clusters)
        deploy = DeploySpec()
        for key in [key for key in found if key in DEPLOY_KEYS]:
            deploy = self._checked(at.get(key, path), declare, deploy, {key: found[key]})
        if deploy.sink is not None:
            deploy = declare(deploy, {"sink": self._opened(deploy.sink)})
        text = {key: self._text(at.get(key, path), found.get(key)) for key in ("confs_file", "backups", "undo")}
        return Query(
            name,
            self._at(checkpoint),
            deploy,
            confs_file=None if text["confs_file"] is None else self._at(text["confs_file"]),
            sinks=tuple(self._sinks((*path, "sinks"), own.get("sinks"))),
            backups=self._of_query(text["backups"], name),
            undo=self._of_query(text["undo"], name),
            alert=self._alert(at.get("alert", path), found.get("alert")),
            engine=self._mapping(at.get("engine", path), found.get("engine")),
            clusters=clusters,
            lines={key: self._document.line(where) for key, where in at.items()},
        )

    def _of_query(self, text: str | None, name: str) -> str | None:
        return None if text is None else self._at(text.replace("{query}", name))

    def _sources(self, path: Path, said: Any, found: dict[str, Any], clusters: dict[str, Cluster]) -> Any:
        """The sources, with clusters by their servers; options beside a source go to ``source_options``."""
        if isinstance(said, int):
            return said
        if not isinstance(said, list | dict) or not said:
            raise self._error(path, "they are a number, a list such as [kafka:main/orders], or a mapping by name")
        options = dict(found.get("source_options") or {})
        sources = []
        for key, each in said.items() if isinstance(said, dict) else enumerate(said):
            at, source_id = (*path, key), str(key)
            if isinstance(each, dict):
                beside = self._mapping(at, each, ("from", "options"))
                each = beside.get("from")
                for option, value in self._mapping((*at, "options"), beside.get("options")).items():
                    options[f"{source_id}.{option}"] = value
            text = self._text(at, each) or ""
            sources.append(self._checked(at, self._source, text, source_id, clusters))
        if options:
            found["source_options"] = options
        return tuple(sources)

    def _source(self, text: str, source_id: str, clusters: dict[str, Cluster]) -> Any:
        kind, _, place = text.partition(":")
        if kind.strip().lower() == "kafka":
            named, slash, topics = place.partition("/")
            if named in self._clusters:
                clusters[source_id] = self._clusters[named]
                text = f"{kind}:{clusters[source_id].servers}{slash}{topics}"
            elif named and ":" not in named:
                known = ", ".join(sorted(self._clusters)) or "none"
                raise ValueError(f"{named!r} is no host with a port and no cluster under kafka; the clusters: {known}")
        elif place:
            text = f"{kind}:{self._at(place)}"
        return parse_source(text, source_id)

    def _sinks(self, path: Path, said: Any) -> list[Sink]:
        if said is None:
            return []
        if not isinstance(said, list):
            raise self._error(path, "it is a list of the places that the query writes to, such as [delta:s3://lake/a]")
        texts = [(self._text((*path, at), each) or "", (*path, at)) for at, each in enumerate(said)]
        return [self._opened(self._checked(at, parse_sink, text)) for text, at in texts]

    def _opened(self, sink: Sink) -> Sink:
        kind, colon, location = sink.text.partition(":")
        return parse_sink(f"{kind}:{self._at(location)}") if colon else sink

    def _at(self, location: str) -> str:
        """A location as ckpt opens it; a relative path is one beside the file."""
        opened = self._paths.opened(location)
        return opened if ":" in opened else posixpath.join(posixpath.dirname(self._place), opened)

    def _alert(self, path: Path, said: Any) -> Alert:
        found = self._mapping(path, said, tuple(_ALERT))
        values: dict[str, int] = {}
        for key, value in found.items():
            at = (*path, key)
            if key == "rows":
                if type(value) is not int or value < 0:
                    raise self._error(at, f"it is {value!r:.40}, and has to be a whole number")
                values[key] = value
            else:
                values[_ALERT[key]] = self._checked(at, parse_duration_ms, str(value))
        return Alert(**values)

    def _refuse_one_checkpoint_twice(self, queries: Mapping[str, Query]) -> None:
        seen: dict[str, str] = {}
        for name, query in queries.items():
            other = seen.setdefault(self._paths.place(query.checkpoint), name)
            if other != name:
                raise self._error(("queries", name, "checkpoint"), f"the query {other} has the same checkpoint")

    # --- forms -----------------------------------------------------------------------------------------------------

    def _refuse_secrets(self, path: Path, value: Any) -> None:
        """Refuse what may be a password, a key or a token, wherever it is."""
        if isinstance(value, dict | list):
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                self._refuse_secrets((*path, key), each)
        elif isinstance(value, str) and may_be_secret(str(path[-1]) if path else "", value):
            raise self._error(path, "it may be a secret; keep secrets in a connection of Airflow or in the environment")

    def _each(self, path: Path, said: Any, parse: Callable[[Path, Any], Any]) -> dict[str, Any]:
        found = self._mapping(path, said)
        if len(found) > MOST_QUERIES:
            raise self._error(path, f"it has more than {MOST_QUERIES:,} entries")
        for name in found:
            if not _NAME.fullmatch(name):
                raise self._error((*path, name), "it is no name: letters, digits, and . _ - after the first")
        return {name: parse((*path, name), each) for name, each in found.items()}

    def _mapping(self, path: Path, said: Any, keys: tuple[str, ...] | None = None) -> dict[str, Any]:
        """A mapping with these keys alone, or any; nothing is an empty one."""
        if said is None:
            return {}
        if not isinstance(said, dict):
            raise self._error(path, "it is not a mapping with keys and values")
        for key in said:
            if not isinstance(key, str):
                raise self._error((*path, key), "it is not a text; write it in quotes")
            if keys is not None and key not in keys:
                raise self._error((*path, key), f"it is unknown here; the keys are {', '.join(sorted(keys))}")
        return said

    def _texts(self, path: Path, said: Any) -> dict[str, str]:
        return {key: self._text((*path, key), each) or "" for key, each in self._mapping(path, said).items()}

    def _text(self, path: Path, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            raise self._error(path, f"it is {value!r:.40}, and has to be a text")
        if value != value.strip():
            raise self._error(path, f"it is {value!r:.60}, with a space at its beginning or its end")
        if "${" in value:
            raise self._error(path, f"it is {value!r:.60}, and no variable is replaced here; write its value")
        return value

    def _checked(self, path: Path, parse: Callable[..., Any], *values: Any) -> Any:
        """What a parser makes of values; its error gets the line and the key."""
        try:
            return parse(*values)
        except StoreError as error:
            raise self._error(path, f"{error.message}. {error.hint}") from None
        except ValueError as error:
            raise self._error(path, str(error)) from None

    def _error(self, path: Path, problem: str) -> ValueError:
        key = ".".join(map(str, path))
        where = f"{self._place} line {self._document.line(path)}"
        return ValueError(f"{where}, {key}: {problem}" if key else f"{where}: {problem}")
