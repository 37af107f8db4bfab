"""The hook: a location and a connection become a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, BaseHook
from airflow.sdk.io import get_fs, has_fs

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, StorageOptionError
from airflow_provider_ckpt.get_provider_info import UI_FIELD_BEHAVIOUR
from airflow_provider_ckpt.hooks.extra import extra_of
from airflow_provider_ckpt.hooks.kafka import cluster_configs, kafka_config
from airflow_provider_ckpt.query.trigger import TRIGGERS
from airflow_provider_ckpt.times import parse_duration_ms
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import require_flag
from airflow_provider_ckpt.visible import visible_values

if TYPE_CHECKING:  # a DAG file is read over and over, and opens nothing
    from airflow_provider_ckpt.query.source_options import QueryOptions
    from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight
    from airflow_provider_ckpt.sources.open_end import Access
    from airflow_provider_ckpt.storage.store import Store
    from airflow_provider_ckpt.waiting import SourceEnds

#: XCom key of what a task has failed with.
ERROR_KEY = "error"
#: What the extra of a connection may say.
_EXTRA = ("storage_conn_id", "storage_options")


class CheckpointHook(BaseHook):
    """Opens checkpoint locations with the storage credentials of an Airflow connection.

    A connection of type ``checkpoint`` is optional. Its host is a base location, to which relative locations are
    appended. Its extra may name another connection (``storage_conn_id``, such as an AWS one), whose provider then opens
    the storage, and ``storage_options`` for the fsspec driver.

    :param checkpoint_conn_id: Id of the connection; None when all locations are absolute.
    :param storage_options: Options of the fsspec driver, over which those of the connection win.
    :param kafka_options: Settings of Kafka's client, which win over those of a connection of type ``kafka``.
    :param kafka_clusters: What the query file says of several clusters, by their servers: ``options`` and ``conn_id``.
    """

    conn_name_attr = "checkpoint_conn_id"
    default_conn_name = "checkpoint_default"
    conn_type = "checkpoint"
    hook_name = "Spark checkpoint"

    def __init__(
        self,
        checkpoint_conn_id: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        kafka_options: Mapping[str, str] | None = None,
        kafka_clusters: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        self.checkpoint_conn_id = checkpoint_conn_id
        self.storage_options = dict(storage_options or {})
        self.kafka_options = dict(kafka_options or {})
        self.kafka_clusters = dict(kafka_clusters or {})
        self._opened: dict[tuple[str, ...], Any] = {}
        self._base: str | None = None if checkpoint_conn_id else ""

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """The connection form of Airflow before 3.3; later ones take it from the provider info."""
        return {key.replace("-", "_"): value for key, value in UI_FIELD_BEHAVIOUR.items()}

    def get_conn(self) -> Any:
        """The connection, or None when the hook has none."""
        if not self.checkpoint_conn_id:
            return None
        connection = self.get_connection(self.checkpoint_conn_id)
        _require_own(connection)
        self._base = connection.host or ""
        return connection

    def url(self, location: str) -> str:
        """A location as it is opened: a relative one behind the base location of the connection."""
        connection = self.get_conn()
        return location if connection is None else self._url(connection.host or "", location)

    def known_url(self, location: str | None) -> str | None:
        """As :meth:`url`, without asking for the connection: None for a relative location before it was asked for."""
        if not location:
            return None
        if self._base is None:
            return location if _is_absolute(location) else None
        return self._url(self._base, location)

    def source_ends(self, checkpoint: str, sources: Mapping[str, str], kafka_conn_id: str | None = None) -> SourceEnds:
        """The latest offsets of the sources of a query.

        :param checkpoint: The checkpoint of the query.
        :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``.
        :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
        """
        from airflow_provider_ckpt.query.source import parse_by_id
        from airflow_provider_ckpt.sources.open_end import DeclaredEnds

        return DeclaredEnds(parse_by_id(sources), self.access(checkpoint, kafka_conn_id))

    def foresight(
        self,
        checkpoint: str,
        sources: Mapping[str, str],
        source_options: Mapping[str, Any] | None,
        trigger: str | None,
        kafka_conn_id: str | None = None,
    ) -> WaitForesight | None:
        """Forecast for a wait on the Kafka sources of a query; None when nothing was declared of the query.

        Raises CheckpointError for an option or a trigger that makes no sense.

        :param source_options: Options of the query's sources, such as ``{"0.maxOffsetsPerTrigger": 1000}``.
        :param trigger: Its trigger, such as ``availableNow``.

        The other parameters are those of :meth:`source_ends`.
        """
        if not source_options and not trigger:
            return None
        from airflow_provider_ckpt.query.source import parse_by_id
        from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight

        options = query_options_of(source_options, trigger)
        return WaitForesight(parse_by_id(sources), options, self.access(checkpoint, kafka_conn_id))

    def access(self, checkpoint: str, kafka_conn_id: str | None = None) -> Access:
        """How the sources of a query are come by. Parameters as for :meth:`source_ends`."""
        from airflow_provider_ckpt.sources.open_end import Access

        config, configs = self.kafka_config(kafka_conn_id), self.kafka_configs(kafka_conn_id)
        return Access(self.store, self.store(checkpoint), config, kafka_configs=configs)

    def kafka_config(self, kafka_conn_id: str | None = None) -> dict[str, Any]:
        """The configuration of the client that asks a broker. Raises StoreError."""
        return {**kafka_config(kafka_conn_id), **self.kafka_options}

    def kafka_configs(self, kafka_conn_id: str | None = None) -> dict[str, dict[str, Any]]:
        """The configuration of the clients of some clusters, by their servers; :meth:`kafka_config` wins over it.

        Raises StoreError.
        """
        return cluster_configs(self.kafka_clusters, kafka_conn_id)

    def store(self, location: str) -> Store:
        """Open a location; a relative one is appended to the base location of the connection.

        The directory of a flow of a declarative pipeline means the version that runs.

        Raises CheckpointError when no fsspec driver is known for it.
        """
        if not isinstance(location, str):
            raise CheckpointError(f"a location must be a path or a URI as a text, not {location!r:.60}")
        from airflow_provider_ckpt.storage.opening import require_location

        require_location(location)
        return self._opened_with(self.get_conn(), location)

    def _opened_with(self, connection: Any, location: str) -> Store:
        from airflow_provider_ckpt.checkpoint.find_flows import at_running_version
        from airflow_provider_ckpt.storage.store import Store

        if connection is None:
            return at_running_version(Store.open(location, **self.storage_options))
        url = self._url(connection.host or "", location)
        extra = extra_of(connection)
        options = {**self.storage_options, **options_of(connection)}
        scheme = url.partition("://")[0] if "://" in url else "file"
        storage_conn_id = extra.get("storage_conn_id")
        if storage_conn_id and scheme != "file":
            if not has_fs(scheme):
                raise CheckpointError(
                    f"the connection {connection.conn_id} has the storage_conn_id {storage_conn_id!r:.60}, but no "
                    f"provider of this Airflow opens {scheme}:// locations",
                    hint="Install the provider of the storage, such as apache-airflow-providers-amazon[s3fs] for s3, "
                    "where tasks run; or put the credentials into storage_options.",
                )
            fs = self._fs(scheme, storage_conn_id, options)
            path = fs._strip_protocol(url)  # noqa: SLF001  # fsspec has no other way to its path
            return at_running_version(Store(fs, path, url))
        return at_running_version(Store.open(url, **options))

    def _fs(self, scheme: str, storage_conn_id: str, options: dict[str, Any]) -> Any:
        """One file system for all locations of a connection, so that S3 sees what it can copy by itself."""
        key = (scheme, storage_conn_id, json.dumps(options, sort_keys=True))
        if key not in self._opened:
            self._opened[key] = get_fs(scheme, storage_conn_id, options or None)
        return self._opened[key]

    def test_connection(self) -> tuple[bool, str]:
        """List the base location, for the test button of the connection form and `airflow connections test`."""
        try:
            base = self.get_conn().host if self.checkpoint_conn_id else None
            if not base:
                return False, "the connection has no host (the base location), so there is nothing to test."
            store = self._opened_with(self.get_conn(), "")
            objects, directories = store.ls()
            if not objects and not directories and not store.exists():
                return False, f"{store.location}: does not exist."
        except CheckpointError as error:
            # `airflow connections test` takes [gcs] for markup; pip reads an extra behind a space as well.
            return False, str(error).replace("[", "[ ")
        return True, f"{len(objects) + len(directories)} entries"

    @staticmethod
    def _url(base: str, location: str) -> str:
        if _is_absolute(location) or not base:
            return location
        return f"{base.rstrip('/')}/{location.lstrip('/')}".rstrip("/")


def _is_absolute(location: str) -> bool:
    return "://" in location or location.startswith("/")


def _require_own(connection: Any) -> None:
    """Raise CheckpointError for a connection of another type, or one whose extra says what nobody reads."""
    kind, conn_id = connection.conn_type, connection.conn_id
    if kind and kind != CheckpointHook.conn_type:
        raise CheckpointError(
            f"the connection {conn_id} is of type {kind!r:.60}, not {CheckpointHook.conn_type}",
            hint=f"Make a connection of type {CheckpointHook.conn_type} whose extra names it: "
            f'{{"storage_conn_id": "{conn_id}"}}.',
        )
    for key in extra_of(connection):
        if key not in _EXTRA:
            near = get_close_matches(key, _EXTRA, 1)
            meant = f"; {near[0]} is meant, perhaps" if near else ""
            raise CheckpointError(
                f"the extra of the connection {conn_id} has the key {key!r:.60}, which means nothing{meant}",
                hint=f"Its keys are {' and '.join(_EXTRA)}; options of the fsspec driver belong into storage_options.",
            )


def options_of(connection: Any) -> dict[str, Any]:
    """The storage options that a connection holds, as an object or as its JSON text. Raises StorageOptionError."""
    given, conn_id = extra_of(connection).get("storage_options") or {}, connection.conn_id
    try:
        options = parse_json(given) if isinstance(given, str) else given
    except ValueError as error:
        raise StorageOptionError(f"the storage_options of the connection {conn_id} are not JSON: {error}") from None
    if not isinstance(options, dict):
        raise StorageOptionError(f"the storage_options of the connection {conn_id} are not a JSON object")
    return options


@contextmanager
def airflow_errors(context: Any = None) -> Iterator[None]:
    """Errors of this package as Airflow's: AirflowException where a retry may help, else AirflowFailException.

    With the context of a task, what it fails with is in the XCom ``error`` as well, as ``ckpt --json`` prints it.
    """
    try:
        yield
    except CheckpointError as error:
        if context is not None:
            push_error(context, error.to_dict())
        raise airflow_error(error) from error


def push_error(context: Any, told: Mapping[str, Any]) -> None:
    """Let the tasks behind this one read what it failed with, in texts that any database holds."""
    if (task := context.get("ti")) is None:  # called by a program, and not by Airflow
        return
    task.xcom_push(key=ERROR_KEY, value={"format_version": FORMAT_VERSION, "error": visible_values(dict(told))})


def airflow_error(error: CheckpointError) -> Exception:
    """The Airflow exception for one of our errors."""
    return failure(error.code, error, retryable=error.retryable)


def failure(code: str, error: CheckpointError, *, retryable: bool) -> Exception:
    """The Airflow exception for an error that may come from another process, which told its code."""
    kind: type[Exception] = AirflowException if retryable else AirflowFailException
    return kind(f"{code}: {error}")


def require_flags(task: object, *names: str) -> None:
    """Refuse flags of a task that are neither True nor False, before anything is done. Raises PlanError."""
    for name in names:
        require_flag(name, getattr(task, name))


def duration_ms_of(name: str, value: Any) -> int:
    """A duration: a timedelta, a text, or seconds as a number. Raises CheckpointError."""
    try:
        return parse_duration_ms(value if isinstance(value, timedelta) else str(value))
    except ValueError as error:
        raise CheckpointError(f"{name}: {error}") from None


def query_options_of(source_options: Mapping[str, Any] | None, trigger: str | None) -> QueryOptions:
    """Options of the Kafka sources, and the trigger, that a task declares for a query. Raises CheckpointError."""
    if trigger and trigger not in TRIGGERS:
        raise CheckpointError(f"trigger must be one of {', '.join(TRIGGERS)}, not {trigger!r:.60}")
    from airflow_provider_ckpt.query.source_options import option_texts, parse_options

    try:
        return parse_options(option_texts(source_options or {}).items(), trigger or None)
    except ValueError as error:
        raise CheckpointError(f"source_options: {error}") from error
