"""Reading a query file: each key is checked, and an error names the file, the line and the key."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.query.deploy import DEPLOY_KEYS, DeploySpec, declare
from airflow_provider_ckpt.query.engine import (
    ENGINE_KEYS,
    OF_ONE_APPLICATION,
    DeclaredEngine,
    KeyPathError,
    declare_engine,
)
from airflow_provider_ckpt.query.keep import KEEP_KEYS, declare_keep
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.query.query_file import ANY_FLOW, Alert, Cluster, Pipeline, Query, QueryFile, StorageAccess
from airflow_provider_ckpt.query.shared_places import shared_places
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.query.source import Source, parse_source
from airflow_provider_ckpt.query.spark_version import conf_text
from airflow_provider_ckpt.query.yaml_text import Document, Path, parse_document, problem_of
from airflow_provider_ckpt.times import parse_duration_ms
from airflow_provider_ckpt.untrusted.secrets import may_be_secret, scrub
from airflow_provider_ckpt.visible import visible

FORMAT_VERSION = 1
#: More queries than any file has.
MOST_QUERIES = 10_000
#: Keys of the file, of the entry of a query or a flow beside those of a deploy, and of what no ``defaults`` may have.
FILE_KEYS = ("format_version", "defaults", "kafka", "storage", "paths", "queries", "pipelines")
QUERY_KEYS = ("checkpoint", "confs_file", "sinks", "backups", "undo", "keep", "alert", *ENGINE_KEYS)
NO_DEFAULT = ("checkpoint", "sources", "sink", "sinks", "source_options", "sink_name", "operators", *OF_ONE_APPLICATION)
#: What is said of a root that is in the checkpoint whose backups or records it is to have.
IN_CHECKPOINT = "it is in the checkpoint itself; give a place outside of it"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SERVERS = re.compile(r"(?:[^\s/@:,\[\]]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})")
_CONF = re.compile(r"[^\s=:-][^\s=]*")
_MATERIAL = re.compile(r"(?i)passw|pwd|secret|(?<!by)(?<!com)pass\Z")
#: Lists of names; an item that is no text is one that YAML took for something else.
_LISTS = ("operators", "classes")


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
        self._refuse_secrets((), self._document.value)  # before any error repeats one
        top = self._mapping((), self._document.value, FILE_KEYS)
        version = top.get("format_version")
        if type(version) is not int or version != FORMAT_VERSION:
            raise self._error(("format_version",), f"it is {version!r:.40}, and this ckpt reads {FORMAT_VERSION}")
        self._paths = self._mapped(("paths",), top.get("paths"))
        self._clusters = self._each(("kafka",), top.get("kafka"), self._cluster)
        storage = self._mapping(("storage",), top.get("storage"), ("options", "conn_id"))
        defaults = self._mapping(("defaults",), top.get("defaults"), _ENTRY_KEYS)
        for key in defaults.keys() & set(NO_DEFAULT):
            raise self._error(("defaults", key), "it is of one query, so it belongs to its entry")
        queries = self._each(("queries",), top.get("queries"), lambda path, said: self._query(path, said, defaults))
        pipelines = self._each(
            ("pipelines",), top.get("pipelines"), lambda path, said: self._pipeline(path, said, defaults)
        )
        for name in pipelines.keys() & queries.keys():
            raise self._error(("pipelines", name), "a query has this name, and a name means one thing")
        for path, problem in shared_places(queries, pipelines, self._paths):
            raise self._error(path if self._says(path) else ("defaults", path[-1]), problem)
        return QueryFile(
            self._place,
            queries,
            pipelines,
            StorageAccess(
                self._options(("storage", "options"), storage.get("options")),
                self._text(("storage", "conn_id"), storage.get("conn_id")),
            ),
            self._paths,
        )

    # --- parts of the file -----------------------------------------------------------------------------------------

    def _cluster(self, path: Path, said: Any) -> Cluster:
        settings = self._mapping(path, said)
        servers = self._text((*path, "bootstrap.servers"), settings.get("bootstrap.servers"))
        if servers is None:
            raise self._error(path, "it has no bootstrap.servers, such as broker:9092")
        self._checked((*path, "bootstrap.servers"), _require_servers, servers)
        conn_id = self._text((*path, "conn_id"), settings.get("conn_id"))
        others = {key: value for key, value in settings.items() if key not in ("bootstrap.servers", "conn_id")}
        return Cluster(servers, {key: conf_text(value) for key, value in self._options(path, others).items()}, conn_id)

    def _mapped(self, path: Path, said: Any) -> Paths:
        """The paths that are spelled otherwise."""
        found = self._texts(path, said)
        for spelled in found:
            if not spelled.strip("/") or not {":", "/"} & {*spelled}:
                raise self._error((*path, spelled), "it is no location, such as dbfs:/mnt/lake")
        plain = [spelled.rstrip("/") for spelled in found]
        for spelled in found:
            if plain.count(spelled.rstrip("/")) > 1:
                raise self._error((*path, spelled), "it is there twice; a slash at the end means nothing")
        return Paths(found)

    def _pipeline(self, path: Path, said: Any, defaults: Mapping[str, Any]) -> Pipeline:
        found = self._mapping(path, said, ("spec", "remote", "flows"))
        spec = self._text((*path, "spec"), found.get("spec"))
        if spec is None:
            raise self._error(path, "it has no spec, such as spark-pipeline.yml")
        flows = self._mapping((*path, "flows"), found.get("flows"))
        return Pipeline(
            self._at(spec),
            self._text((*path, "remote"), found.get("remote")),
            {name: self._flow((*path, "flows", name), each, defaults) for name, each in flows.items()},
            self._flow(path, {}, defaults),
        )

    def _flow(self, path: Path, said: Any, defaults: Mapping[str, Any]) -> Query:
        """What is declared of a flow, whose checkpoint is found; its name is known then."""
        own = self._mapping(path, said, _FLOW_KEYS)
        return self._query(path, {**own, "checkpoint": ANY_FLOW}, defaults, ANY_FLOW)

    def _query(self, path: Path, said: Any, defaults: Mapping[str, Any], name: str = "") -> Query:
        own = self._mapping(path, said, _ENTRY_KEYS)
        name = name or str(path[-1])
        at = {key: (*path, key) if key in own else ("defaults", key) for key in (*defaults, *own)}
        found = {**defaults, **own}
        checkpoint = self._text((*path, "checkpoint"), own.get("checkpoint"))
        if checkpoint is None:
            raise self._error(path, "it has no checkpoint, which is the location of its checkpoint")
        clusters: dict[str, Cluster] = {}
        if "sources" in own:
            found["sources"] = self._sources(at["sources"], own["sources"], found, clusters)
            if "source_options" in found:
                at.setdefault("source_options", at["sources"])
        self._check_entry(at, found)
        deploy = DeploySpec()
        for key in [key for key in found if key in DEPLOY_KEYS]:
            deploy = self._checked(at.get(key, path), declare, deploy, {key: found[key]})
        if deploy.sink is not None:
            deploy = declare(deploy, {"sink": self._opened(deploy.sink)})
        text = {key: self._text(at.get(key, path), found.get(key)) for key in ("confs_file", "backups", "undo")}
        location = self._at(checkpoint)
        roots = {key: self._root(at.get(key, path), text[key], name, location) for key in ("backups", "undo")}
        if (text["confs_file"] or "").endswith((".yaml", ".yml")):
            raise self._error(at["confs_file"], "it is a spark-defaults.conf, not YAML; what YAML says belongs here")
        return Query(
            name,
            location,
            deploy,
            confs_file=None if text["confs_file"] is None else self._at(text["confs_file"]),
            sinks=tuple(self._sinks((*path, "sinks"), own.get("sinks"))),
            backups=roots["backups"],
            undo=roots["undo"],
            keep=self._keep(at.get("keep", path), found.get("keep")),
            alert=self._alert(at.get("alert", path), found.get("alert")),
            engine=self._engine(path, at, found),
            clusters=clusters,
            lines={key: self._document.line(where) for key, where in self._with_alert(at).items()},
        )

    def _root(self, path: Path, text: str | None, name: str, checkpoint: str) -> str | None:
        """Root of backups or of records; it is outside of the checkpoint."""
        if text is None:
            return None
        root = self._at(text.replace("{query}", name))
        if {"{", "}"} & {*root}:
            raise self._error(path, f"it is {text!r:.60}, and {{query}} alone is replaced here")
        if self._paths.holds(checkpoint, root):
            raise self._error(path, IN_CHECKPOINT)
        return root

    def _check_entry(self, at: Mapping[str, Path], found: Mapping[str, Any]) -> None:
        """Refuse in texts, lists and confs what would be taken for a name."""
        for key in ("sink", "sink_name"):
            if isinstance(found.get(key), str) and found[key]:
                self._text(at[key], found[key])
        for key in _LISTS:
            for position, each in enumerate(found[key] if isinstance(found.get(key), list) else ()):
                self._text((*at[key], position), each, is_needed=True)
        confs = found.get("confs")
        for key in confs if isinstance(confs, dict) else ():
            if isinstance(key, str) and not _CONF.fullmatch(key):
                raise self._error((*at["confs"], key), "it is no name of a conf, such as spark.sql.shuffle.partitions")

    def _sources(self, path: Path, said: Any, found: dict[str, Any], clusters: dict[str, Cluster]) -> Any:
        """The sources, with the servers in place of a cluster's name; options beside one move to ``source_options``."""
        if isinstance(said, int):
            return said
        if not isinstance(said, list | dict) or not said:
            raise self._error(path, "they are a number, a list such as [kafka:main/orders], or a mapping by name")
        options = dict(self._options((*path[:-1], "source_options"), found.get("source_options")))
        sources: list[Source] = []
        for key, each in said.items() if isinstance(said, dict) else enumerate(said):
            at, source_id = (*path, key), str(key)
            if key is None or not source_id.strip():
                raise self._error(at, "it is no name of a source")
            if isinstance(each, dict):
                each = self._with_options(at, source_id, each, options)
            text = self._text(at, each) or ""
            sources.append(self._checked(at, self._source, text, source_id, clusters))
        for option in options:
            if not any(option.startswith(f"{source.id}.") for source in sources):
                raise self._error((*path[:-1], "source_options", option), "the query has no source with this id")
        if options:
            found["source_options"] = options
        return tuple(sources)

    def _with_options(self, at: Path, source_id: str, said: dict[str, Any], options: dict[str, Any]) -> Any:
        """The declaration of a source that has options beside it, which are added to those of all sources."""
        beside = self._mapping(at, said, ("from", "options"))
        for option, value in self._options((*at, "options"), beside.get("options")).items():
            if f"{source_id}.{option}" in options:
                raise self._error((*at, "options", option), "source_options says it as well; say it once")
            options[f"{source_id}.{option}"] = value
        return self._text((*at, "from"), beside.get("from"), is_needed=True)

    def _source(self, text: str, source_id: str, clusters: dict[str, Cluster]) -> Any:
        kind, _, place = text.partition(":")
        if place != place.strip():
            raise ValueError(f"{text!r:.60} has a space behind its type")
        if kind.strip().lower() == "kafka":
            named, slash, topics = place.partition("/")
            if named in self._clusters:
                clusters[source_id] = self._clusters[named]
                text = f"{kind}:{clusters[source_id].servers}{slash}{topics}"
            elif named and ":" not in named:
                known = ", ".join(sorted(self._clusters)) or "none"
                raise ValueError(f"{named!r} is no host with a port and no cluster under kafka; the clusters: {known}")
            elif servers := place.removeprefix("//").partition("/")[0]:
                _require_servers(servers)
        elif place:
            text = f"{kind}:{self._at(place)}"
        return parse_source(text, source_id)

    def _sinks(self, path: Path, said: Any) -> list[Sink]:
        if said is None:
            return []
        if not isinstance(said, list) or not said:
            raise self._error(path, "it is a list of the places that the query writes to, such as [delta:s3://lake/a]")
        sinks: list[Sink] = []
        for position, each in enumerate(said):
            at = (*path, position)
            sinks.append(self._opened(self._checked(at, parse_sink, self._text(at, each, is_needed=True))))
            if sinks[-1] in sinks[:-1]:
                raise self._error(at, "it is there twice")
        return sinks

    def _opened(self, sink: Sink) -> Sink:
        kind, colon, location = sink.text.partition(":")
        return parse_sink(f"{kind}:{self._at(location)}") if colon else sink

    def _at(self, location: str) -> str:
        """A location as ckpt opens it; a relative path is one beside the file."""
        opened = self._paths.opened(location)
        return opened if ":" in opened else posixpath.join(posixpath.dirname(self._place), opened)

    def _alert(self, path: Path, said: Any) -> Alert:
        found = self._mapping(path, said, tuple(Alert.FIELDS))
        values: dict[str, int] = {}
        for key, value, at in [(key, value, (*path, key)) for key, value in found.items()]:
            if key == "rows":
                if type(value) is not int or value < 0:
                    raise self._error(at, f"it is {value!r:.40}, and has to be a whole number")
                values[key] = value
            else:
                values[Alert.FIELDS[key]] = self._checked(at, parse_duration_ms, str(value))
        return Alert(**values)

    def _engine(self, path: Path, at: Mapping[str, Path], found: Mapping[str, Any]) -> DeclaredEngine | None:
        said = {key: found[key] for key in ENGINE_KEYS if key in found}
        try:
            return declare_engine(said, self._at, posixpath.dirname(self._place))
        except KeyPathError as error:
            raise self._error((*at.get(str(error.path[0]), path), *error.path[1:]), str(error)) from None

    def _keep(self, path: Path, said: Any) -> dict[str, Any]:
        found = self._mapping(path, said, KEEP_KEYS)
        try:
            return {} if said is None else declare_keep(found)
        except ValueError as error:
            raise self._error((*path, *error.args[:-1]), error.args[-1]) from None

    def _with_alert(self, at: Mapping[str, Path]) -> dict[str, Path]:
        """Paths of the declarations of a query, with those of its thresholds."""
        return {**at, **{f"alert.{key}": (*at["alert"], key) for key in Alert.FIELDS if "alert" in at}}

    def _says(self, path: Path) -> bool:
        """True if the file itself has a key."""
        at = self._document.value
        try:
            for key in path:
                at = at[key]
        except (KeyError, IndexError, TypeError):
            return False
        return True

    # --- forms -----------------------------------------------------------------------------------------------------

    def _refuse_secrets(self, path: Path, value: Any) -> None:
        """Refuse what may be a password, a key or a token, wherever it is."""
        if isinstance(value, dict | list):
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(key, str) and may_be_secret("", key):
                    raise self._error(path, f"a key in it {_SECRET}")
                self._refuse_secrets((*path, key), each)
            return
        name = next((key for key in reversed(path) if isinstance(key, str)), "")
        is_number = type(value) in (int, float) and _MATERIAL.search(name) is not None
        if (is_number or isinstance(value, str)) and may_be_secret(name, str(value)):
            raise self._error(path, f"it {_SECRET}")

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
            hint = "; write a space behind each colon" if isinstance(said, str) and ":" in said else ""
            raise self._error(path, f"it is not a mapping with keys and values{hint}")
        for key, value in said.items():
            if not isinstance(key, str):
                raise self._error((*path, key), "it is not a text; write it in quotes")
            if keys is not None and key not in keys:
                raise self._error((*path, key), self._unknown(key, keys))
            if keys is not None and value is None:
                raise self._error((*path, key), _NO_VALUE)
        return said

    def _unknown(self, key: str, keys: tuple[str, ...]) -> str:
        near = get_close_matches(key.lower().replace("-", "_"), keys, 1)
        if near:
            return f"it is unknown here; did you mean {near[0]}?"
        return f"it is unknown here; the keys are {', '.join(sorted(keys))}"

    def _options(self, path: Path, said: Any) -> dict[str, Any]:
        """A mapping whose values are texts, numbers, booleans or mappings of these."""
        found = self._mapping(path, said)
        for key, value in found.items():
            if isinstance(value, dict):
                self._options((*path, key), value)
            elif value is None:
                raise self._error((*path, key), _NO_VALUE)
            elif isinstance(value, str):
                self._text((*path, key), value or "-")
            elif isinstance(value, list):
                raise self._error((*path, key), "it is a list, and has to be a text, a number, true or false")
        return found

    def _texts(self, path: Path, said: Any) -> dict[str, str]:
        found = self._mapping(path, said)
        return {key: self._text((*path, key), each, is_needed=True) or "" for key, each in found.items()}

    def _text(self, path: Path, value: Any, *, is_needed: bool = False) -> str | None:
        if value is None and not is_needed:
            return None
        if not isinstance(value, str) or not value:
            raise self._error(path, _NO_VALUE if value is None else f"it is {value!r:.40}, and has to be a text")
        problem = problem_of(value)
        if problem:
            raise self._error(path, f"it is {visible(repr(value)):.60}, {problem}")
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


_ENTRY_KEYS = (*DEPLOY_KEYS, *QUERY_KEYS)
_FLOW_KEYS = tuple(key for key in _ENTRY_KEYS if key != "checkpoint")
_NO_VALUE = "it has no value; write one, or leave the key out"
_SECRET = "may be a secret; keep secrets in a connection of Airflow or in the environment"


def _require_servers(servers: str) -> None:
    """Raise ValueError for what are no bootstrap servers."""
    for server in servers.split(","):
        found = _SERVERS.fullmatch(server)
        if found is None or not 0 < int(found[1]) < 1 << 16:
            raise ValueError(f"{scrub(server)!r:.60} is no host with a port, such as broker:9092")
