"""The options of commands that a query file gives: whoever names a query does not type them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_ckpt.query.keep import KEPT

#: What the file says for an option, by its name in DECLARED.
_OPTIONS: Mapping[str, str] = {
    "--source": "sources",
    "--source-option": "source_options",
    "--kafka-config": "kafka_config",
    "--sink": "sink",
    "--trigger": "trigger",
    "--spark-version": "spark_version",
    "--operator": "operators",
    "--class": "classes",
    "--backup-root": "backup_root",
    "--undo-to": "undo_root",
    **{f"--{name.replace('_', '-')}": name for name in (f"keep_{key}" for key in KEPT)},
    "--keep-tag": "keep_tags",
}
#: Options that mean this in these commands alone.
_OF_COMMANDS: Mapping[str, Mapping[str, str]] = {
    "fleet": {"--source": "asked_sources"},
    "backup": {"--to": "backup_root"},
    "check": {"--source": "stored_sources"},
    **{name: {"--source": "typed_sources"} for name in ("log", "diff", "explain")},
    **{name: {"--source": "asked_sources"} for name in ("show", "lag")},
    "reset-offsets": {"--source": "source"},
}
#: Options that mean something else in these commands, or need another option beside them.
_NOT_OF: Mapping[str, tuple[str, ...]] = {"export": ("--source",)}
#: Options of ckpt sources that it takes for a change alone, and those that ask for one; without them it shows.
_UNLESS_SHOWING, _CHANGING = tuple(_OPTIONS.keys() - {"--undo-to"}), ("--as", "--drop", "--plan")
#: Commands whose location is the root of the backups of a query.
OF_BACKUPS = ("backups", "verify", "restore", "prune")


def options_of(command: str) -> Mapping[str, str]:
    """What the file says for the options of a command, by their names in DECLARED."""
    return {**_OPTIONS, **_OF_COMMANDS.get(command, {})}


def not_declared(command: str, given: Collection[str]) -> set[str]:
    """The options that the file does not give in a command, because of what is given or of what it is.

    Args:
        command: Name of the command.
        given: The options that it is given.
    """
    instead = {*_NOT_OF.get(command, ()), *(("--source",) if "--source-count" in given else ())}
    return instead | ({*_UNLESS_SHOWING} if command == "sources" and not {*given} & {*_CHANGING} else set())
