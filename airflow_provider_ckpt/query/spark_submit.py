"""Command lines of ``spark-submit``: the confs that they set, and the lines in a script of the shell."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

#: Options without a value, and those with one, of Spark 3.5 to 4.3.
_FLAGS = frozenset(
    {"--verbose", "-v", "--supervise", "--help", "-h", "--usage-error", "--version", "--load-spark-defaults"}
)
_WITH_VALUE = frozenset(
    {
        *("-c", "--total-executor-cores"),
        *("--archives", "--class", "--conf", "--deploy-mode", "--driver-class-path", "--driver-cores"),
        *("--driver-default-class-path", "--driver-java-options", "--driver-library-path", "--driver-memory"),
        *("--exclude-packages", "--executor-cores", "--executor-memory", "--extra-properties-file", "--files"),
        *("--jars", "--keytab", "--kill", "--master", "--name", "--num-executors", "--packages", "--principal"),
        *("--properties-file", "--proxy-user", "--py-files", "--queue", "--remote", "--repositories", "--status"),
    }
)
_CONF = ("--conf", "-c")
#: Those that submit nothing.
_ASK = frozenset({"--kill", "--status", "--version", "--help", "-h"})
#: ``spark-submit``, as distributions call it.
_PROGRAM = re.compile(r"spark\d?-submit(?:\.sh)?")
#: What stands before a script for another shell: the option of that, or what runs it.
_RUNS = re.compile(r"-\w*c|eval")
#: What only a shell knows: variables and what a command prints.
_OF_SHELL = re.compile(r"[$`]")
#: What ends a command in a script; behind a redirection come words that are no arguments, but they are behind it.
_ENDS = ";&|()<>\n"


def confs_of_words(words: Iterable[str]) -> dict[str, str]:
    """The confs of the arguments of ``spark-submit``; those behind the application are its own.

    Raises:
        ValueError: A file that only the cluster has sets confs, a conf has no value, or ``spark-submit`` has no such
            option; the end of a sentence.
    """
    return _confs(_parsed(words)[0])


def options_of_words(words: Iterable[str]) -> list[tuple[str, str]]:
    """The options among the arguments of ``spark-submit`` that set no conf, with their values; a flag has none.

    Raises:
        ValueError: ``spark-submit`` has no such option; the end of a sentence.
    """
    return [(option, value) for option, value in _parsed(words)[0] if option not in _CONF]


def confs_of_script(script: str | Sequence[str]) -> list[dict[str, str]]:
    """The confs of each ``spark-submit`` in a script of the shell, or in the words of one command.

    Raises:
        ValueError: One has confs that only the shell or the cluster knows, or the script cannot be read; the end of a
            sentence.
    """
    found = []
    for words in _submits(_commands(script) if isinstance(script, str) else [list(script)]):
        options, application = _parsed(words)
        if not {option for option, _ in options} & _ASK:
            _require_known(options, application)
            found.append(_confs(options))
    return found


def _parsed(words: Iterable[str]) -> tuple[list[tuple[str, str]], str]:
    """The options with their values, and the application. Raises ValueError for what is no option."""
    options, left = list[tuple[str, str]](), iter(words)
    for word in left:
        if not word.startswith("-"):
            return options, word
        if word in _FLAGS:
            options.append((word, ""))
            continue
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option not in _WITH_VALUE:
            raise ValueError(f"{option[:60]!r} is no option of spark-submit")
        options.append((option, value if equals else next(left, "")))
    return options, ""


def _confs(options: Iterable[tuple[str, str]]) -> dict[str, str]:
    confs: dict[str, str] = {}
    for option, value in options:
        if option.endswith("properties-file"):
            raise ValueError(f"{option} is a file that only the cluster has")
        if option == "--driver-java-options" and "-Dspark." in value:
            raise ValueError("--driver-java-options has -Dspark., which sets confs of the driver")
        if option in _CONF:
            key, equals, said = value.partition("=")
            if not equals:
                raise ValueError(f"--conf {value[:60]} is not KEY=VALUE")
            confs[key.strip()] = said
    return confs


def _require_known(options: Iterable[tuple[str, str]], application: str) -> None:
    """Raise ValueError for a conf that the shell makes, or a variable where options may be in it."""
    shown = [value for option, value in options if option in (*_CONF, "--driver-java-options")]
    if not application.strip("\"'").partition("/")[1]:  # $JOBS/orders.py is one word, whatever is in JOBS
        shown.append(application)
    if unknown := next((text for text in shown if _OF_SHELL.search(text)), None):
        raise ValueError(f"{unknown[:60]!r} is known to the shell alone")


def _submits(commands: Iterable[list[str]]) -> Iterator[list[str]]:
    """The words behind each ``spark-submit``, also of one in a text that another shell gets."""
    for words in commands:
        at = next((at for at, word in enumerate(words) if _PROGRAM.fullmatch(posixpath.basename(word))), None)
        if at is not None:
            yield words[at + 1 :]
            continue
        for before, word in pairwise(words):
            if _RUNS.fullmatch(before) and "submit" in word:
                yield from _submits(_commands(word))


def _commands(script: str) -> Iterator[list[str]]:
    """The commands of a script, each as its words. Raises ValueError for what a shell would not read either."""
    if "<<" in script:
        raise ValueError("its script has a document for another program in it")
    text = re.sub(r"(?m)^[ \t]*#.*$", "", script.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_ENDS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= {*_ENDS}:
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        raise ValueError("its script cannot be split into words") from None
    yield words
