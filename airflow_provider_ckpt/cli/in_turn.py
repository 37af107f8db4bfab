"""Commands of one query, for several queries in turn: each with what the file declares of it, one result for all.

A query that fails is told, and stops none of the others. The exit code is the worst one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.cli.absolute_words import absolute_location
from airflow_provider_ckpt.cli.find_query_file import OPTION, file_of
from airflow_provider_ckpt.cli.query_names import read_words, unknown_name
from airflow_provider_ckpt.cli.render import COLLECTED, print_error, print_json, say
from airflow_provider_ckpt.cli.sectioned import names_of
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError

if TYPE_CHECKING:
    from airflow_provider_ckpt.cli.findings_output import Outputs
    from airflow_provider_ckpt.query.query_file import QueryFile
    from airflow_provider_ckpt.report.ci import Judged

#: The words of a command for one of the queries.
Words = Sequence[str]


class WrongUseError(CheckpointError):
    """What a command says of one query is a wrong use, such as that no rule keeps its backups."""

    code = "USAGE"
    exit_code = 2


@dataclass(slots=True)
class Collected:
    """What the turns have found.

    Args:
        documents: Their JSON documents, as each is printed for one query.
        judged: What a gate has judged.
        outputs: Where a gate writes that.
    """

    documents: list[Mapping[str, Any]] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    outputs: Outputs | None = None


class InTurn(click.Command):
    """A command for several queries.

    Args:
        command: The command.
        turns: Its words for each query, by name.
        prepared: Gives the words with what the query file declares, in a context.
    """

    def __init__(
        self,
        command: click.Command,
        turns: Mapping[str, Words],
        prepared: Callable[[click.Command, Words, click.Context], list[str]],
    ) -> None:
        super().__init__(command.name)
        self._command, self._turns, self._prepared = command, turns, prepared

    def invoke(self, ctx: click.Context) -> int:
        """Run the command for each query, and print what all have found."""
        as_json = any("--json" in words for words in self._turns.values())
        is_judging = any(param.name == "new_baseline" for param in self._command.params)
        rows, codes, failed = list[dict[str, Any]](), [0], dict[str, CheckpointError]()
        collected: Collected = ctx.meta.setdefault(COLLECTED, Collected())
        for name, words in self._turns.items():
            if not as_json and not is_judging:
                say(f"{name}:", bold=True)
            try:
                codes.append(self._run(words, ctx))
            except CheckpointError as error:
                failed[name] = error
                codes.append(error.exit_code)
                rows.append({"query": name, "error": error.to_dict()})
                if not is_judging:
                    print_error(error, as_json=False)
            rows += [{"query": name, **_unversioned(document)} for document in collected.documents]
            collected.documents.clear()
        del ctx.meta[COLLECTED]
        if collected.outputs is not None:
            codes.append(collected.outputs.finish_all(collected.judged, failed))
        elif as_json:
            print_json({"format_version": FORMAT_VERSION, "queries": rows})
        elif is_judging:  # nothing was judged, so no output has an answer
            for wrong in failed.values():
                print_error(wrong, as_json=False)
        return max(codes)

    def _run(self, words: Words, parent: click.Context) -> int:
        """The exit code of the command for one query. Raises CheckpointError."""
        try:
            found = self._prepared(self._command, words, parent)
        except click.UsageError as error:
            raise WrongUseError(error.format_message()) from None
        try:
            context = self._command.make_context(self._command.name, found, parent=parent)
        except click.MissingParameter as error:
            raise WrongUseError(error.format_message()) from None
        try:
            with context:
                return int(self._command.invoke(context) or 0)
        except click.UsageError as error:
            raise WrongUseError(error.format_message()) from None
        except click.exceptions.Exit as end:
            return int(end.exit_code)


def in_turn(command: click.Command, words: Words) -> dict[str, list[str]]:
    """The words of a command of one query for each of several that are named, or of all of its file; empty for one.

    Raises:
        click.UsageError: A name is none of the file, an option is of one query, or the file cannot be read.
    """
    names = names_of(command)
    if names.several != "in turn" or {"-h", "--help"} & {*words}:
        return {}
    place, rest = file_of(words)
    said, given = read_words(command, rest)
    takes_more = sum(isinstance(param, click.Argument) for param in command.params) > 1
    if place is None or len(said) == 1 or (file := place.read(is_needed=not said or not takes_more)) is None:
        return {}
    from airflow_provider_ckpt.fleet.pipeline import pipeline_of  # a room that a location does not need

    named = [_named(file, rest[at]) for at in said] or [*file.queries, *(file.pipelines if names.pipeline else ())]
    unknown = [word for word in named if word not in file.queries and pipeline_of(file, word) is None]
    if unknown and (takes_more or unknown[0] == named[0]):
        return {}  # the id of a backup, or a location
    if unknown:
        raise click.UsageError(unknown_name(unknown[0], file))
    for option in names.of_one:
        if option in given and len(named) > 1:
            raise click.UsageError(f"{option} is of one query; give one name with it, or declare it in the query file")
    others = [word for at, word in enumerate(rest) if at not in said]
    return {name: [name, *others, OPTION, place.place] for name in named}


def _named(file: QueryFile, word: str) -> str:
    """The name of the query whose checkpoint is at a location, or the word itself."""
    found = file.find(word) or file.find(absolute_location(word))
    return word if found is None else found.name


def _unversioned(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "format_version"}
