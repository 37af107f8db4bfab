"""Names of queries on the command line: a name means a location, and brings what its query file declares.

What the file declares becomes options of the command, unless they are given: an option wins over the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.cli.absolute_words import ARGUMENTS, absolute_location
from airflow_provider_ckpt.cli.find_query_file import CKPT_FILE, OPTION, QUERY_FILE, FilePlace, file_of, is_unwanted
from airflow_provider_ckpt.cli.render import TYPED, say
from airflow_provider_ckpt.cli.sectioned import Names, names_of
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.command_options import not_declared, options_of
from airflow_provider_ckpt.query.declared import BESIDE_PLAN, DECLARED, texts_declared
from airflow_provider_ckpt.query.deploy import Deploys, DeploySpec
from airflow_provider_ckpt.query.spark_version import conf_text
from airflow_provider_ckpt.query.typed_commands import Typed

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.fleet.pipeline import SeenPipeline
    from airflow_provider_ckpt.query.query_file import Query, QueryFile

#: Where the query of the command that runs is kept, in the ``meta`` of its context.
META = "airflow_provider_ckpt.query"
#: Where the query file that counts is kept there; None when there is none.
PLACE = "airflow_provider_ckpt.query_file"
#: Where it is kept that somebody wants no file.
WITHOUT_FILE = "airflow_provider_ckpt.without_file"
#: Where the file is kept for a command that is about several queries, of each of which it finds what is declared.
EACH = "airflow_provider_ckpt.queries"
#: Where the pipeline of the command is kept.
PIPELINE = "airflow_provider_ckpt.pipeline"


@dataclass(frozen=True, slots=True)
class Named:
    """The query that a command is about.

    Args:
        file: The query file.
        query: The query.
        origins: Where the file declares what the command has not been given, by option.
        given: Keys of the file in whose place an option was given.
    """

    file: QueryFile
    query: Query
    origins: Mapping[str, str]
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Piped:
    """The pipeline that a command is about.

    Args:
        file: The query file, with the flows of the pipeline.
        seen: The pipeline.
    """

    file: QueryFile
    seen: SeenPipeline


#: Options whose values are locations, or have one.
_PLACED = ("--source", "--sink", "--undo-to", "--backup-root", "--to", "--from")


def with_query(command: click.Command, words: Sequence[str], context: click.Context) -> list[str]:
    """The words of a command with the location of the query that they name, and with what its file declares.

    Args:
        command: The command.
        words: Its words, without its name.
        context: Context of the command, for parsing alone; its ``meta`` gets the :class:`Named`.

    Raises:
        click.UsageError: The query file cannot be read, or the query has no such place.
    """
    names, given_words, (place, words) = names_of(command), words, file_of(words)
    for key in (META, EACH, PIPELINE):
        context.meta.pop(key, None)  # of the query whose turn was before
    context.meta[PLACE], context.meta[WITHOUT_FILE] = place, place is None and is_unwanted(given_words)
    operands, given = _operands(command, words)
    is_all = names.several == "at once" and not operands and not {"-h", "--help"} & {*words}
    is_needed = is_all or any(_is_no_place(names, words[at]) for at in operands)
    file = place.read(is_needed=is_needed) if place is not None and (is_all or operands) else None
    if file is None:
        return list(words)
    context.meta[TYPED] = _typed(place, file)
    words = _opened(words, operands, file)
    if is_all:
        words = [*file.queries, *file.pipelines, *words]
        operands, given = _operands(command, words)
    is_piped = any(words[at] in file.pipelines for at in operands)
    if names.several == "at once" and (len(operands) != 1 or names.pipeline == "storage" or is_piped):
        return _words_of_each(command, words, operands, file, context)
    if file.pipelines:
        file, words, operands = _with_pipelines(file, words, operands, names, context)
    found, named = _located(names, words, operands, file)
    if len(named) != 1:
        return [*(_storage_options(file, words) if named or is_piped else ()), *found]
    if at_alias := next((words[at] for at in operands if words[at].replace("`", "") in file.aliases), None):
        named[0] = replace(named[0], name=at_alias)  # a printed command keeps the word
    context.meta[TYPED] = _typed(place, file, named[0])
    declared, context.meta[META] = _declared_words(command, file, named[0], given)
    return [*declared, *_storage_options(file, words), *found]  # in front, because behind -- nothing is an option


def _typed(place: FilePlace | None, file: QueryFile, about: Query | None = None) -> Typed:
    """How commands are typed here: with ``--file`` where the file is found neither from here nor by the variable."""
    is_found = place is None or not place.is_named or place.place == os.environ.get(CKPT_FILE)
    return Typed(file, about, None if is_found else absolute_location(file.place))


def _opened(words: Sequence[str], operands: Sequence[int], file: QueryFile) -> list[str]:
    """The words with each location as ckpt opens it, as those of the file are."""
    found = [file.paths.opened(word) if at in operands else word for at, word in enumerate(words)]
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in _PLACED and equals:
            found[at] = f"{option}={file.paths.opened_in(value)}"
        elif at and words[at - 1] in _PLACED and at not in operands:
            found[at] = file.paths.opened_in(word)
    return found


def _words_of_each(
    command: click.Command, words: Sequence[str], operands: Sequence[int], file: QueryFile, context: click.Context
) -> list[str]:
    """The words of a command that is about several queries, and finds what is declared of each."""
    names = names_of(command)
    if file.pipelines:
        file, words, operands = _with_pipelines(file, words, operands, names, context)
    found, _ = _located(names, words, operands, file)
    context.meta[EACH] = file
    return [*_storage_options(file, words), *found]


def _located(
    names: Names, words: Sequence[str], operands: Sequence[int], file: QueryFile
) -> tuple[list[str], list[Query]]:
    """The words with locations in place of names, and the queries that are named. Raises click.UsageError."""
    found = list(words)
    queries = {at: file.find(words[at]) or file.find(absolute_location(words[at])) for at in operands}
    for at, query in queries.items():
        if query is not None:
            found[at] = _location(names, query, file)
        elif _is_no_place(names, words[at]):
            raise click.UsageError(unknown_name(words[at], file))
    named = [query for query in queries.values() if query is not None]
    return _with_location(found, names.checkpoint_option, file), named


def _declared_words(command: click.Command, file: QueryFile, query: Query, given: set[str]) -> tuple[list[str], Named]:
    """Options that the file adds to the command, none that is given, and the line that declares each."""
    origins, declared = dict[str, str](), list[str]()
    known = {opt: param for param in command.params if isinstance(param, click.Option) for opt in param.opts}
    options, instead = options_of(command.name or ""), {*given, *not_declared(command.name or "", given)}
    for option, argument in options.items():
        is_asked = option in known and option not in instead
        if not is_asked or ("--plan" in given and argument not in BESIDE_PLAN):
            continue
        said = texts_declared(argument, query)
        if said and (known[option].multiple or len(said) == 1):
            origins[option] = file.origin(query, DECLARED[argument].key) or file.place
            declared += [word for value in said for word in (option, value)]
    keys = {DECLARED[argument].key for option, argument in options.items() if option in given - {"--kafka-config"}}
    return declared, Named(file, query, origins, frozenset(keys))


def _storage_options(file: QueryFile, words: Sequence[str]) -> list[str]:
    """The file's storage options as words of a command line, without those already given."""
    declared = declared_storage(file, _values(words, "--storage-option"))
    return [word for text in declared for word in ("--storage-option", text)]


