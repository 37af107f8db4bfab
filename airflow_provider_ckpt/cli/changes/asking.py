"""Options from the fields of a request, and what every command does with them that changes a checkpoint in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.backup.relocation import parse_path_rule
from airflow_provider_ckpt.change.make_plan import Planner
from airflow_provider_ckpt.change.option import Field, Meaning, Opt, fields_of
from airflow_provider_ckpt.cli.changes.bookmark_file import read_bookmark
from airflow_provider_ckpt.cli.changes.in_place import Change, How
from airflow_provider_ckpt.cli.changes.plan_files import require_alone, require_consistent
from airflow_provider_ckpt.cli.files import read_text
from airflow_provider_ckpt.cli.options import (
    DURATION,
    PAUSE,
    SOURCE,
    TIME,
    Whole,
    by_id,
    directories,
    opening,
    option,
    pairs,
)
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.trigger import TRIGGERS
from airflow_provider_ckpt.sources.kafka.kafka_csv import MOST_CHARACTERS

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
#: What stands for a value in the help, by what it means.
_METAVARS: Mapping[Meaning, str] = {"time": "TIME", "duration": "DURATION", "pause": "DURATION"}
_TYPES: Mapping[Meaning, Any] = {
    "time": TIME,
    "duration": DURATION,
    "pause": PAUSE,
    "source": SOURCE,
    "sources": SOURCE,
    "trigger": click.Choice(TRIGGERS),
    "csv": click.Path(dir_okay=False),
    "bookmark": click.Path(dir_okay=False, path_type=Path),
}


def options_of(request: type, after: Mapping[str, Iterable[Decorator]] | None = None) -> Decorator:
    """The options of a request, in the order of its fields.

    Args:
        request: The dataclass.
        after: Options that the command line alone has, by the field that they come after.
    """

    def decorated(command: Command) -> Command:
        for name, field in reversed(list(fields_of(request).items())):
            for more in reversed([*(after or {}).get(name, ())]):
                command = more(command)
            if field.opt.option:
                command = _option(name, field)(command)
        return command

    return decorated


def _option(name: str, field: Field) -> Decorator:
    opt, means = field.opt, field.opt.means
    said: dict[str, Any] = {"multiple": opt.many}
    if means in ("whole", "id"):
        said["type"] = Whole(min=0 if means == "id" else opt.least, max=opt.most)
    elif means in _TYPES:
        said["type"] = _TYPES[means]
    if means == "place":
        said["shell_complete"] = directories
    if means == "sources":
        said["callback"] = by_id
    if means == "pause":
        said["default"] = str(int(field.default))
    usage = opt.usage if opt.metavar or means not in _METAVARS else f"{opt.usage} {_METAVARS[means]}"
    return option(usage, opt.help, name, **said)


def changing(
    request: type[Planner],
    *,
    after: Mapping[str, Iterable[Decorator]] | None = None,
    more: Mapping[str, object] | None = None,
) -> Decorator:
    """Make a command of what plans a change from a request: its options, ``--plan``, and how it is carried out.

    The function gets the :class:`Change`, the request, and the options of the command line alone. It is not called when
    the plan is in a file, beside which nothing else that says what to do is allowed.

    Args:
        request: The dataclass.
        after: Options of the command line alone, by the field that they come after.
        more: Further keys of the document of a plan of a file.
    """

    def decorated(command: Command) -> Command:
        @wraps(command)
        def called(location: str, storage_options: tuple[str, ...], plan_file: str | None, **values: Any) -> None:
            undo_root = values.pop("undo_root")
            how = How(**{field.name: values.pop(field.name) for field in fields(How)})
            change = Change(location, opening(storage_options), undo_root, how)
            require_consistent(how.plan_out, how.approved_by, execute=how.execute)
            if plan_file:
                require_alone("--plan", given(values, beside_plan(request)))
            else:
                _require_one_goal(request, values)
            asked = asked_of(request, values)
            if plan_file:
                change.read(plan_file, asked, more)
            else:
                command(change, asked, **values)

        return options_of(request, after)(called)

    return decorated


def asked_of(request: type, values: dict[str, Any]) -> Any:
    """The request, of values that are taken out of those of the command.

    Raises:
        click.UsageError: A value makes no sense.
        CheckpointError: A file or a sink is none.
    """
    opts = {name: field.opt for name, field in fields_of(request).items() if field.opt.option}
    return request(**{name: _read(opt, values.pop(name)) for name, opt in opts.items()})


def _require_one_goal(request: type, values: Mapping[str, Any]) -> None:
    """Raise a usage error unless exactly one option says where to, of a request with such options."""
    options = {name: field.opt.option for name, field in fields_of(request).items() if field.opt.goal}
    found = [option for name, option in options.items() if values[name] is not None and values[name] is not False]
    if options and len(found) != 1:
        raise click.UsageError(
            f"give exactly one of {', '.join(options.values())}; given: {' and '.join(found) or 'none'}; or give "
            "--plan FILE"
        )


def options_said(asked: Any) -> list[str]:
    """The options of a request that say what to do, and that were given."""
    request: type = type(asked)
    own = fields_of(request).items()
    return [
        field.opt.option for name, field in own if not field.opt.beside_plan and getattr(asked, name) != field.default
    ]


def beside_plan(request: type) -> set[str]:
    """The fields that can be said beside a plan file."""
    return {name for name, field in fields_of(request).items() if field.opt.beside_plan}


def given(values: Mapping[str, Any], beside: Iterable[str] = ()) -> dict[str, Any]:
    """The values of a command by option, without what may be given ``beside``; a flag that is not given is None."""
    params = click.get_current_context().command.params
    options = {param.name: param.opts[0] if isinstance(param, click.Option) else param.name.upper() for param in params}
    return {options[name]: None if value is False else value for name, value in values.items() if name not in beside}


def _read(opt: Opt, value: Any) -> Any:
    """A value as the request has it."""
    if value is None:
        return None
    match opt.means:
        case "sink":
            return parse_sink(value) if value else None
        case "sinks":
            return tuple(map(parse_sink, value))
        case "pairs":
            return dict(pairs(value, opt.option))
        case "bookmark":
            return read_bookmark(value)
        case "paths":
            try:
                return tuple(map(parse_path_rule, value))
            except ValueError as error:
                raise click.BadParameter(str(error), param_hint=opt.option) from None
        case "csv":
            try:
                return read_text(Path(value), MOST_CHARACTERS)
            except (OSError, ValueError) as error:
                raise click.BadParameter(f"{value} cannot be read: {error}", param_hint=opt.option) from None
    return value
