"""``--plan-out`` and ``--plan``: writing and reading plan files, and the command that carries a plan out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from airflow_provider_ckpt.change.plan.file import MOST_BYTES, decode, encode
from airflow_provider_ckpt.change.plan.kinds import Kind, command_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.cli.absolute_words import absolute_location, absolute_words
from airflow_provider_ckpt.cli.files import read_bytes, require_outside
from airflow_provider_ckpt.cli.query_names import META, Named, name_of, named_words
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of, without_secret

#: Options that say where things are.
_WHERE = ("--storage-option", "--undo-to", "--file")
#: Options that still say something when the plan comes from a file.
_KEPT = (*_WHERE, "--quiet-period", "--conf")


def said_words() -> list[str]:
    """The words of the command that runs, without ``--json``, as they mean the same in every directory."""
    context = click.get_current_context()
    words = [word for word in context.obj or () if word != "--json"]
    return [*words[:1], *absolute_words(context.command, named_words(words[1:], context), name_of(context))]


def write_plan(path: str, plan: Plan, stores: Iterable[Store | None]) -> None:
    """Write a plan to a new file, which is in none of these places. Raises click.UsageError, StoreError, PlanError."""
    require_outside("--plan-out", Path(path), stores)
    data = encode(plan)
    try:
        with Path(path).open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise click.BadParameter(
            f"{path} exists already; give the name of a new file", param_hint="--plan-out"
        ) from None
    except OSError as error:
        raise StoreError(error.strerror or str(error), location=path) from None


def read_plan(path: str, kind: Kind) -> Plan:
    """The plan of a file. Raises StoreError when it cannot be read, PlanError when it is not such a plan."""
    try:
        data = read_bytes(Path(path), MOST_BYTES + 1)
    except FileNotFoundError:
        raise CheckpointNotFoundError("not found", location=path) from None
    except OSError as error:
        raise StoreError(error.strerror or str(error), location=path) from None
    try:
        return decode(data, kind)
    except PlanError as error:
        error.location = path
        raise


def require_alone(option: str, others: Mapping[str, Any]) -> None:
    """Raise a usage error for options that say what a plan file says already."""
    given = [name for name, value in others.items() if value or value == 0]
    if given:
        raise click.UsageError(f"{option} gives the whole plan, so leave out {', '.join(given)}")


def require_consistent(plan_out: str | None, approved_by: str | None, *, execute: bool) -> None:
    """Raise a usage error for a plan that is both written and carried out, or approved and not carried out."""
    if plan_out and execute:
        raise click.UsageError("--plan-out only writes the plan; apply it later with --plan and --execute")
    if approved_by and not execute:
        raise click.UsageError("--approved-by is recorded when the plan is applied, so add --execute")


def next_command(plan: Plan, plan_out: str | None) -> str:
    """The command line that carries a plan out, after the one that has shown it; without secrets."""
    words = said_words()
    if plan_out:
        kept = [word for at, word in enumerate(words) if word in _KEPT or words[at - 1] in _KEPT]
        kept += [word for word in words if word.startswith(tuple(f"{option}=" for option in _KEPT))]
        words = [command_of(plan.kind), *_place(plan), "--plan", absolute_location(plan_out), *kept]
    elif plan.undoes and not any(word.partition("=")[0] in ("--undoes", "--plan") for word in words):
        words += ["--undoes", plan.undoes]  # by the time that it is typed, another change may be the newest one
    words.append("--execute")
    named: Named | None = click.get_current_context().meta.get(META)
    asks_engine = named is not None and named.query.engine is not None
    if plan.needs_stopped_query and not asks_engine and not {"--i-know-it-is-stopped", "--fence"} & {*words}:
        words.append("--i-know-it-is-stopped")
    accepted = {word for at, word in enumerate(words) if words[at - 1] == "--accept-sink"}
    words += [word for effect in plan.to_accept if effect not in accepted for word in ("--accept-sink", effect)]
    return _shown("ckpt", *words)


#: Options which the command that plans the remedy does without, and whether they have a value.
_NOT_REMEDIED = {"--accept-sink": True, "--plan-out": True, "--i-know-it-is-stopped": False}


def remedied_command(plan: Plan) -> str | None:
    """The command line that plans the same change with the option that is the remedy of an effect on a sink.

    None where none is, where it is given already, and for a plan of a file, whose change only the file knows.
    """
    context, words = click.get_current_context(), said_words()
    known = {name for param in context.command.params for name in param.opts}
    given = {word.partition("=")[0] for word in words}
    added = dict.fromkeys(effect.option for effect in plan.effects if effect.effect in plan.to_accept)
    more = [word for option in added if option and option[0] in known - given for word in option]
    if not more or "--plan" in given:
        return None
    return " ".join((_shown("ckpt", *_without(words, _NOT_REMEDIED)), *more))


def _without(words: Sequence[str], options: Mapping[str, bool]) -> list[str]:
    """Words of a command line without some options, whose values say whether they have one."""
    left, rest = list[str](), iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in options:
            left.append(word)
        elif options[name] and not equals:
            next(rest, None)
    return left


def undo_command(plan: Plan) -> str:
    """The command line that takes a change back, with the options of the command that runs; without secrets."""
    return _shown("ckpt", "undo", plan.location, "--undoes", plan.plan_id, *_where())


def seen_command(plan: Plan) -> str:
    """The command line that shows what an undo has taken back; without secrets."""
    return _shown("ckpt", "history", plan.location, "--plan", plan.undoes, *_where())


def begun_command(plan: Plan) -> str:
    """The beginning of the command line that completes a change that was interrupted; without secrets."""
    target = ["--to-batch", str(plan.batch_id)] if plan.kind == "rollback" and plan.backup_id is None else []
    return _shown("ckpt", command_of(plan.kind), *_place(plan), *target, *_where())


def _where() -> list[str]:
    """The options of the command that runs that say where things are."""
    arguments, words = said_words(), list[str]()
    for at, word in enumerate(arguments):
        option, equals, _ = word.partition("=")
        if option in _WHERE:
            words += [word] if equals else arguments[at : at + 2]
    return words


def _shown(*words: str) -> str:
    """A command line without secrets, neither in the options that have them nor where they are said again."""
    options = dict(word.split("=", 1) for word in words if "=" in word)
    return scrub(shlex.join(map(without_secret, words)), secrets_of("", options))


def _place(plan: Plan) -> list[str]:
    return [plan.source, "--to", plan.location] if plan.kind == "restore" else [plan.location]
