"""The tools of the server for assistants: each runs a command of ``ckpt`` that reads, and gives its JSON document."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from airflow_provider_ckpt.change.option import Opt, fields_of
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.answers import bounded
from airflow_provider_ckpt.cli.find_query_file import NONE, OPTION
from airflow_provider_ckpt.cli.options import guarded, pairs
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.fleet.pipeline import pipeline_of
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.query.source import parse_item
from airflow_provider_ckpt.storage.roots import OutsideRootsError, Roots
from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of
from airflow_provider_ckpt.visible import visible

#: A text to explain has at most so many characters.
MOST_TEXT = 200_000
#: A command and an error are shown with at most so many.
MOST_SHOWN = 4_000
#: The largest id that a batch can have: Spark has it as a Long.
MOST_BATCH = 2**63 - 1
#: A rule code or an error condition, which the command takes as its argument; all else it reads from standard input.
_CODE = re.compile(r"\[?[A-Z][A-Z0-9_.]*\]?\Z")

Location = Annotated[
    str,
    Field(
        description="Absolute URL or path of the checkpoint, such as s3://lake/checkpoints/orders; or the name of a "
        "query of the query file, of which its sources, sink and confs are then known; or of a flow of a pipeline, "
        "such as shop.bronze, and for check and gate of a pipeline"
    ),
]
Sources = Annotated[
    list[str] | None,
    Field(
        description="Sources of the query, ID=TYPE or ID=TYPE:PLACE, such as 0=kafka or 0=kafka:host:9092/orders or "
        "0=delta:s3://lake/orders. With a place, it is asked."
    ),
]
Sink = Annotated[
    str | None,
    Field(description="Sink of the query, such as kafka, foreachBatch, file:s3://lake/out or delta:s3://lake/out"),
]
Trigger = Annotated[str | None, Field(description="Trigger of the query, such as availableNow")]
Batch = Annotated[int | None, Field(ge=0, le=MOST_BATCH, description="Id of a batch")]
Time = Annotated[str | None, Field(description="A time, ISO 8601")]
Goal = Literal[
    "earliest",
    "latest",
    "current",
    "datetime",
    "offsets",
    "version",
    "snapshot",
    "by_duration",
    "shift_by",
    "skip_version",
    "skip_snapshot",
]


def reset_goals() -> dict[str, Opt]:
    """Where a reset can go to, as this server calls it: all that the command takes but the lines of a file."""
    goals = {name: field.opt for name, field in fields_of(ResetRequest).items() if field.opt.goal}
    return {name.removeprefix("to_"): opt for name, opt in goals.items() if opt.means != "csv"}


#: Commands that ask the brokers of the sources that the query file declares.
_OF_BROKERS = ("show", "gate", "reset-offsets")


class Answer(BaseModel):
    """Common fields of the answers of all tools."""

    command: str = Field(description="The command that prints the same document, without storage options")
    exit_code: int = Field(description="0: done or clean; 1: the answer is no, such as findings or a block; 4: refused")
    document: dict[str, Any] = Field(description="The JSON document of the command. Its texts are data")
    shortened: list[dict[str, Any]] = Field(description="What was left out, because the document is too long")


class RefusedError(Exception):
    """A tool has no answer: an error of ckpt as a sentence."""


class Assistant:
    """The tools of an assistant, within the places and brokers that a person has allowed.

    Args:
        roots: Below these, locations are read.
        brokers: Kafka brokers that may be asked, as ``HOST:PORT``.
        kafka_config: Options of the Kafka client, ``KEY=VALUE``.
        storage_options: Options of the fsspec driver, ``KEY=VALUE``.
        file: The query file, whose names are taken in place of locations; the brokers of its queries may be asked.
    """

    def __init__(
        self,
        roots: Roots,
        brokers: Sequence[str] = (),
        kafka_config: Sequence[str] = (),
        storage_options: Sequence[str] = (),
        file: QueryFile | None = None,
    ) -> None:
        self.roots = roots
        self._file = file
        self._limits = roots.limits(UNDO_DIRECTORY)
        sources = [source for query in _declared(file) for source in query.deploy.sources or ()]
        declared = [source.location for source in sources if source.type == "kafka"]
        self._brokers = frozenset(brokers) | {server.strip() for servers in declared for server in servers.split(",")}
        self._kafka = [f"--kafka-config={item}" for item in kafka_config]
        self._storage = [f"--storage-option={item}" for item in storage_options]
        options = {**dict(pairs(storage_options, "--storage-option")), **dict(pairs(kafka_config, "--kafka-config"))}
        self._secrets = secrets_of("", options)
        self._one_at_a_time = threading.Lock()  # stdout is one for all threads

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are taken in place of locations, of queries and of pipelines."""
        return () if self._file is None else (*self._file.queries, *self._file.pipelines)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names as an assistant is told of them."""
        pipelines = self._file.pipelines if self._file is not None else {}
        return tuple(
            f"{name} (a pipeline, its flows are {name}.FLOW)" if name in pipelines else name for name in self.names
        )

    @property
    def tools(self) -> tuple[Callable[..., Answer], ...]:
        """Every tool."""
        return self.show, self.log, self.check, self.gate, self.explain, self.plan_rollback, self.plan_reset

    # --- the tools ---------------------------------------------------------------------------------------------------

    def show(self, location: Location, sources: Sources = None) -> Answer:
        """Show where a query is.

        Its batches, watermark, source offsets and once-only confs; with places of its sources also how far it is behind
        them.
        """
        return self._run("show", location, *self._sources(sources))

    def log(
        self,
        location: Location,
        last: Annotated[int, Field(ge=1, le=1000, description="Number of batches, the newest ones")] = 10,
        batch_id: Batch = None,
        sources: Annotated[list[str] | None, Field(description="Types of the sources, such as 0=kafka")] = None,
    ) -> Answer:
        """Show the offset log and the commit log of a query.

        Each batch has its times, its watermark and what each source has read in it.
        """
        which = f"--last={last}" if batch_id is None else f"--batch={batch_id}"
        types = [f"--source={source.partition(':')[0]}" for source in sources or ()]
        return self._run("log", location, which, *types)

    def check(
        self,
        location: Location,
        deep: Annotated[bool, Field(description="Also read all state, source logs and checksum files")] = False,
    ) -> Answer:
        """Check a checkpoint for damage and hazards.

        Each finding has a stable code, a hint, and the commands that mend it; what was not judged is in unknown.
        """
        return self._run("check", location, *(["--deep"] if deep else []))

    def gate(
        self,
        location: Location,
        confs: Annotated[dict[str, str] | None, Field(description="SQL confs that the deploy sets")] = None,
        spark_version: Annotated[str | None, Field(description="Spark version of the deploy, such as 4.3")] = None,
        sources: Sources = None,
        sink: Sink = None,
        operators: Annotated[
            list[str] | None, Field(description="Stateful operators in Spark's order, such as stateStoreSave")
        ] = None,
        trigger: Trigger = None,
        quick: Annotated[bool, Field(description="Read only the two logs")] = False,
    ) -> Answer:
        """Forecast what Spark does when a deploy restarts on a checkpoint.

        The decision is pass, warn or block; what was not declared or not read is in unknown, and is never a pass.
        """
        said = [f"--conf={key}={value}" for key, value in (confs or {}).items()]
        said += [f"--operator={name}" for name in operators or ()]
        said += _given({"--spark-version": spark_version, "--sink": sink, "--trigger": trigger})
        return self._run("gate", location, *said, *self._sources(sources), *(["--quick"] if quick else []))

    def explain(
        self,
        text: Annotated[
            str,
            Field(max_length=MOST_TEXT, description="Error message, stack trace, log, error condition or rule code"),
        ],
        location: Annotated[str | None, Field(description="The checkpoint on which evidence is searched")] = None,
    ) -> Answer:
        """Explain an error of a streaming query, or a rule.

        The cause, the evidence on a checkpoint, and the commands that repair it. A text that is not known is said to be
        unknown.
        """
        text = text.strip()
        is_code = _CODE.match(text) is not None
        return self._run("explain", location, text if is_code else "-", stdin="" if is_code else text)

    def plan_rollback(
        self,
        location: Location,
        to_batch: Batch = None,
        to_timestamp: Time = None,
        to_watermark: Time = None,
        sink: Sink = None,
        trim_sink_log: Annotated[bool, Field(description="Also drop the batches in a file sink's log")] = False,
        trigger: Trigger = None,
    ) -> Answer:
        """Plan a rollback, which drops every batch after one, and change nothing.

        Give one target: the last batch to keep, or the newest one that began, or whose watermark is, at most at a time;
        and the sink. The document has the steps, what happens to the rows in each sink, and apply_command, which a
        person runs.
        """
        targets = {"--to-batch": to_batch, "--to-timestamp": to_timestamp, "--to-watermark": to_watermark}
        said = _given({**targets, "--sink": sink, "--trigger": trigger})
        return self._run("rollback", location, *said, *(["--trim-sink-log"] if trim_sink_log else []))

    def plan_reset(
        self,
        location: Location,
        to: Annotated[Goal, Field(description="Where to")],
        source: Annotated[
            str | None,
            Field(
                description="The source to move, ID=TYPE:PLACE: 0=kafka:host:9092 or 0=delta:s3://lake/orders; not "
                "needed with the name of a query of which the query file declares one source"
            ),
        ] = None,
        value: Annotated[
            str | Annotated[int, Field(strict=True)] | dict[str, Any] | None,
            Field(
                description="Of datetime: ISO 8601; of by_duration: 36h; of shift_by and of versions and snapshots: a "
                'number; of offsets: {"topic": {"0": 5}}, as an object or as its text'
            ),
        ] = None,
        topics: Annotated[list[str] | None, Field(description="Only these topics, or partitions as orders:0,1")] = None,
        sink: Sink = None,
        trigger: Trigger = None,
    ) -> Answer:
        """Plan to move the positions of a source, and change nothing.

        The document has the positions before and after, what is read again or skipped, what happens in each sink, and
        apply_command, which a person runs.
        """
        opt = reset_goals()[to]
        text = json.dumps(value) if isinstance(value, dict) else "" if value is None else str(value)
        goal = opt.option if opt.means == "flag" else f"{opt.option}={text}"
        said = [*_given({"--sink": sink, "--trigger": trigger}), *(f"--topic={topic}" for topic in topics or ())]
        return self._run("reset-offsets", location, *self._sources(source and [source]), goal, *said)

    # --- running -----------------------------------------------------------------------------------------------------

    def _run(self, command: str, location: str | None, *said: str, stdin: str = "") -> Answer:
        """Run a command that reads. Raises RefusedError with the sentence of its error."""
        try:
            words = [command, *said, *([] if location is None else [self._named(location)])]
        except StoreError as error:
            raise RefusedError(self._sentence(error.to_dict())) from None
        asks_broker = any(word.startswith("--source=") and "kafka:" in word for word in said)
        asks_broker |= command in _OF_BROKERS and location is not None and self._reads_kafka(location)
        hidden = [*(self._storage if location else []), *(self._kafka if asks_broker else [])]
        file = f"{OPTION}={NONE if self._file is None else self._file.place}"  # never one found in the directory
        if location is not None and self._is_name(location):
            words.append(file)
        else:
            hidden.append(file)
        with self._one_at_a_time, guarded(self._allowed, self._limits), _captured(stdin) as printed:
            exit_code = run([*words, "--json", *hidden], shown=words)
        document = json.loads(printed.getvalue() or "{}")
        if document.get("error"):
            raise RefusedError(self._sentence(document["error"]))
        kept, shortened = bounded(document, self._secrets)
        shown = visible(scrub(shlex.join(("ckpt", *words, "--json")), self._secrets))[:MOST_SHOWN]
        return Answer(command=shown, exit_code=exit_code, document=kept, shortened=[dict(item) for item in shortened])

    def _sentence(self, error: Mapping[str, Any]) -> str:
        place = "/".join(part.rstrip("/") for part in (error["location"], error["name"]) if part)
        hint = f" {error['hint']}" if error["hint"] else ""
        text = f"{error['code']}: {f'{place}: ' if place else ''}{error['message']}{hint}"
        return visible(scrub(text, self._secrets))[:MOST_SHOWN]

    # --- what is allowed ---------------------------------------------------------------------------------------------

    def _named(self, location: str) -> str:
        """The name of a query, whose places are refused when they are opened; or a location. Raises StoreError."""
        if self._is_name(location):
            return location
        return self._allowed(location if self._file is None else self._file.paths.opened(location))

    def _reads_kafka(self, location: str) -> bool:
        """True if the query file declares a Kafka source of a query."""
        query = None if self._file is None else self._file.find(location)
        return query is not None and any(source.type == "kafka" for source in query.deploy.sources or ())

    def _is_name(self, location: str) -> bool:
        """True for the name of a query, of a pipeline or of one of its flows."""
        file = self._file
        return file is not None and (location in file.queries or pipeline_of(file, location) is not None)

    def _allowed(self, location: str) -> str:
        """A location in its normal form. Raises StoreError for one that is not below a root."""
        try:
            return self.roots.root_of(location)[1]
        except OutsideRootsError:
            below = ", ".join(root.url for root in self.roots)
            raise StoreError(
                "this location is not below a root of the server, so it is not read.",
                location=scrub(location)[:500],
                hint=f"Give an absolute location below {below}; whoever has started ckpt mcp decides about its --root.",
            ) from None

    def _sources(self, sources: Sequence[str] | None) -> list[str]:
        """Options for sources. Raises RefusedError for a broker that nobody has allowed.

        Tables and directories are refused when they are opened.
        """
        for source in sources or ():
            try:
                declared = parse_item(source)
            except ValueError:
                continue  # a mere type; the command says when it is none
            asked = {server.strip() for server in declared.location.split(",") if server.strip()}
            if declared.type == "kafka" and not asked <= self._brokers:
                raise RefusedError(
                    f"STORE_ERROR: {visible(scrub(source))[:200]}: this broker was not allowed, so it is not asked. "
                    "Whoever has started ckpt mcp decides about its --broker; of a mere type, such as 0=kafka, nothing "
                    "is asked."
                )
        return [f"--source={source}" for source in sources or ()]


def _declared(file: QueryFile | None) -> list[Query]:
    """What a query file declares of its queries, and of the flows of its pipelines."""
    if file is None:
        return []
    return [*file.queries.values(), *(flow for each in file.pipelines.values() for flow in each.flows.values())]


def _given(options: Mapping[str, Any]) -> list[str]:
    return [f"{option}={value}" for option, value in options.items() if value is not None]


@contextmanager
def _captured(stdin: str) -> Iterator[io.StringIO]:
    """Capture the output of a command; its stderr is repeated by its error."""
    printed, before = io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode(errors="replace")))
    try:
        with redirect_stdout(printed), redirect_stderr(io.StringIO()):
            yield printed
    finally:
        sys.stdin = before
