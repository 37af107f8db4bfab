"""The words of a command line as they mean the same in every directory: each local path in them is absolute.

A printed command is pasted into another shell, a ticket or a cron file, where a relative path names something else.
What a word may name is told by its parameter: the type of a file, or the metavar of the help text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import click

from airflow_provider_ckpt.query.source import Source, parse_item
from airflow_provider_ckpt.storage.local import local_path

#: Settings of Kafka clients whose value is a file, such as ``ssl.ca.location``.
_FILE_SETTING = re.compile(r"\.(location|keytab)\Z")
_IS_ABSOLUTE = re.compile(r"((file|local):(//)?)?/", re.IGNORECASE)
#: Options whose values are settings of a Kafka client.
KAFKA_OPTIONS = frozenset({"--kafka-config", "--to-kafka-config"})
#: Arguments that are locations; an argument has no metavar where its name says it all.
ARGUMENTS = frozenset({"location", "locations", "root", "roots"})


def absolute_words(command: click.Command, words: Sequence[str], query: str | None = None) -> list[str]:
    """The arguments of a command, each relative local path in them made absolute; all else as it was typed.

    Args:
        command: The command.
        words: Its arguments.
        query: Name of a query among them, which is no path.
    """
    options = {name: param for param in command.params if isinstance(param, click.Option) for name in param.opts}
    arguments = _each(param for param in command.params if isinstance(param, click.Argument))
    found, rest, only_arguments = list[str](), iter(words), False
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--" and not only_arguments:
            only_arguments = True  # an absolute path needs no --, and whoever adds an option wants none
        elif only_arguments or not word.startswith("-"):
            argument = next(arguments, None)
            found.append(word if word == query else _absolute(argument, word))
        elif (option := options.get(name)) is None or option.is_flag:
            found.append(word)
        elif equals:
            found.append(f"{name}={_absolute(option, value)}")
        else:
            found += [name, *(_absolute(option, given) for given in (next(rest, None),) if given is not None)]
    return found


def _each(arguments: Iterator[click.Argument]) -> Iterator[click.Argument]:
    """The argument that each word without an option is of; the last one may take any number."""
    for argument in arguments:
        yield argument
        while argument.nargs < 0:
            yield argument


def _absolute(param: click.Parameter | None, word: str) -> str:
    how = None if param is None or _is_no_file(param, word) else named_by(param)
    return word if how is None else how(word)


def _is_no_file(param: click.Parameter, word: str) -> bool:
    """True for the word that means no query file, which is none in any directory."""
    return word == "none" and "--file" in param.opts


def named_by(param: click.Parameter) -> Callable[[str], str] | None:
    """Function that makes the words of a parameter absolute; None for a parameter that names no place."""
    if isinstance(param.type, click.Path) or (isinstance(param, click.Argument) and param.name in ARGUMENTS):
        return absolute_location
    if KAFKA_OPTIONS & {*param.opts}:
        return _of_setting
    return PLACES.get(param.metavar or "")


def absolute_location(location: str) -> str:
    """A location, absolute when it is on a disk of this machine."""
    path = local_path(location) if location.strip() and not _IS_ABSOLUTE.match(location) else None
    return location if path is None else path


def absolute_sink(text: str) -> str:
    """``TYPE[:URI]`` of a sink, with an absolute place."""
    from airflow_provider_ckpt.query.sink import parse_sink  # loads what few commands need

    declared = parse_sink(text)
    if declared.directory is None:
        return text
    now = replace(declared, location=absolute_location(declared.location))
    return text if now == declared else now.text


def absolute(source: Source) -> Source:
    """A source with an absolute place."""
    is_stored = source.is_stored and not source.place.startswith("//")
    return replace(source, place=absolute_location(source.place)) if is_stored else source


def absolute_source(text: str) -> str:
    """``ID=TYPE[:PLACE]`` of a source, with an absolute place; any other text as it is."""
    try:
        source = parse_item(text)
    except ValueError:
        return text
    now = absolute(source)
    return text if now == source else f"{now.id}={now.text}"


def _of_setting(text: str) -> str:
    key, _, value = text.partition("=")
    return f"{key}={absolute_location(value)}" if _FILE_SETTING.search(key) and value else text


#: What makes a word absolute, by the metavar of its option.
PLACES: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("LOC", "ROOT", "ROOT/ID", "ROOT...", "URI", "URL", "FILE"), absolute_location),
    **dict.fromkeys(("TYPE[:URI]", "file:URI"), absolute_sink),
    **dict.fromkeys(("ID=TYPE:PLACE", "ID=TYPE[:PLACE]", "NAME=TYPE:PLACE", "NAME=TYPE[:PLACE]"), absolute_source),
}
