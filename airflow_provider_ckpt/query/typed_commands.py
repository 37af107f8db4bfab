"""Commands in messages, as somebody types them who has a query file: by the name of the query.

A message is made for everybody: its commands have locations, and options with words in capitals. Where a query file
declares the query at the location, the name brings what the file says, so the command becomes shorter.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.query.command_options import OF_BACKUPS, not_declared, options_of
from airflow_provider_ckpt.query.declared import texts_declared
from airflow_provider_ckpt.query.query_file import Query, QueryFile

#: A word as shlex.quote writes it; one of an option may have more signs without quotes.
_WORD = r"(?:[\w@%+=:,./<>-]|'[^']*'|\"'\")+"
_VALUE = r"(?:[\w@%+=:,./<>\[\]-]|'[^']*'|\"'\")+"
_COMMAND = re.compile(
    rf"(?<![\w-])ckpt (?P<command>[a-z]+(?:-[a-z]+)*) (?P<text>TEXT )?(?P<place>{_WORD})"
    rf"(?P<words>(?: ID)?(?: --[a-z][a-z-]*(?:[ =](?!--){_VALUE})?)*)"
)
_OPTION = re.compile(rf" (?P<name>--[a-z][a-z-]*)(?:[ =](?P<value>(?!--){_VALUE}))?")
#: What ends a sentence, which a word may have behind it.
_ENDS = ".,;:"
#: Words in capitals for a sink or a source that nobody has declared.
_ANY = re.compile(r"(?:[\w.-]+=)?(?:TYPE(?:\[:(?:URI|PLACE)\])?|\w+:(?:URI|PLACE|HOST:PORT(?:/TOPIC)?))")
#: Keys of a document that hold a plan or a line that was made of what was typed: these stay to the letter.
_TO_THE_LETTER = frozenset({"plan", "apply_command", "remedy_command"})


@dataclass(frozen=True, slots=True)
class Typed:
    """How commands are typed where there is a query file.

    Args:
        file: The query file.
        about: The query that the messages are about; None where they are about several.
        place: The query file as ``--file`` has to name it; None where a command finds it by itself.
    """

    file: QueryFile
    about: Query | None = None
    place: str | None = None

    def text(self, text: str) -> str:
        """A text, each command of which names a query of the file where it had a location of one."""
        return _COMMAND.sub(self._command, text) if "ckpt " in text else text

    def document(self, value: Any) -> Any:
        """A document for programs whose texts are such; its plans stay as they are."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: each if key in _TO_THE_LETTER else self.document(each) for key, each in value.items()}
        return [self.document(each) for each in value] if isinstance(value, list | tuple) else value

    def _command(self, found: re.Match[str]) -> str:
        command, word, words = found["command"], found["place"], found["words"]
        ends = _end_of(words or word)
        query, kept = self._query(command, word), words.removesuffix(ends) if words else ""
        if query is None and not words:
            query = self._query(command, word.removesuffix(ends))
        elif not words:
            ends = ""
        if query is None:
            return found[0]
        kept = self._kept(command, kept, query)
        named = "" if self.place is None or " --file" in kept else f" --file {shlex.quote(self.place)}"
        return f"ckpt {command} {found['text'] or ''}{shlex.quote(query.name)}{kept}{named}{ends}"

    def _query(self, command: str, word: str) -> Query | None:
        """The query that a command is about which has a location there; None where it names none, or has its name."""
        try:
            words = shlex.split(word)
        except ValueError:
            return None
        if len(words) != 1 or (not {"/", ":"} & {*words[0]} and words[0] != "ROOT"):
            return None
        if command not in OF_BACKUPS:
            query = self.file.find(words[0])
            return query if query and self._is_at(query.checkpoint, words[0]) else None
        if words[0] == "ROOT":
            return self.about if self.about is not None and self.about.backups else None
        queries = self.file.queries.values()
        of_it = [query for query in queries if query.backups and self._is_at(query.backups, words[0])]
        return of_it[0] if len(of_it) == 1 else None

    def _is_at(self, declared: str, location: str) -> bool:
        return self.file.paths.place(declared) == self.file.paths.place(location)

    def _kept(self, command: str, words: str, query: Query) -> str:
        """The words of a command without the options that the file gives, and with its root of backups."""
        given: dict[str, list[str]] = {}
        for option in _OPTION.finditer(words):
            given.setdefault(option["name"], []).append(option["value"] or "")
        instead, means = not_declared(command, given), options_of(command)
        dropped = {
            name
            for name, values in given.items()
            if name in means and name not in instead and self._is_said(means[name], values, query)
        }
        kept = _OPTION.sub(lambda option: "" if option["name"] in dropped else option[0], words)
        if query.backups is not None:
            kept = kept.replace(" --to-backup ROOT/ID", f" --to-backup {shlex.quote(f'{query.backups}/ID')}")
        return kept

    def _is_said(self, argument: str, values: list[str], query: Query) -> bool:
        """True if the file says the same as these values of an option, or says what they leave open."""
        said = {self.file.paths.opened_in(text) for text in texts_declared(argument, query)}
        plain = (" ".join(shlex.split(value)) for value in values)
        return bool(said) and all(_ANY.fullmatch(value) or self.file.paths.opened_in(value) in said for value in plain)


def _end_of(words: str) -> str:
    """What ends a sentence behind some words."""
    return words[len(words.rstrip(_ENDS)) :]
