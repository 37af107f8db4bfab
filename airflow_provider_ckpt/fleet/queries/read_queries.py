"""Reading the queries of a query file: their checkpoints, their sources, their backups, the changes made to them.

Each reading has a time limit, so that a storage or a broker that does not answer is told, and holds no other query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.change.record.journal import find_newest
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, list_checkpoint, list_logs
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import worst_first
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.engines.open_engine import Connect, from_environment
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.find import patiently
from airflow_provider_ckpt.fleet.judge import row_of
from airflow_provider_ckpt.fleet.queries.ask_engines import Running, ask_engine
from airflow_provider_ckpt.fleet.queries.ask_in_time import Late, in_time
from airflow_provider_ckpt.fleet.queries.ask_sources import SourcesAnswer, ask_sources
from airflow_provider_ckpt.fleet.queries.read_flows import WantedQueries
from airflow_provider_ckpt.fleet.queries.row import NewestBackup, NewestChange, QueryRow, delay_of, thresholds_of
from airflow_provider_ckpt.fleet.queries.silence import Silence
from airflow_provider_ckpt.fleet.queries.thresholds import behind_of
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.declared import options_of_clusters
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart.judged import not_read
from airflow_provider_ckpt.sources.judge_sources import can_lose
from airflow_provider_ckpt.sources.judge_tables import judge_tables
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.read_losses import data_loss_of
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, question_of, read_ahead
from airflow_provider_ckpt.sources.table_loss import TableLosses
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text

#: The brokers are asked for so many queries together; as many checkpoints are held at once.
TOGETHER = 200
TIMEOUT_S = 15.0
#: Of so many queries it is remembered what has been read.
MOST_REMEMBERED = 1_000
_SOCKET_TIMEOUT = "socket.timeout.ms"
NO_ENGINE = "no engine is declared"
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A checkpoint that was read.

    Args:
        store: Its directory.
        listing: The listing that it was read by.
        view: What was read.
    """

    store: Store
    listing: DirectoryListing
    view: CheckpointView


@dataclass(frozen=True, slots=True)
class _Question:
    """What the sources of a query are asked, or why they cannot be."""

    lag: LagQuestion
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Answers:
    """What was answered of one query, or why not; None where there is nothing, or nothing is declared."""

    sources: SourcesAnswer | CheckpointError | None
    losses: TableLosses | CheckpointError
    backup: NewestBackup | CheckpointError | None
    change: NewestChange | CheckpointError | None


