"""The command ``ckpt``: everything that the operators do, for a shell, CI and cron.

Each command is in a module that is loaded when it is called, with all that it needs and nothing else.
"""

from __future__ import annotations

import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

import click

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.cli.render import INTERRUPTED, print_error, print_interrupted, print_usage_error, typed
from airflow_provider_ckpt.cli.streams import OutputError, take_over, without_output
from airflow_provider_ckpt.errors import CheckpointError

#: The module that each command is in.
MODULES = {
    "show": "show",
    **dict.fromkeys(("log", "diff"), "log"),
    "lag": "positions.lag",
    "wait": "positions.wait",
    "check": "check",
    "gate": "gate",
    "explain": "explain",
    "fleet": "fleet",
    "queries": "queries.command",
    "init": "init",
    **dict.fromkeys(("backup", "backups", "verify", "restore"), "backup"),
    "prune": "prune",
    **dict.fromkeys(("rollback", "undo"), "changes.rollback"),
    "salvage": "changes.salvage",
    "repartition": "changes.repartition",
    "reset-offsets": "changes.reset",
    "fence": "changes.fence",
    "sources": "changes.sources",
    "repair": "changes.repair",
    "history": "changes.history",
    **dict.fromkeys(("status", "stop", "hold", "start", "deploy"), "runs"),
    "export": "positions.export",
    "publish-offsets": "positions.publish",
    "seed": "changes.seed",
    "completion": "completion",
    "mcp": "mcp.command",
}

#: What the commands are for, as the help and the reference group them; those that are called most come first.
GROUPS = {
    "Reading": (
        *("show", "log", "lag", "check", "gate", "explain", "fleet", "queries", "init"),
        *("diff", "export", "publish-offsets"),
    ),
    "Running": ("status", "stop", "start", "deploy", "hold"),
    "Waiting": ("wait",),
    "Backups": ("backup", "backups", "verify", "restore", "prune"),
    "Changes": (
        *("rollback", "undo", "history", "reset-offsets", "fence", "salvage"),
        *("repair", "sources", "seed", "repartition"),
    ),
    "Shells and assistants": ("completion", "mcp"),
}


class _OnDemand(Mapping[str, click.Command]):
    """The commands by name; the module of one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = getattr(import_module(f"{__name__}.{MODULES[name]}"), name.replace("-", "_"))
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _Commands(click.Group):
    """The commands. An option that takes one value is given once, or the last would silently win, and not empty."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """An option of a command that is given before it gets an error that says where it belongs."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next((word for word in given if word in MODULES), "")
            known = {opt for param in self.commands[name].params for opt in param.opts} if name else {"--json"}
            if error.option_name in known:
                place = f"ckpt {name or 'COMMAND'} … {error.option_name}"
                raise click.UsageError(
                    f"{error.option_name} is an option of the commands, so it comes after the command: {place}", ctx
                ) from None
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. A stdout that breaks gets its own exit code, so that nobody takes it for the answer no."""
        try:
            return super().invoke(ctx)
        except OutputError as error:
            return without_output(error, ctx)
        except CheckpointError as error:  # printed where there is no context anymore
            error.message, error.hint = typed(error.message), error.hint and typed(error.hint)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in their groups, each with its first sentence, and then the options."""
        widest = max(map(len, MODULES))
        for group, names in GROUPS.items():
            with formatter.section(group):
                rows = [(f"{name:{widest}}", _first_sentence(self.commands[name])) for name in names]
                formatter.write_dl(rows)
        click.Command.format_options(self, ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, and its arguments."""
        name, command, arguments = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # a shell that completes has nothing whole yet
            from airflow_provider_ckpt.cli.in_turn import InTurn, in_turn  # loads rooms that no other answer needs

            turns = in_turn(command, arguments)
            if len(turns) > 1:
                return name, InTurn(command, turns, _prepared), []
            arguments = _prepared(command, next(iter(turns.values()), arguments), ctx)
        return name, command, arguments


def _prepared(command: click.Command, words: Sequence[str], context: click.Context) -> list[str]:
    """The words of a command with what the query file declares. Raises click.UsageError."""
    from airflow_provider_ckpt.cli.query_names import with_query  # loads rooms that no other answer needs

    found = with_query(command, words, context)
    _refuse_repeated_and_empty(command, click.Context(command, context, resilient_parsing=True), found)
    return found


def _first_sentence(command: click.Command) -> str:
    paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", paragraph, maxsplit=1)[0]


def _refuse_repeated_and_empty(command: click.Command, context: click.Context, arguments: Sequence[str]) -> None:
    try:
        values, _, order = command.make_parser(context).parse_args(list(arguments))
    except click.UsageError:
        return  # the command says so itself
    given = Counter(param for param in order if isinstance(param, click.Option) and not param.multiple)
    for option, times in given.items():
        if times > 1 and not option.is_flag and not option.count:
            raise click.UsageError(f"{option.opts[0]} is given {times} times, but takes one value", context)
    for option in given:
        value = values.get(option.name or "")
        _refuse_empty(option, value, context)
    for option in (param for param in order if isinstance(param, click.Option) and param.multiple):
        for value in values.get(option.name or "") or ():
            _refuse_empty(option, value, context)


def _refuse_empty(option: click.Option, value: object, context: click.Context) -> None:
    if isinstance(value, str) and not value.strip() and option.default != "":
        raise click.UsageError(f"the value of {option.opts[0]} is empty", context)


@click.group(
    cls=_Commands,
    commands=_OnDemand(),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  ckpt show s3://lake/checkpoints/orders\n  ckpt gate --help\n\n"
    "Exit codes: 0 done or clean; 1 findings, gate blocked or wait timed out; 2 usage; 3 not found or unreadable; "
    "4 refused; 5 storage or Spark unavailable, or stdout cannot be written; 141 the reader of stdout has ended.",
)
@click.version_option(__version__, prog_name="ckpt")
def cli() -> None:
    """Inspect, check, back up, restore and roll back checkpoints of Spark Structured Streaming."""


def main() -> None:
    """The entry point."""
    take_over()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # under nohup SIGHUP is ignored, and stays so
            signal.signal(number, _end)
    sys.exit(run(sys.argv[1:]))


def _end(number: int, _: object) -> None:
    """End as at Ctrl-C: temporary directories, which may hold a whole state, and locks do not stay."""
    sys.exit(128 + number)


def run(arguments: Sequence[str], shown: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code.

    Args:
        arguments: Arguments of the command line.
        shown: The arguments that commands repeat when they name the next one; by default all.
    """
    obj = tuple(arguments if shown is None else shown)
    try:
        return int(cli(list(arguments), prog_name="ckpt", standalone_mode=False, obj=obj) or 0)
    except click.ClickException as error:
        error.show()
        if "--json" in arguments:
            with suppress(OutputError):
                print_usage_error(error)
        return error.exit_code
    except click.Abort:
        if "--json" in arguments:
            with suppress(OutputError):
                print_interrupted()
        return INTERRUPTED
    except CheckpointError as error:
        with suppress(OutputError):  # it is on stderr already
            print_error(error, as_json="--json" in arguments)
        return error.exit_code