def declared_storage(file: QueryFile, given: Sequence[str]) -> list[str]:
    """The options of storage that the file declares, as ``KEY=VALUE``, without those that are given so."""
    keys = {text.partition("=")[0] for text in given}
    options = {key: value for key, value in file.storage.options.items() if key not in keys}
    texts = {key: json.dumps(value) if isinstance(value, dict) else conf_text(value) for key, value in options.items()}
    return [f"{key}={text}" for key, text in texts.items()]


def declared_file() -> QueryFile:
    """The query file of the command that runs, which is about its queries. Raises click.UsageError."""
    place: FilePlace | None = click.get_current_context().meta.get(PLACE)
    file = None if place is None else place.read(is_needed=True)
    if file is None:
        raise click.UsageError(
            f"there is no query file: {QUERY_FILE} is neither in this directory nor above it; name one with {OPTION} "
            f"or ${CKPT_FILE}"
        )
    return file


def _is_no_place(names: Names, word: str) -> bool:
    """True if a word is neither a path nor a URL, where the command needs something that is there."""
    return names.needs_place and not {"/", ":"} & {*word} and not Path(word).exists()


def _with_pipelines(
    file: QueryFile, words: Sequence[str], operands: Sequence[int], names: Names, context: click.Context
) -> tuple[QueryFile, list[str], list[int]]:
    """The file with the flows of the pipelines that are named, and the words with what a pipeline itself means.

    Raises click.UsageError for a pipeline that cannot be read, or that the command takes no whole one of.
    """
    from airflow_provider_ckpt.cli.options import opening  # which reads names itself
    from airflow_provider_ckpt.fleet.read_pipeline import read_pipeline, with_pipelines

    given = _values(words, "--storage-option")
    opened = opening((*given, *declared_storage(file, given)))
    said = [words[at] for at in operands]
    whole = {at: words[at] for at in operands if words[at] in file.pipelines}
    found, places = list(words), dict[int, list[str]]()
    try:
        file = with_pipelines(file, [*said, *map(absolute_location, said)], opened)
        for at, name in whole.items():
            seen = read_pipeline(file, name, opened)
            places[at] = [flow.checkpoint for flow in seen.flows if flow.is_there]
            if names.pipeline == "itself":
                context.meta[PIPELINE] = Piped(file, seen)
                places[at] = [seen.storage]
            elif names.pipeline == "storage":
                places[at] = [seen.storage]
            elif names.pipeline is None:
                flows = ", ".join(sorted(seen.names)[:20]) or "it has none yet"
                raise click.UsageError(f"{name} is a pipeline of {file.place}; name one of its flows: {flows}")
            elif not places[at]:
                none = f"no flow of the pipeline {name} has a checkpoint below {seen.storage}"
                if len(said) == 1:
                    raise click.UsageError(none)
                click.secho(f"Note: {none}.", err=True)
    except (CheckpointError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    for at in sorted(places, reverse=True):
        found[at : at + 1] = places[at]
    moved = {at: at + sum(len(places[each]) - 1 for each in places if each < at) for at in operands}
    return file, found, [moved[at] for at in operands if at not in places]


def _values(words: Sequence[str], option: str) -> list[str]:
    """The values of an option among some words."""
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == option]
    return [*after, *(word.partition("=")[2] for word in words if word.startswith(f"{option}="))]