class QueryReader:
    """Reads queries as often as it is asked to; a checkpoint that has not changed is only listed again.

    Args:
        wanted: The queries.
        open_store: Opens a location.
        kafka_config: Options of all Kafka clients, over those that the file declares.
        configs: Options of the clients of some servers, by these; None for those that the file declares.
        threads: How many readings are under way at once.
        timeout_s: How long each may take, seconds.
        connect: Gives the connection of an engine by its id.
    """

    def __init__(
        self,
        wanted: WantedQueries,
        open_store: Callable[[str], Store],
        kafka_config: Mapping[str, Any],
        *,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
        threads: int = THREADS,
        timeout_s: float = TIMEOUT_S,
        connect: Connect = from_environment,
    ) -> None:
        self._connect = connect
        self._config = {_SOCKET_TIMEOUT: str(max(1_000, int(timeout_s * 1_000))), **kafka_config}
        self._given_configs, self._configs = configs, dict[str, Mapping[str, Any]]()
        self._threads, self._timeout_s = threads, timeout_s
        self._brokers = Brokers(self._config)
        self._silence, self._late = Silence(), dict[str, str]()
        self._seen: dict[str, _Seen] = {}
        self._backups: dict[str, NewestBackup] = {}
        self._file = wanted.file
        self.take(wanted, open_store)

    def take(self, wanted: WantedQueries, open_store: Callable[[str], Store]) -> None:
        """Read these queries from now on: the file may have changed, and a flow has a new version after a full refresh.

        Args:
            wanted: The queries.
            open_store: Opens a location.
        """
        given = self._given_configs
        configs = dict(options_of_clusters(wanted.file.queries.values()) if given is None else given)
        if configs != self._configs:
            self._brokers = Brokers(self._config)  # without the connections of other settings
        if wanted.file.storage != self._file.storage:  # one location may be another place then
            self._seen, self._backups = {}, {}
        self._configs, self._open = configs, open_store
        self._file, self._failures = wanted.file, wanted.failures
        self._queries = [wanted.file.queries[name] for name in wanted.names]

    def read(self) -> Iterator[QueryRow]:
        """A row for each query, in the order of the file, and for each pipeline that cannot be read."""
        self._brokers = Brokers(self._config, self._brokers.connections, self._configs)
        self._silence, self._late = Silence(), {}
        queries = iter(self._queries)
        while some := list(islice(queries, TOGETHER)):
            yield from self._read_together(some)
        yield from self._failures

    def _read_together(self, queries: Sequence[Query]) -> Iterator[QueryRow]:
        seen = dict(zip((query.name for query in queries), self._answers(self._see, queries, _checkpoint), strict=True))
        there = [(query, found) for query in queries if isinstance(found := seen[query.name], _Seen)]
        questions = {query.name: _question(query) for query, _ in there}
        self._ask_brokers([(found.view, questions[query.name].lag) for query, found in there])
        asked = now_ms()
        sources = self._answers(lambda item: self._ask(item[1], questions[item[0].name], asked), there)
        losses = self._answers(lambda item: self._compare(item[0], item[1], asked), zip(there, sources, strict=True))
        backups = self._answers(lambda item: self._newest_backup(*item), there, lambda item: item[0].backups)
        changes = self._answers(lambda item: self._newest_change(*item), there, lambda item: item[0].undo)
        answers = map(_Answers, sources, losses, backups, changes)
        told = {query.name: self._row(query, found, of) for (query, found), of in zip(there, answers, strict=True)}
        running = self._ask_engines(queries)
        for query in queries:
            found, runs = seen[query.name], running[query.name]
            row = told[query.name] if isinstance(found, _Seen) else self._not_read(query, found)
            yield replace(row, running=runs.runs, running_unknown=runs.why, running_said=runs.said)

    def _ask_engines(self, queries: Sequence[Query]) -> dict[str, Running]:
        """What the engines say of the queries; of one that declares none nobody is asked."""
        asked = [query for query in queries if query.engine is not None]
        found = self._answers(lambda query: ask_engine(self._file, query, self._open, self._connect), asked)
        running = {query.name: Running(None, NO_ENGINE) for query in queries}
        for query, answer in zip(asked, found, strict=True):
            if isinstance(answer, CheckpointError):
                answer = Running(None, f"{query.name}: {answer.message}")
            running[query.name] = answer
        return running

    def _answers(
        self,
        function: Callable[[Any], Result],
        items: Iterable[Any],
        location_of: Callable[[Any], str | None] = lambda _: None,
    ) -> list[Result | CheckpointError]:
        """Results in order; of one that fails its error, of one that does not answer in time an error that says so.

        Args:
            function: What is asked of each item.
            items: The items.
            location_of: The location that it is asked at, where one that is silent need not be asked again and again.
        """

        def ask(item: Any) -> Result:
            with self._silence.asking(location_of(item)):
                return function(item)

        found: list[Result | CheckpointError] = []
        items = list(items)
        answers = in_time([partial(ask, item) for item in items], threads=self._threads, timeout_s=self._timeout_s)
        for item, answer in zip(items, answers, strict=True):
            try:
                found.append(answer())
            except CheckpointError as error:
                found.append(error)
            except Late:
                self._silence.was_in_vain(location_of(item))
                within = duration_text(self._timeout_s * 1000)
                found.append(StoreUnavailableError(f"there was no answer within {within}"))
        return found

    # --- the checkpoint ---------------------------------------------------------------------------------------------

    def _see(self, query: Query) -> _Seen:
        return _see(self._open(query.checkpoint), self._seen.get(query.name))

    def _not_read(self, query: Query, error: CheckpointError) -> QueryRow:
        self._seen.pop(query.name, None)
        unread = FleetRow(query.checkpoint, error=error.message)
        return QueryRow(
            query.name,
            query.checkpoint,
            thresholds=thresholds_of(unread, query, self._file),
            failure=error.at(query.checkpoint),
        )

    def _row(self, query: Query, seen: _Seen, answers: _Answers) -> QueryRow:
        if len(self._seen) < MOST_REMEMBERED or query.name in self._seen:
            self._seen[query.name] = seen
        row = _judged(query, seen.view, answers.losses)
        if isinstance(answers.sources, CheckpointError):
            row = replace(row, lag_error=f"its sources: {answers.sources.message}")
        elif answers.sources is not None:
            row = replace(row, sources=answers.sources.sources, lag_error=answers.sources.error)
        return QueryRow(
            query.name,
            query.checkpoint,
            watermark_delay_ms=delay_of(row),
            behind_ms=behind_of(row.sources),
            backup=None if isinstance(answers.backup, CheckpointError) else answers.backup,
            backup_unknown=str(answers.backup) if isinstance(answers.backup, CheckpointError) else None,
            change=None if isinstance(answers.change, CheckpointError) else answers.change,
            change_unknown=str(answers.change) if isinstance(answers.change, CheckpointError) else None,
            thresholds=thresholds_of(row, query, self._file),
            checkpoint=row,
        )

    # --- its sources ------------------------------------------------------------------------------------------------

    def _ask_brokers(self, asked: Sequence[tuple[CheckpointView, LagQuestion]]) -> None:
        """Ask each cluster for all queries together, and remember why some did not answer in time."""
        at_ms = now_ms()
        found = {source.location for _, lag in asked for source in lag.sources.values() if source.type == "kafka"}
        servers = sorted(found - self._late.keys())

        def ask(of: str) -> None:
            only = [(view, _of_servers(lag, of)) for view, lag in asked]
            read_ahead([(view, lag) for view, lag in only if lag.sources], self._brokers, at_ms)

        for of, answer in zip(servers, self._answers(ask, servers), strict=True):
            if isinstance(answer, CheckpointError):
                self._late[of] = f"kafka:{of} did not answer: {answer.message}"

    def _ask(self, seen: _Seen, question: _Question, at_ms: int) -> SourcesAnswer | None:
        """The answer of the sources; None when none is declared."""
        if question.error is not None:
            raise CheckpointError(question.error)
        if not question.lag.sources:
            return None
        access = Access(self._open, seen.store, self._config)
        return ask_sources(seen.view, question.lag, access, at_ms, self._brokers, self._late)

    def _compare(
        self, of: tuple[Query, _Seen], answer: SourcesAnswer | CheckpointError | None, at_ms: int
    ) -> TableLosses:
        """What its tables and directories say of what it has read: another query may have taken it out of them.

        Raises CheckpointError; where the sources have not answered before, what they were asked then.
        """
        if isinstance(answer, CheckpointError):
            raise answer
        query, seen = of
        tables, options = _tables_of(query), query.deploy.source_options
        return judge_tables(seen.view, tables, options, Access(self._open, seen.store, self._config), at_ms)

    # --- its backups and changes ------------------------------------------------------------------------------------

    def _newest_backup(self, query: Query, seen: _Seen) -> NewestBackup | None:
        """The newest backup; None without one."""
        if query.backups is None:
            return None
        if seen.view.query_id is None:
            raise CheckpointError("the checkpoint does not say the id of the query, which its backups have")
        try:
            backups = QueryBackups(self._open(query.backups))
        except CheckpointNotFoundError:
            return None
        for backup_id in backups.ids_of(seen.view.query_id):
            known = self._backups.get(f"{query.backups} {backup_id}")
            if known is None:
                manifest = backups.read(backup_id, seen.view.query_id)
                if manifest is None:
                    continue
                known = NewestBackup(backup_id, manifest.batch_id, manifest.created_at_ms, 0)
                if len(self._backups) < MOST_REMEMBERED:
                    self._backups[f"{query.backups} {backup_id}"] = known
            return replace(known, age_ms=max(0, now_ms() - known.created_at_ms))
        return None

    def _newest_change(self, query: Query, seen: _Seen) -> NewestChange | None:
        """The newest change; None without one."""
        record = find_newest(seen.store, None if query.undo is None else self._open(query.undo))
        if record is None:
            return None
        at_ms = record.begun_at_ms or record.plan.planned_at_ms
        age_ms = max(0, now_ms() - at_ms)
        return NewestChange(record.plan.plan_id, record.plan.kind, record.state, record.by, at_ms, age_ms)


