"""Command lines of ``spark-submit``: the confs that they set."""

from __future__ import annotations

from collections.abc import Iterable

#: Options without a value.
_FLAGS = frozenset({"--verbose", "-v", "--supervise", "--help", "-h", "--usage-error", "--version"})


def confs_of_words(words: Iterable[str]) -> dict[str, str]:
    """The confs of the arguments of ``spark-submit``; those behind the application are its own.

    Raises:
        ValueError: A file that only the cluster has sets confs, or a conf has no value; the end of a sentence.
    """
    confs: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if word in _FLAGS:
            continue
        if not word.startswith("-"):
            break
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        value = value if equals else next(left, "")
        if option == "--properties-file":
            raise ValueError("--properties-file is a file that only the cluster has")
        if option in ("--conf", "-c"):
            key, equals, said = value.partition("=")
            if not equals:
                raise ValueError(f"--conf {value[:60]} is not KEY=VALUE")
            confs[key.strip()] = said
    return confs
