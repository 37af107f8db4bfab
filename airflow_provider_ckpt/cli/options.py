"""Options that several commands share."""

from __future__ import annotations

import getpass
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from airflow_provider_ckpt.checkpoint.find_flows import at_running_version
from airflow_provider_ckpt.cli.absolute_words import absolute
from airflow_provider_ckpt.cli.files import WrittenFile
from airflow_provider_ckpt.cli.sectioned import Names, Sectioned
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.query.source import Source, parse_item
from airflow_provider_ckpt.query.trigger import TRIGGER_HELP, TRIGGERS
from airflow_provider_ckpt.sinks.effects import EFFECTS
from airflow_provider_ckpt.storage.held import hold
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import parse_duration_ms, parse_time_ms

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


class _Milliseconds(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """A text that means milliseconds."""

    def __init__(self, name: str, parse: Callable[[str], int]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse; a text that makes no sense is a usage error."""
        try:
            return self._parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Whole(click.IntRange):
    """A whole number in ASCII digits: Python would read those of other scripts, and ``1_000``, as well."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse; a text that is no such number, or out of the range, is a usage error."""
        if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,19}", value):
            self.fail(f"{value!r:.60} is not a whole number in the digits 0 to 9", param, ctx)
        return int(super().convert(value, param, ctx))

    def _describe_range(self) -> str:
        """Range that the help shows; empty where there are no bounds."""
        return "" if self.min is None and self.max is None else super()._describe_range()


class _Seconds(_Milliseconds):
    """A duration as seconds, at least so long."""

    def __init__(self, at_least_s: float) -> None:
        super().__init__("duration", parse_duration_ms)
        self._at_least_s = at_least_s

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # type: ignore[override]  # seconds, where the base has whole milliseconds
        """Parse; a text that makes no sense, or too short a time, is a usage error."""
        seconds = super().convert(value, param, ctx) / 1000
        if seconds < self._at_least_s:
            self.fail(f"{value} is less than {self._at_least_s:g} seconds", param, ctx)
        return seconds


#: How times and durations are written, for the help of a command.
DURATIONS = "A DURATION is 36h, 1h30m, ISO 8601 such as PT5M, or a number of seconds."
TIMES = (
    "A TIME is ISO 8601 (UTC when it has no time zone), epoch milliseconds, `2 hours ago`, `now-2h` or `now+2h`. "
    f"{DURATIONS}"
)
#: Said in the help of every command, where an option shows no default.
NO_DEFAULT = "An option without a shown default has none; a flag is off unless you give it."
#: A point in time; becomes epoch milliseconds.
TIME = _Milliseconds("time", lambda text: parse_time_ms(text, now_ms=now_ms()))
#: A duration; becomes milliseconds.
DURATION = _Milliseconds("duration", parse_duration_ms)
#: A pause; becomes seconds.
PAUSE = _Seconds(0.05)


def command(
    *examples: str, also: str = "", name: str | None = None, names: Names | None = None
) -> Callable[[Command], click.Command]:
    """Make a command, whose help ends with examples that work as they are written.

    Args:
        examples: Lines of a shell.
        also: What its options have in common.
        name: Its name, where the function has another one.
        names: What the name of a query means to it.
    """
    shown = "\n".join(f"  {line}" for line in examples)
    epilog = f"\b\nExamples:\n{shown}\n\n{f'{also} {NO_DEFAULT}'.strip()}"
    return click.command(name, cls=Sectioned, epilog=epilog, names=names or Names())


def directories(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shell completions of a location: directories of this machine, and none where it is a URI."""
    from click.shell_completion import CompletionItem

    return [] if "://" in incomplete else [CompletionItem(incomplete, type="dir")]


#: Former names of options, which are taken as well.
_FORMERLY = {"--backup-root": "--backups"}


class Renamed(click.Option):
    """An option whose former names are taken as well, and not shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Help text of the option: its name."""
        names = self.opts
        self.opts = names[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def option(usage: str, text: str, name: str | None = None, **said: Any) -> Callable[[Command], Command]:
    """An option of a command: with a value where the usage or a type says so, else a flag.

    Args:
        usage: As the help shows it, such as ``--last BATCHES``.
        text: What it does, for the help. A default is shown behind it, unless that is an empty text.
        name: Name of the function's parameter for it, where that is not the name of the option.
        said: Further arguments of ``click.option``.
    """
    flag, _, metavar = usage.partition(" ")
    if metavar:
        said["metavar"] = metavar
    elif "type" not in said:
        said["is_flag"] = True
    names = [flag] if name is None else [flag, name]
    if flag in _FORMERLY:
        names.append(_FORMERLY[flag])
        said["cls"] = Renamed
    return click.option(*names, help=text, show_default=said.get("default", "") != "", **said)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorated(command: Command) -> Command:
        for each in reversed(options):
            command = each(command)
        return command

    return decorated


with_storage_options = option(
    "--storage-option KEY=VALUE",
    "Option of the fsspec driver, such as anon=true or endpoint_url=URL. Can be given more than once.",
    "storage_options",
    multiple=True,
)
with_query_file = option(
    "--file FILE",
    "Query file, which declares what a name of a query means; none is no file. By default $CKPT_FILE, or ckpt.yaml in "
    "this directory or one above it.",
    expose_value=False,
)
#: What every command has.
shared = together(
    with_query_file,
    with_storage_options,
    option("--json", "Print one JSON document on stdout instead of text.", "as_json"),
)
#: For commands that print metrics as well.
formatted = option(
    "--format", "Format of the result. By default text.", "document", type=click.Choice(("text", "json", "openmetrics"))
)
#: For commands that read little, unless they are told to.
deeply = option(
    "--deep", "Also read all state chains, source logs and checksum files. By default only the two logs are read."
)
#: For commands that are about the backups of a root.
allowing_no_backup = option("--allow-empty", "End with exit code 0, not 3, when there is no backup.")
#: For commands that change something.
executing = option("--execute", "Apply the plan. Without it the plan is printed, and nothing changes.")
#: For changes that a sink is concerned by.
accepting = option(
    "--accept-sink",
    "Accept this effect on the sink. A plan whose effect is not exact is refused without it. Can be given more than "
    "once.",
    multiple=True,
    type=click.Choice(EFFECTS),
)
#: For commands that ask a broker.
with_kafka_config = option(
    "--kafka-config KEY=VALUE",
    "Option of the Kafka client, such as security.protocol=SSL. Can be given more than once.",
    multiple=True,
)
#: For what depends on how the query runs.
triggered = option("--trigger", TRIGGER_HELP, type=click.Choice(TRIGGERS))
#: What somebody approves is what runs.
planning = together(
    option(
        "--plan FILE",
        "Use the plan in this file, which --plan-out has written. Add --execute to carry it out.",
        "plan_file",
        type=click.Path(dir_okay=False),
    ),
    option(
        "--plan-out FILE",
        "Write the plan to this new file, to be approved and carried out with --plan.",
        type=WrittenFile(str),
    ),
    option("--approved-by NAME", "Who approved the plan, for ckpt history. Needs --execute."),
)
#: By which the user confirms that the writer is stopped, for changes in place.
stopping = together(
    option(
        "--i-know-it-is-stopped",
        "Confirm that no query writes to the checkpoint. --execute needs it, because files cannot show it; at a "
        "terminal it asks.",
        "query_is_stopped",
    ),
    option(
        "--undo-to ROOT",
        "Directory in which removed files and the records of changes are kept. By default _ckpt_undo beside the "
        "checkpoint.",
        "undo_root",
        shell_complete=directories,
    ),
    option(
        "--quiet-period DURATION",
        "How long to check for concurrent writes before anything changes, such as 30s; a plain number is seconds. By "
        "default derived from the interval between commits.",
        "quiet_s",
        type=_Seconds(0),
    ),
)

breaking_lock = click.option(
    "--break-lock", is_flag=True, help="Remove the lock of another change, which you know has ended."
)


def format_of(document: str | None, *, as_json: bool) -> str:
    """The format of the result, by ``--format`` and ``--json``. Raises click.UsageError where they disagree."""
    if as_json and document not in (None, "json"):
        raise click.UsageError(f"give either --json or --format {document}")
    return "json" if as_json else document or "text"


def user_and_host() -> str:
    """Who is at the command line, for the record of a change."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run as a user without a name
        user = f"uid {os.getuid()}"
    return f"{user}@{os.uname().nodename}"


#: Where commands may read: what gives the normal form of a location, or refuses it, and the directories of a disk.
_GUARDS: list[tuple[Callable[[str], str], tuple[str, ...]]] = []


@contextmanager
def guarded(allow: Callable[[str], str], limits: tuple[str, ...]) -> Iterator[None]:
    """Let commands open nothing but what is allowed, whoever names it and in whatever thread of this process.

    Args:
        allow: Gives the normal form of a location; raises CheckpointError for one that must not be read.
        limits: Absolute paths of directories; on a disk nothing outside of them is read, wherever a link leads.
    """
    guard = (allow, limits)
    _GUARDS.append(guard)
    try:
        yield
    finally:
        _GUARDS.remove(guard)


def open_store(location: str, storage_options: Iterable[str]) -> Store:
    """The store behind a location of the command line; of the directory of a flow, that of the version that runs."""
    return at_running_version(open_place(location, storage_options))


def open_place(location: str, storage_options: Iterable[str]) -> Store:
    """The store behind a location of the command line, whatever is there."""
    for allow, _ in _GUARDS:
        location = allow(location)
    store = Store.open(location, **{key: _typed(value) for key, value in pairs(storage_options, "--storage-option")})
    for _, limits in _GUARDS:
        store = hold(store, limits)
    return store


def opening(storage_options: tuple[str, ...]) -> Callable[[str], Store]:
    """Make a function that opens further locations with the options of the command line."""
    return partial(open_store, storage_options=storage_options)


#: Of a number of records: more than a Long of Java has.
MOST_DIGITS = 19


def pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    """``KEY=VALUE`` texts, split. Raises click.BadParameter."""
    found: list[tuple[str, str]] = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
        if any(key == other and value != also for other, also in found):
            raise click.BadParameter(f"{key} is given twice, with different values", param_hint=option)
        found.append((key, value))
    return found


def units_or_ms(text: str) -> tuple[int | None, int | None]:
    """The limit of unread data: a number of units, or a duration in milliseconds. Raises BadParameter."""
    if text.isascii() and text.isdecimal():
        if len(text) > MOST_DIGITS:
            raise click.BadParameter(f"{text[:20]}… is larger than any number of records")
        return int(text), None
    return None, DURATION.convert(text, None, None)


class _SourceType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """``ID=TYPE[:PLACE]``: a source of the query, with an absolute place."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """The source. Raises click.BadParameter."""
        if isinstance(value, Source):
            return value
        try:
            return absolute(parse_item(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


SOURCE = _SourceType()


def with_sources(help_text: str, metavar: str = "ID=TYPE[:PLACE]") -> Callable[[Command], Command]:
    """``--source``, which can be given more than once: a mapping from id to source."""
    return option(f"--source {metavar}", help_text, "sources", multiple=True, type=SOURCE, callback=by_id)


def by_id(context: click.Context, param: click.Parameter, sources: tuple[Source, ...]) -> dict[str, Source]:
    """Sources of one option by their ids. Raises click.BadParameter."""
    found: dict[str, Source] = {}
    for source in sources:
        if found.setdefault(source.id or "", source) != source:
            raise click.BadParameter(f"{source.id} is given twice, with different values", context, param)
    return found


def types_of(sources: Mapping[str, Source]) -> dict[str, str]:
    """The types of sources by id. Raises click.BadParameter for one without a type."""
    for source in sources.values():
        if source.type is None:
            raise click.BadParameter(
                f"source {source.id} has no type, such as {source.id}=kafka", param_hint="--source"
            )
    return {source_id: source.type or "" for source_id, source in sources.items()}


def _typed(value: str) -> object:
    """A value as a driver takes it: a boolean, a JSON object, else the text. Raises click.BadParameter."""
    if not value.startswith("{"):
        return {"true": True, "false": False}.get(value.lower(), value)
    try:
        return json.loads(value)
    except ValueError as error:  # whose text does not show the value, which may be a secret
        raise click.BadParameter(f"a value is not JSON: {error}", param_hint="--storage-option") from None
