"""The notifier that explains why a task with a streaming query has failed."""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import BaseNotifier, conf

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.explain.alert import MOST_CHARS, Alert, alert_of
from airflow_provider_ckpt.explain.explain import ask_checkpoint, explain, with_given
from airflow_provider_ckpt.explain.explanation import Explained
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.explain.judge_cause import Ask
from airflow_provider_ckpt.hooks.declared_task import DeclaredTask
from airflow_provider_ckpt.hooks.links import page_link
from airflow_provider_ckpt.hooks.read_task_log import read_task_log
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: The newest tries that were explained in this process, which the listener leaves alone; a DAG processor lives long.
EXPLAINED: deque[object] = deque(maxlen=1_000)


class ExplainNotifier(DeclaredTask, BaseNotifier):
    """Says why a task with a streaming query has failed: the cause, the evidence, the command, the page.

    For ``on_failure_callback`` of a task, of all tasks by ``default_args``, or of a DAG. It reads the log of the failed
    try, so that a ``spark-submit`` that says nothing but its exit code is explained as well, and then the checkpoint.
    It never raises and changes nothing. The text is in the log of the task, and in what other notifiers send.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection. Without it the log alone is read, and the causes that only a checkpoint shows are possible.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param query: Name of the query in the query file, in place of ``checkpoint`` and of what the file declares of it.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092/orders"}``; they are asked.
    :param sink: The sink, such as ``file:s3://lake/orders``; what it remembers is read.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param notifiers: Other notifiers of Airflow, or functions of the context, that are called with the text: their
        templates have ``{{ explanation }}`` and ``{{ explanation_headline }}``.
    :param seconds: The most seconds that reading may take; what is known by then is said.
    :param log_bytes: The most bytes of a log that are read: its beginning and its end.
    :param text_length: The most characters of the text.
    """

    template_fields: Sequence[str] = (
        *("checkpoint", "checkpoint_conn_id", "query", "query_file"),
        *("sources", "sink", "kafka_conn_id"),
    )
    needs: ClassVar[Sequence[str]] = ()

    def __init__(
        self,
        *,
        checkpoint: str | None = None,
        checkpoint_conn_id: str | None = None,
        query: str | None = None,
        query_file: str | None = None,
        sources: Mapping[str, str] | None = None,
        sink: str | None = None,
        kafka_conn_id: str | None = None,
        notifiers: Sequence[Callable[[Any], object]] = (),
        seconds: float = 60.0,
        log_bytes: int = 16 << 20,
        text_length: int = MOST_CHARS,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.checkpoint_conn_id = checkpoint_conn_id
        self.query = query
        self.query_file = query_file
        self.sources = sources
        self.sink = sink
        self.kafka_conn_id = kafka_conn_id
        self.notifiers = (notifiers,) if callable(notifiers) else tuple(notifiers)
        self.seconds = seconds
        self.log_bytes = log_bytes
        self.text_length = text_length

    def __call__(self, *args: Any) -> None:
        """Explain a failure. Whatever goes wrong is logged: an alert must not fail what it tells of.

        :param args: Airflow's context.
        """
        try:
            context = dict(args[0])
            copy.copy(self).call(context)  # one object may serve many tasks, and rendering changes it
        except (Exception, SystemExit) as error:  # of whatever is in a context, or of the class of a user
            self.log.warning("ckpt could not explain the failure: %s", _told(error))

    def call(self, context: Any) -> None:
        """Render the templates, and explain; this object is changed by it."""
        problem = self._render_fields(context)
        self.notify({**context, "explanation_problem": problem} if problem else context)

    def notify(self, context: Any) -> None:
        """Explain the failure in the log, and through the other notifiers."""
        alert = self.alert(context)
        self.log.warning("%s", alert.text)
        if (key := try_of(context.get("ti"))) is not None:
            EXPLAINED.append(key)
        said = {**context, "explanation": alert.text, "explanation_headline": alert.headline}
        for notifier in self.notifiers:
            try:
                copy.copy(notifier)(dict(said))
            except (Exception, SystemExit) as error:  # of the class of others: the next one is called all the same
                self.log.warning("the notifier %s failed: %s", type(notifier).__name__, _told(error))

    def alert(self, context: Any) -> Alert:
        """The text about a failure.

        :param context: Airflow's context.
        """
        reading = _Reading()
        if problem := context.get("explanation_problem"):
            reading.notes.append(str(problem))
        work = threading.Thread(
            target=copy_context().run, args=(partial(self._read, context, reading),), daemon=True, name="ckpt-explain"
        )
        work.start()
        work.join(self.seconds)
        notes = list(reading.notes)
        if work.is_alive():
            notes.append(f"ckpt was given {self.seconds:g} s, and {reading.doing} was not read to its end.")
        location = reading.location or reading.explained.location
        alert = alert_of(
            reading.explained,
            _subject(context),
            notes=notes,
            location=location,
            link=_page(location),
            most=self.text_length,
        )
        return Alert(_masked(alert.headline), _masked(alert.text), alert.is_known)

    def _render_fields(self, context: Any) -> str | None:
        """Render the templates. Returns why one cannot be rendered; the checkpoint is then not read."""
        try:
            self.render_template_fields(context)
        except (Exception, SystemExit) as error:  # a template may call whatever it likes
            self.checkpoint = self.query = None
            return f"The checkpoint was not read: its template cannot be rendered: {_told(error)}."
        return None

    def _read(self, context: Any, reading: _Reading) -> None:
        """Read the log, then the checkpoint, and note what is known after each."""
        try:
            runs = isinstance(context.get("exception"), BaseException)  # else Airflow calls it when the task is gone
            log = read_task_log(context, most=self.log_bytes, say=self.log.info if runs else None)
            reading.notes.extend(log.notes)
            reading.explained = explain(log.lines)
            reading.doing = "the checkpoint"
            self.open_given()
            self.declare_query()
            given = Given(parse_by_id(self.sources or {}), self.sink or None)
            reading.explained = with_given(reading.explained, given)
            if self.checkpoint:
                self._ask_checkpoint(given, reading)
        except CheckpointError as error:
            reading.notes.append(f"{reading.doing.capitalize()} was not read: {error}")
        except (Exception, SystemExit) as error:  # a driver of a storage, a secrets backend, what nobody has foreseen
            reading.notes.append(f"{reading.doing.capitalize()} was not read: {_told(error)}.")

    def _ask_checkpoint(self, given: Given, reading: _Reading) -> None:
        store = self.hook.store(str(self.checkpoint))
        reading.location = store.location
        text = reading.explained
        reading.explained = ask_checkpoint(text, store)
        if given.sources or given.sink:
            reading.doing = "what the query reads and writes"
            deploy = declare(DeploySpec(), {"sources": tuple(given.sources.values()) or None, "sink": given.sink})
            config, configs = self.hook.kafka_config(self.kafka_conn_id), self.hook.kafka_configs(self.kafka_conn_id)
            reading.explained = ask_checkpoint(text, store, Ask(deploy, self.hook.store, config, configs))


@dataclass(slots=True)
class _Reading:
    """What is known so far; a thread writes it, and another one reads it when the time is over."""

    explained: Explained = field(default_factory=lambda: Explained(()))
    notes: list[str] = field(default_factory=list)
    location: str | None = None
    doing: str = "the log"


def try_of(ti: Any) -> object | None:
    """Key of a try of a task; None where Airflow has named no task."""
    return None if ti is None else (str(getattr(ti, "id", "")), getattr(ti, "try_number", None))


def _subject(context: Any) -> str:
    ti = context.get("ti") or context.get("task_instance")
    if ti is None:
        dag = context.get("dag")
        return f"The DAG {getattr(dag, 'dag_id', '')}".rstrip()
    index = getattr(ti, "map_index", -1)
    mapped = f"[{index}]" if isinstance(index, int) and index >= 0 else ""
    return f"{ti.dag_id}.{ti.task_id}{mapped} (run {ti.run_id}, try {ti.try_number})"


def _page(location: str | None) -> str | None:
    """Address of the page of a checkpoint; below the address of Airflow where this process knows it."""
    if location is None:
        return None
    base = (conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return f"{base}/{page_link(location)}" if base else page_link(location)


def _told(error: BaseException) -> str:
    return visible(scrub(f"{type(error).__name__}: {error}".partition("\n")[0]))[:300]


def _masked(text: str) -> str:
    """A text without the secrets that Airflow knows of."""
    import airflow.sdk.log as masking  # its place differs between the versions of Airflow

    redact = getattr(masking, "redact", None)
    return str(redact(text)) if redact is not None else text
