"""The command ``ckpt``: everything that the operators do, for a shell, CI and cron."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Sequence

import click

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.cli import backups, change, explain, fleet, history, judge, look, waiting
from airflow_provider_ckpt.cli.render import print_error
from airflow_provider_ckpt.errors import CheckpointError


class _Commands(click.Group):
    """The commands. An option that takes one value takes it once: of two, the last would silently win."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, and its arguments."""
        name, command, arguments = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(command, click.Context(command, ctx, name, resilient_parsing=True), arguments)
        return name, command, arguments


def _refuse_repeated(command: click.Command, context: click.Context, arguments: Sequence[str]) -> None:
    try:
        _, _, order = command.make_parser(context).parse_args(list(arguments))
    except click.UsageError:
        return  # the command says so itself
    given = Counter(param for param in order if isinstance(param, click.Option) and not param.multiple)
    for option, times in given.items():
        if times > 1 and not option.is_flag and not option.count:
            raise click.UsageError(f"{option.opts[0]} is given {times} times, and takes one value", context)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ckpt")
def cli() -> None:
    """Look after the checkpoints of Spark Structured Streaming.

    Exit codes: 0 done or clean, 1 the answer is no, 2 usage, 3 not found or unreadable, 4 refused,
    5 storage unavailable.
    """


for room in (look, waiting, judge, explain, fleet, backups, change, history):
    for command in room.COMMANDS:
        cli.add_command(command)


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale that cannot spell a name is no reason to fail
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command; the result is its exit code."""
    try:
        return int(cli(list(arguments), standalone_mode=False, obj=tuple(arguments)) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return 130
    except CheckpointError as error:
        print_error(error, as_json="--json" in arguments)
        return error.exit_code
