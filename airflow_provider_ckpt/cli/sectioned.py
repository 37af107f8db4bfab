"""What all commands are: options in sections of the help, and what the name of a query means to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import click


@dataclass(frozen=True, slots=True)
class Names:
    """What names of queries mean to a command; without any other word they mean the location of one query.

    Args:
        several: How it takes several queries, and all of the file without a name: ``at once``, or one ``in turn``.
        pipeline: What a whole pipeline is to it: its ``flows``, its ``storage``, or the pipeline ``itself``.
        is_backups: True if its location is the root of the backups of the query.
        of_one: Options that are of one query, where it takes several in turn.
        checkpoint_option: Option whose value is the checkpoint location of a query.
        needs_place: False if its word may be no place: a new checkpoint, or an error.
    """

    several: Literal["at once", "in turn"] | None = None
    pipeline: Literal["flows", "storage", "itself"] | None = None
    is_backups: bool = False
    of_one: tuple[str, ...] = ()
    checkpoint_option: str | None = None
    needs_place: bool = True


def names_of(command: click.Command) -> Names:
    """What the name of a query means to a command."""
    return getattr(command, "names", Names())


#: The sections of the help of a command behind those of its own options; each has the common ones first.
_SECTIONS = {
    "Carrying it out": (
        *(
            "--execute",
            "--i-know-it-is-stopped",
            "--fence",
            "--wait-for-batch",
            "--accept-sink",
            "--plan",
            "--plan-out",
        ),
        *("--approved-by", "--undo-to", "--quiet-period", "--break-lock"),
    ),
    "What the query is": (
        *("--source", "--sink", "--spark-version", "--conf", "--conf-file", "--trigger", "--operator", "--class"),
        *("--source-option", "--kafka-config", "--source-count", "--topic-ids", "--file"),
    ),
    "Storage and output": ("--storage-option", "--format", "--output", "--json", "--help"),
}
#: A command with fewer options has one section.
_FEW_OPTIONS = 10


class Sectioned(click.Command):
    """A command whose many options are shown in sections, its own first.

    Args:
        names: What the name of a query means to it.
        said: Arguments of ``click.Command``.
    """

    def __init__(self, *said: Any, names: Names, **more: Any) -> None:
        super().__init__(*said, **more)
        self.names = names

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, in sections where there are many."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {"--help" if "--help" in item.opts else item.opts[0]: item.get_help_record(ctx) for item in options}
        shown = {name: record for name, record in records.items() if record is not None}
        if len(shown) < _FEW_OPTIONS:
            super().format_options(ctx, formatter)
            return
        sections = {title: [name for name in names if name in shown] for title, names in _SECTIONS.items()}
        placed = {name for names in sections.values() for name in names}
        for title, names in {"Options": [name for name in shown if name not in placed], **sections}.items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([shown[name] for name in names])