def _checkpoint(query: Query) -> str:
    return query.checkpoint


@patiently
def _see(store: Store, before: _Seen | None) -> _Seen:
    """The checkpoint; what was read before, when it is listed as it was then."""
    listing = list_checkpoint(store)
    listing = list_logs(store, listing) if listing.is_checkpoint else listing
    if before is not None and before.store.location == store.location and _is_same(listing, before.listing):
        view = replace(before.view, observed_at_ms=listing.listed_at_ms)
        return _Seen(store, listing, view)
    return _Seen(store, listing, examine(store, listing=listing, each=True))


def _is_same(listing: DirectoryListing, before: DirectoryListing) -> bool:
    def shown(of: DirectoryListing) -> object:
        return of.directories, {name: (stored.size, stored.identity) for name, stored in of.objects.items()}

    return shown(listing) == shown(before)


def _tables_of(query: Query) -> dict[str, Source]:
    """Its sources that are tables or directories, with a place."""
    return {name: source for name, source in query.deploy.by_id.items() if source.is_stored}


def _judged(query: Query, view: CheckpointView, losses: TableLosses | CheckpointError) -> FleetRow:
    """The row of a checkpoint, with what its sources say of it, and the names of what was not judged."""
    tables = {} if isinstance(losses, CheckpointError) else _tables_of(query)
    lost = TableLosses() if isinstance(losses, CheckpointError) else losses
    unasked = (data_loss_of(name) for name in can_lose(view, query.deploy.by_id) if name not in tables)
    unknown = dict.fromkeys((*not_read(view), *lost.unknown, *unasked))
    return row_of(view, worst_first((*check(view), *lost.findings)), None, tuple(unknown))


def _question(query: Query) -> _Question:
    try:
        return _Question(question_of(query.deploy, ages=True))
    except ValueError as error:
        return _Question(LagQuestion({}), str(error))


def _of_servers(question: LagQuestion, servers: str) -> LagQuestion:
    """The same question about the sources of one cluster."""
    return replace(
        question,
        sources={
            name: source
            for name, source in question.sources.items()
            if source.type == "kafka" and source.location == servers
        },
    )
