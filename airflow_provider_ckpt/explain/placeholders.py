"""The runbook's examples as words in capitals: no command that is printed has an example in the place of a value."""

from __future__ import annotations

import re
import shlex

#: Locations in the examples of the runbook: of a checkpoint that does not exist yet, of the checkpoint, of backups.
_NEW = re.compile(r"s3://(?:new/checkpoints/\w+|\w+/checkpoints/\w+-(?:\d+|old))(?![\w/-])")
_LOCATION = re.compile(r"s3://\w+/checkpoints/\w+(?![\w/-])")
_BACKUPS = re.compile(r"s3://\w+/backups(?:/(?!ID\b)\w+)?(?![\w-])")
#: Values of options in the examples, and the word for each.
_VALUES = (
    (re.compile(r"(--(?:to-)?batch) \d+"), r"\1 N"),
    (re.compile(r"(--(?:skip|to|spark)-version) \d[\d.]*"), r"\1 VERSION"),
    (re.compile(r"(--partitions) \d+"), r"\1 NUMBER"),
    (re.compile(r"(--to-watermark) \d\S+"), r"\1 TIME"),
    (re.compile(r"(--offsets) '\{[^']*'"), r"\1 JSON"),
    (re.compile(r"--as \w+=\w+(?: --as \w+=\w+)*"), "--as NEW=OLD"),
)


def without_examples(text: str, location: str | None) -> str:
    """A text of the runbook with words in capitals for what its examples have.

    Args:
        text: Markdown; its sources and sinks are those of :class:`~airflow_provider_ckpt.explain.given.Given`.
        location: The checkpoint, which is put in its place; None where it is not known.
    """
    known = location is not None and location.isprintable() and not location.startswith("-")
    place = shlex.quote(location) if known and location is not None else "LOCATION"
    text = _NEW.sub("NEW_LOCATION", text)
    text = _LOCATION.sub(lambda _: place, text)
    text = _BACKUPS.sub("ROOT", text)
    for value, word in _VALUES:
        text = value.sub(word, text)
    return text
