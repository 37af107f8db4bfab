"""The operator that compares the queries of the query file with their thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError, ThresholdError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.hooks.query_file import read_file
from airflow_provider_ckpt.lineage.page_link import CheckpointsLink
from airflow_provider_ckpt.lineage.task import CheckpointTask
from airflow_provider_ckpt.operators.base import texts_of
from airflow_provider_ckpt.operators.told import MOST_REASONS, MOST_TOLD, reasons_text
from airflow_provider_ckpt.report.table import LOG_WIDTH, render
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import QueriesResultDocument, ToldQueryFields
    from airflow_provider_ckpt.fleet.queries.read_flows import WantedQueries
    from airflow_provider_ckpt.fleet.queries.row import QueryRow
    from airflow_provider_ckpt.lineage.datasets import Named

_FAILING = ("error", "never")


class CheckpointQueriesOperator(CheckpointTask, BaseOperator):
    """Reads the queries of the query file, and fails when one is past a threshold of the file (``alert``).

    It fails as well for a threshold that cannot be measured, a finding that is an error, a declared source that
    cannot be asked, and a checkpoint that cannot be read. A threshold that is passed may hold again: the task is tried
    again as often as ``retries`` says, so that retries are for how long it has to be passed. For damage it is not.
    Returns how many queries there are, and the first twenty that something is the matter with.

    :param query: Names of queries, of flows, or of pipelines in the query file: a list or one text; by default all.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``. It is read when the task runs.
    :param checkpoint_conn_id: Connection of type ``checkpoint``; by default that of the file.
    :param kafka_conn_id: Connection of type ``kafka`` for all brokers; by default those that the clusters of the file
        name.
    :param fail_on: ``error``, or ``never`` to return what is the matter without failing.
    :param read_timeout: How long each reading may take, of a checkpoint, its sources, its backups or its changes: a
        timedelta, a text such as ``30s``, or seconds.
    :param threads: How many queries are read at the same time.
    """

    needs: ClassVar[Sequence[str]] = ()
    does = "queries"
    has_done = "The queries were read of"
    operator_extra_links = (CheckpointsLink(),)
    template_fields: Sequence[str] = ("query", "query_file", "checkpoint_conn_id", "kafka_conn_id")
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        query: str | Sequence[str] | None = None,
        query_file: str | None = None,
        checkpoint_conn_id: str | None = None,
        kafka_conn_id: str | None = None,
        fail_on: Literal["error", "never"] = "error",
        read_timeout: timedelta | str | float = "15s",
        threads: int = THREADS,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if fail_on not in _FAILING:
            raise ValueError(f"fail_on must be one of {', '.join(_FAILING)}, not {fail_on!r}")
        self.checkpoint = ()  # any number of them, which a page of its own shows
        self.query = query
        self.query_file = query_file
        self.checkpoint_conn_id = checkpoint_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.fail_on = fail_on
        self.read_timeout = read_timeout
        self.threads = threads

    def declare_query(self) -> None:
        """Read the query file, whose connection counts where none is given. Raises CheckpointError."""
        self.declared_file = read_file(self.query_file)
        self._set("checkpoint_conn_id", self.declared_file.storage.conn_id, self.declared_file.place)
        self.__dict__.pop("hook", None)

    def execute(self, context: Any) -> QueriesResultDocument:
        """Read, log, and fail for what is the matter."""
        from airflow_provider_ckpt.fleet.queries.read_queries import QueryReader
        from airflow_provider_ckpt.hooks.engines import connect

        with self.running(context):
            wanted, timeout_ms = self._wanted(), duration_ms_of("read_timeout", self.read_timeout)
            reader = QueryReader(
                wanted,
                self.hook.store,
                self.hook.kafka_config(self.kafka_conn_id),
                configs=self.hook.kafka_configs(self.kafka_conn_id),
                threads=self.threads,
                timeout_s=timeout_ms / 1000,
                connect=connect,
            )
            rows = sorted(reader.read(), key=lambda row: row.urgency)
            failing = [row for row in rows if row.exit_code]
            self._report(rows)
            told = failing[:MOST_TOLD]
            result: QueriesResultDocument = {
                "format_version": FORMAT_VERSION,
                "file": wanted.file.place,
                "queries": len(rows),
                "failing": [_told(row) for row in told],
                "failing_left_out": len(failing) - len(told),
            }
            self.tell(context, result)
            if failing and self.fail_on != "never":
                raise _error(failing)
        return result

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """Nothing: a file may have any number of queries."""
        return iter(())

    def _wanted(self) -> WantedQueries:
        from airflow_provider_ckpt.fleet.queries.read_flows import read_flows

        file = self.declared_file
        assert file is not None  # declare_query has read it
        names = texts_of("query", self.query)
        if not names and not is_nothing(self.query):
            raise CheckpointError("query is a list without a name; leave it out for all queries of the file")
        wanted = read_flows(file, names, self.hook.store)
        for name in wanted.unknown:
            raise CheckpointError(f"{name:.100} is no query of {file.place}; {wanted.file.known_text(name)}")
        if not wanted.names and not wanted.failures:
            raise CheckpointError(f"{file.place} declares no query")
        self.declared_queries = [wanted.file.queries[name] for name in wanted.names]
        self.__dict__.pop("hook", None)  # which knows of no cluster
        return wanted

    def _report(self, rows: Sequence[QueryRow]) -> None:
        """One log entry with the table, and with what it cannot show."""
        from airflow_provider_ckpt.report.query_tables import (
            headline,
            matter_lines,
            queries_table,
            running_line,
            unknown_lines,
        )

        table, left_out = queries_table(rows, LOG_WIDTH)
        running = running_line(rows)
        lines = [
            *matter_lines(rows),
            *unknown_lines(rows),
            *([running] if running else []),
            *([f"There is no room for {', '.join(left_out)}."] if left_out else []),
        ]
        shown = "\n".join(map(visible, lines))
        self.log.info("%s\n%s\n%s", headline(rows), render([table]), shown)


def _told(row: QueryRow) -> ToldQueryFields:
    return {"name": row.name, "location": row.location, "reasons": _reasons(row)[:MOST_REASONS]}


def _reasons(row: QueryRow) -> list[str]:
    """What is the matter with a query, a sentence each."""
    from airflow_provider_ckpt.report.query_tables import alarm_lines

    said = list(alarm_lines(row))
    if not said and row.checkpoint is not None and row.checkpoint.lag_error is not None:
        said.append(f"{row.name}: a source cannot be asked: {row.checkpoint.lag_error.rstrip('.')}.")
    return [visible(text) for text in said]


def _error(failing: Sequence[QueryRow]) -> CheckpointError:
    """What the task fails with: another try may help, unless a checkpoint is damaged or is not there."""
    reasons = [reason for row in failing for reason in _reasons(row)]
    text = reasons_text([reason.rstrip(".") for reason in reasons])
    lasting = [row for row in failing if row.has_errors or (row.failure is not None and not row.failure.retryable)]
    if lasting:
        return GateFailedError(text)
    return ThresholdError(text)
