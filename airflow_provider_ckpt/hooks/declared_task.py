"""A task on a query that is named: its location, and what the query file declares of it, become arguments of the task.

The file is read when the task runs. An argument that is given wins over the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.hooks.given import is_left_out, is_nothing
from airflow_provider_ckpt.hooks.query_file import as_opened, configured_file, read_file, with_flows
from airflow_provider_ckpt.query.declared import DECLARED, PLACED, cluster_of, clusters_of
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.documents.tasks import OfQueryFileFields
    from airflow_provider_ckpt.query.query_file import Query, QueryFile
    from airflow_provider_ckpt.storage.store import Store

#: What is known as soon as the query is, beside what DECLARED has.
CHECKPOINT, CONNECTION = "checkpoint", "checkpoint_conn_id"

#: Arguments that configure a client, and are no declaration of the query.
_OF_CLIENTS = ("kafka_conn_id",)


class DeclaredTask:
    """A task that takes ``query`` in place of a location, and of what a query file declares of the query."""

    #: Arguments that have to be there when the task runs. Without a query, the DAG does not load when one is missing.
    needs: ClassVar[Sequence[str]] = (CHECKPOINT,)
    #: Arguments that get another declaration than that of their name; None is for one that the task itself adds.
    declared_as: ClassVar[Mapping[str, str | None]] = {}
    #: True where the checkpoint that is given may be another one than that of the query.
    has_own_checkpoint: ClassVar[bool] = False
    #: True where ``query`` may be a list of names.
    takes_several: ClassVar[bool] = False
    checkpoint: Any
    checkpoint_conn_id: str | None
    query: Any = None
    query_file: str | None = None
    #: The query, once the task runs, and its file; None where none is named.
    declared_query: Query | None = None
    declared_file: QueryFile | None = None
    #: The queries of the file that the task is about, once it runs.
    declared_queries: Sequence[Query] = ()
    log: Any
    #: Where the file declares what was not given, by argument; and what the arguments were before.
    _origins: Mapping[str, str] = MappingProxyType({})
    _before: Mapping[str, Any] = MappingProxyType({})
    #: Keys of the file in whose place the task was given something else.
    _given_keys: Collection[str] = frozenset()

    def require_named(self) -> None:
        """Raise AirflowFailException for a task that lacks what no query file can tell it; called when a DAG is read.

        Each constructor that sets one of the arguments that are needed calls it.
        """
        if self.query is not None:
            return
        lacking = [name for name in self.needs if hasattr(self, name) and is_left_out(getattr(self, name))]
        may_be_known = CHECKPOINT in self.needs and CHECKPOINT not in lacking
        if lacking and not (may_be_known and (self.query_file or configured_file())):
            with airflow_errors():
                raise CheckpointError(
                    f"{getattr(self, 'task_id', 'the task')}: neither query nor {lacking[0]} is given; give query, a "
                    f"name in the query file, or {lacking[0]}"
                )

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        file, query = self.declared_file, self.declared_query
        storage = {} if file is None else file.storage.options
        kafka = {} if query is None else DECLARED["kafka_config"].of(query)
        own_storage, own_kafka = (getattr(self, name, None) or {} for name in ("storage_options", "kafka_options"))
        clusters = {**self._clusters(), **(getattr(self, "kafka_clusters", None) or {})}
        return CheckpointHook(self.checkpoint_conn_id, {**storage, **own_storage}, {**kafka, **own_kafka}, clusters)

    def _clusters(self) -> dict[str, dict[str, Any]]:
        """Kafka clusters by their servers; the only one of a query is in the arguments of the task already."""
        if self.declared_query is not None and cluster_of(self.declared_query) is not None:
            return {}
        clusters = clusters_of(self.declared_queries)
        return {at: {"options": dict(it.options), "conn_id": it.conn_id} for at, it in clusters.items()}

    @property
    def is_declared(self) -> bool:
        """True if a query or a file is named; of a trigger whose sensor has read the file, neither is."""
        return self.query is not None or self.query_file is not None

    def options_for_trigger(self) -> dict[str, Any]:
        """Options of the storage and of Kafka's client that the query file declares, as a trigger takes them."""
        return {
            "storage_options": self.hook.storage_options or None,
            "kafka_options": self.hook.kafka_options or None,
            "kafka_clusters": self.hook.kafka_clusters or None,
        }

    @property
    def origins(self) -> Mapping[str, str]:
        """Where the query file declares what the task was not given, by argument, such as ``ckpt.yaml line 12``."""
        return self._origins

    @contextmanager
    def running(self, context: Any = None) -> Iterator[None]:
        """Errors of this package as Airflow's, once the query is known and what its file declares."""
        with airflow_errors(context):
            self.declare()
            yield

    def declare(self) -> None:
        """Find the query, and set the arguments that were not given to what its file declares.

        Raises:
            CheckpointError: There is no such query, its checkpoint is another one than that which is given, or one is
                missing that the file does not have.
            StoreError: The file cannot be read.
        """
        self._put_back()
        if isinstance(self.query, list | tuple) and not self.query:
            raise CheckpointError("query is a list without a name; name queries, or leave it out")
        self.open_given()
        self.declare_query()
        for name in self.needs:
            value = getattr(self, name)
            if is_left_out(value) or (self.declared_query is not None and is_nothing(value)):
                raise CheckpointError(self._lacking(name))
        if self.origins:
            said = ", ".join(f"{name} by {origin}" for name, origin in self.origins.items())
            self.log.info("Declared of %s: %s", visible(self._named_text()), visible(said))

    def open_given(self) -> None:
        """Exchange the locations that are given as the cluster spells them, by the file. Raises as :meth:`declare`."""
        given = {name: value for name in PLACED if not is_nothing(value := getattr(self, name, None))}
        for name, value in given.items():
            if (found := as_opened(value, self.query_file)) != value:
                self._before = {**self._before, name: value}
                setattr(self, name, found)

    def declare_query(self) -> None:
        """Find the query, and set what its file declares. Raises as :meth:`declare`."""
        if self.takes_several and isinstance(self.query, list | tuple):
            self._fill_several([str(name) for name in self.query])
        elif (found := self._find()) is not None:
            self.declared_file, self.declared_query = found
            self.declared_queries = (self.declared_query,)
            self._fill(*found)

    @property
    def query_name(self) -> str | None:
        """Name of the query that the task is about; None when none is known."""
        return None if self.declared_query is None else self.declared_query.name

    @property
    def declares_engine(self) -> bool:
        """True where the query file says where the query of the task runs."""
        return self.declared_query is not None and self.declared_query.engine is not None

    def declared_deploy(self, query: Query | None = None) -> DeploySpec:
        """What the query file declares of the query, with the confs of its file of confs. Raises CheckpointError.

        :param query: One of several queries.
        """
        query = query or self.declared_query
        if query is None:
            return DeploySpec()
        from airflow_provider_ckpt.fleet.read_query_file import read_deploy

        try:
            return read_deploy(query, self.hook.store)
        except ValueError as error:
            raise CheckpointError(str(error), location=query.checkpoint) from None

    def not_declared(self) -> Collection[str]:
        """Arguments for which the query file does not count in this run."""
        return ()

    def told_of_file(self) -> OfQueryFileFields:
        """What a result says of the query file; nothing where no query of one is known."""
        told: OfQueryFileFields = {}
        if self.query_name is not None:
            told["query"] = visible(self.query_name)
        if self.origins:
            told["declared"] = {key: visible(origin) for key, origin in self.origins.items()}
        return told

    def with_declarations(self, plan: Plan) -> Plan:
        """A new plan with what the query file declares of the query; the same without a query."""
        if self.declared_query is None or plan.completes:
            return plan
        from airflow_provider_ckpt.change.plan.declared import with_declared

        return with_declared(plan, self.declared_query, self._given_keys)

    def require_declarations(self, plan: Plan) -> None:
        """Raise StalePlanError for a plan that was made when the query file declared something else, or the query."""
        from airflow_provider_ckpt.change.plan.declared import require_not_declared, require_same_declared

        if self.declared_query is not None and self.declared_file is not None:
            require_same_declared(plan, self.declared_file, self.declared_query)
        else:
            require_not_declared(plan, self.query_file or configured_file(), "Make the plan anew.")

    def with_flows(self, file: QueryFile, words: Sequence[str]) -> QueryFile:
        """The query file with the flows of the pipelines that names or locations are of. Raises CheckpointError.

        :param file: The query file.
        :param words: Names and locations.
        """
        return with_flows(file, words, self.opened(file))

    def opened(self, file: QueryFile) -> Callable[[str], Store]:
        """What opens the locations of a query file."""
        return CheckpointHook(self.checkpoint_conn_id or file.storage.conn_id, file.storage.options).store

    # --- finding ---------------------------------------------------------------------------------------------------

    def _find(self) -> tuple[QueryFile, Query] | None:
        given = getattr(self, CHECKPOINT, None)
        if is_nothing(self.query):
            place = self.query_file or configured_file()
            if not isinstance(given, str) or not given or not place:
                return None
            url = self.hook.url(given)
            file = self.with_flows(read_file(place), [url])
            known = file.find(url)
            return None if known is None else (file, known)
        if not isinstance(self.query, str):
            raise CheckpointError(f"query must be the name of a query in the query file, not {self.query!r:.60}")
        file = self.with_flows(read_file(self.query_file), [self.query])
        query = file.named(self.query)
        if not is_nothing(given) and not self.has_own_checkpoint:
            self._require_same(file, query, given)
        return file, query

    def _require_same(self, file: QueryFile, query: Query, given: Any) -> None:
        url = self.hook.url(given) if isinstance(given, str) else given
        if not isinstance(url, str) or file.paths.place(url) != file.paths.place(query.checkpoint):
            raise CheckpointError(
                f"the query {query.name} has its checkpoint at {query.checkpoint}, as "
                f"{file.origin(query, CHECKPOINT)} says, and checkpoint is {given!r:.200}",
                hint="Give one of query and checkpoint.",
            )

    def _named_text(self) -> str:
        """The queries that the task is about, for its log."""
        if self.query_name is not None:
            return f"the query {self.query_name}"
        names = [self.query] if isinstance(self.query, str) else self.query or ()
        names = [str(name) for name in names if not is_nothing(name)]
        if not names:
            return "all queries of the file"
        return f"the {'query' if len(names) == 1 else 'queries'} {', '.join(names)}"

    def _lacking(self, name: str) -> str:
        query, file = self.declared_query, self.declared_file
        if query is None or file is None:
            return f"{name} is not given, and neither is query, a name in the query file"
        key = DECLARED[name].key if name in DECLARED else name
        if (origin := file.origin(query, key)) is not None:  # sources, of none of which it is known where they end
            return f"{name} is not given, and what {origin} says of the query {query.name} is not where a source ends"
        return f"{name} is not given, and the query {query.name} in {file.place} has no key {key}"

    # --- filling ---------------------------------------------------------------------------------------------------

    def _fill(self, file: QueryFile, query: Query) -> None:
        left_out = self.not_declared()
        own = {name: name for name in DECLARED if hasattr(self, name)}
        for name, key in {**own, **self.declared_as}.items():
            if name in left_out:
                continue
            if key is not None and not is_nothing(getattr(self, name)) and name not in _OF_CLIENTS:
                self._given_keys = {*self._given_keys, DECLARED[key].key}
            if key is not None:
                self._set(name, DECLARED[key].of(query), file.origin(query, DECLARED[key].key) or file.place)
            elif (origin := file.origin(query, name) or file.origin(query, f"{name}_file")) is not None:
                self._origins = {**self._origins, name: origin}
        if hasattr(self, CHECKPOINT) and is_nothing(self.checkpoint):
            self._set(CHECKPOINT, query.checkpoint, file.origin(query, CHECKPOINT) or file.place)
        self._set(CONNECTION, file.storage.conn_id, file.place)
        self.__dict__.pop("hook", None)  # of another connection, and without the options

    def _fill_several(self, names: Sequence[str]) -> None:
        """The locations of queries, and the sources of each where the task asks for them: all else is of one query."""
        file = self.declared_file = self.with_flows(read_file(self.query_file), names)
        queries = self.declared_queries = [file.named(name) for name in names]
        self._set(CHECKPOINT, [query.checkpoint for query in queries], file.place)
        if hasattr(self, "sources"):
            key = self.declared_as.get("sources") or "sources"
            self._set("sources", {query.checkpoint: DECLARED[key].of(query) for query in queries}, file.place)
        self._set(CONNECTION, file.storage.conn_id, file.place)
        self.__dict__.pop("hook", None)

    def _set(self, name: str, value: Any, origin: str) -> None:
        """Set an argument to what the file says, unless it is given."""
        now = getattr(self, name)
        if is_nothing(value) or not is_nothing(now):
            return
        self._before = {**self._before, name: now}
        self._origins = {**self._origins, name: origin}
        setattr(self, name, value)

    def _put_back(self) -> None:
        """Take back what an earlier try in this process has set: the file may say something else now."""
        for name, value in self._before.items():
            setattr(self, name, value)
        self._origins, self._before, self._given_keys = {}, {}, frozenset()
        self.declared_query = self.declared_file = None
        self.declared_queries = ()
        self.__dict__.pop("hook", None)
