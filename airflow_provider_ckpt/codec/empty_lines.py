"""Lines of a log file that are empty where Spark leaves none so, as editors leave them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_provider_ckpt.codec import jvm_text
from airflow_provider_ckpt.errors import CheckpointFormatError, EmptyLineError, MalformedEntryError

#: What to do about such lines, wherever they are.
REMEDY = "Remove what is empty: ckpt salvage writes the entry again without it, and no batch is lost."
#: Larger files are not searched: such a line is left by a person, in a file that a person has opened.
_MOST_BYTES = 8 << 20


def is_empty(line: str) -> bool:
    """True if a line consists of blanks and control characters only."""
    return line[:1] <= " " and not jvm_text.trim(line)


def without_empty_lines(text: str) -> Iterator[str]:
    """Yield the text without its empty lines: first with line 2 kept, which a continuous query leaves empty."""
    lines = list(jvm_text.lines_of(text))
    empty = {number for number, line in enumerate(lines) if is_empty(line)}
    for gone in dict.fromkeys((frozenset(empty - {1}), frozenset(empty))):
        if gone:
            yield "\n".join(line for number, line in enumerate(lines) if number not in gone)


def why_malformed(error: MalformedEntryError, data: bytes, read: Callable[[bytes], object]) -> MalformedEntryError:
    """The error that names the empty lines of a file, where it can be read without them; else the same error.

    Args:
        error: Why the file cannot be read.
        data: Its content.
        read: Reads such a file; raises CheckpointFormatError.
    """
    text = data.decode(errors="replace") if len(data) <= _MOST_BYTES else ""
    if not any(_is_read(read, plain) for plain in without_empty_lines(text)):
        return error
    empty = [number for number, line in enumerate(jvm_text.lines_of(text), 1) if is_empty(line)]
    return EmptyLineError(
        f"{lines_text(empty)}, as an editor leaves it", name=error.name, spark_error=error.spark_error, hint=REMEDY
    )


def _is_read(read: Callable[[bytes], object], text: str) -> bool:
    try:
        read(text.encode())
    except CheckpointFormatError:
        return False
    return True


def lines_text(numbers: list[int] | tuple[int, ...]) -> str:
    """Lines of a file by their numbers, from 1, in words: the first few."""
    if len(numbers) == 1:
        return f"line {numbers[0]} is empty"
    few = [str(number) for number in numbers[:5]]
    more = f" and {len(numbers) - len(few)} more" if len(numbers) > len(few) else ""
    return f"the lines {', '.join(few)}{more} are empty"