def declared_deploy(context: click.Context) -> DeploySpec:
    """What the query file declares of the query that the command names. Raises click.UsageError."""
    named: Named | None = context.meta.get(META)
    if named is None:
        return DeploySpec()
    from airflow_provider_ckpt.fleet.read_query_file import read_deploy  # a room that a location does not need

    try:
        return read_deploy(named.query)
    except (CheckpointError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def query_at(location: str) -> Query | None:
    """The query of the file with this checkpoint, for a command that is about several; None where there is none."""
    file: QueryFile | None = click.get_current_context().meta.get(EACH)
    return None if file is None else file.find(location)


def query_of(location: str) -> Query | None:
    """The query that a command of one query or of several is about at a location; None where the file has none."""
    named: Named | None = click.get_current_context().meta.get(META)
    return query_at(location) if named is None else named.query


def queries_of_file() -> Mapping[str, Query]:
    """The queries of the file by the place of their checkpoint, for a command that is about several."""
    file: QueryFile | None = click.get_current_context().meta.get(EACH)
    return {} if file is None else {file.paths.place(query.checkpoint): query for query in file.queries.values()}


def deploys_of_file() -> Deploys:
    """What the query file declares of each of its queries. Raises click.UsageError."""
    from airflow_provider_ckpt.fleet.read_query_file import read_deploy  # a room that a location does not need

    try:
        return Deploys({place: read_deploy(query) for place, query in queries_of_file().items()})
    except (CheckpointError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def origins_of(context: click.Context) -> Mapping[str, str]:
    """Where the query file declares what the command was not given, by option, such as ``ckpt.yaml line 12``."""
    named = context.meta.get(META)
    return {} if named is None else named.origins


def tell_origins() -> Mapping[str, str]:
    """Say on stderr where the query file declares what the command was not given; the same, by option."""
    origins = origins_of(click.get_current_context())
    if origins:
        say(f"Declared: {', '.join(f'{option} by {origin}' for option, origin in origins.items())}.", err=True)
    return origins


def require_declared(plan: Plan) -> None:
    """Raise StalePlanError if the query file has changed since the plan was written, or does not declare its query.

    Whoever says that there is no file (``--file none``) is told on stderr that nothing is compared.
    """
    from airflow_provider_ckpt.change.plan.declared import require_not_declared, require_same_declared  # of changes

    meta = click.get_current_context().meta
    named: Named | None = meta.get(META)
    if named is not None:
        require_same_declared(plan, named.file, named.query)
    elif not meta.get(WITHOUT_FILE):
        place: FilePlace | None = meta.get(PLACE)
        there = None if place is None or place.read(is_needed=False) is None else place.place
        hint = f"Make the plan anew, or carry it out without a query file: {OPTION} none."
        require_not_declared(plan, there, hint)
    elif plan.declared:
        say(
            "Warning: nothing is compared with what the query file declared when the plan was made.",
            colour="yellow",
            err=True,
        )


def with_declarations(plan: Plan) -> Plan:
    """A new plan with what the query file declares of the query that the command names; the same without one."""
    named: Named | None = click.get_current_context().meta.get(META)
    if named is None:
        return plan
    from airflow_provider_ckpt.change.plan.declared import with_declared  # of changes alone

    return with_declared(plan, named.query, named.given)


def _with_location(words: Sequence[str], option: str | None, file: QueryFile) -> list[str]:
    """The words with a location where this option has the name of a query: no directory gets such a name by mistake."""
    found = list(words)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if option is not None and name == option and equals and value in file.queries:
            found[at] = f"{option}={file.queries[value].checkpoint}"
        elif at and option is not None and words[at - 1] == option and word in file.queries:
            found[at] = file.queries[word].checkpoint
    return found


def named_words(words: Sequence[str], context: click.Context) -> list[str]:
    """The words of a command that a printed one repeats: a name needs its file, which is found from elsewhere so."""
    named = context.meta.get(META)
    if named is None or any(word.partition("=")[0] == OPTION for word in words):
        return list(words)
    return [*words, OPTION, absolute_location(named.file.place)]


def name_of(context: click.Context) -> str | None:
    """Name of the query that the command is about; None when it names none."""
    named = context.meta.get(META)
    return None if named is None else named.query.name


def unknown_name(word: str, file: QueryFile) -> str:
    """What is said of a word that is neither a query of the file nor a place."""
    return f"{word} is no query of {file.place}, and nothing is there; {file.known_text(word)}"


def read_words(command: click.Command, words: Sequence[str]) -> tuple[list[int], set[str]]:
    """Positions of the words that are arguments, and the options that are given, by the names that they have now."""
    options = {name: param for param in command.params if isinstance(param, click.Option) for name in param.opts}
    found, given, at = list[int](), set[str](), 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        if words[at].startswith("-") and len(words[at]) > 1:
            option = options.get(name)
            given.add(name if option is None else option.opts[0])
            at += option is not None and not option.is_flag and not equals
        else:
            found.append(at)
        at += 1
    return found, given


def _operands(command: click.Command, words: Sequence[str]) -> tuple[list[int], set[str]]:
    """Positions of the words that are locations, and the options that are given."""
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    found, given = read_words(command, words)
    operands = list[int]()
    for at in found:
        if not arguments:
            break
        if arguments[0].name in ARGUMENTS:
            operands.append(at)
        elif arguments[0].name == "words" and re.fullmatch(r"[\w.-]+", words[at]):
            operands = [at]  # the location of ckpt explain is behind the error
        if arguments[0].nargs >= 0:
            arguments.pop(0)
    return operands, given


def _location(names: Names, query: Query, file: QueryFile) -> str:
    """What the name of a query means in a command."""
    if not names.is_backups:
        return query.checkpoint
    if query.backups is None:
        raise click.UsageError(f"{file.place}: the query {query.name} has no key backups; give the root of its backups")
    return query.backups
