"""Excludes parts of a text that cannot matter: most of a log is told apart by a few searches in many lines at once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

#: In lower case, without white space: each text that a page or an entry knows has one of them, as has each name of a
#: file of a checkpoint. Common words are left out where a text has a rarer one.
WORDS = (
    *("cannot", "checkpoint", "schema", "batch", "streaming", "exist", "offset", "supported", "metadata", "invalid"),
    *("seqno", "end-of-input", "watermark", "converted", "character", "updating", "skipping", "length", "kafka"),
    *("wrong", "token", "unknowntopic", "classnotfound", "shuffle.partitions", "rocksdbexception", "outofmemory"),
    *("subsequencenumber", "topic-partition", "assertion", "temporary-", "constructor", "malformed", "permission"),
    *("partition", "lifecycle", "statement", "removed,", "validate", "expected", "iterator", "reading", "changed"),
    *("string:", "paimon", "blocks", "gone.", "ended", "large", "access", "forbidden", "exceeded", "device"),
    *(
        "failed",
        "incomplete",
        "occurred",
        "detected",
        "more",
        "another",
        "sources",
        "convert",
        "commits",
        "_spark_metadata",
        "/state",
        "%2f",
    ),
)
#: What every error condition has, however it is named.
_CONDITION = re.compile(r'_[A-Z]|Error|\[[A-Z]|rror[_ ]?[Cc](?:lass|ondition)|"condition"')
#: Marks within words, of terminals and of JSON, and lines that a container has cut.
_MARKS = ("\x1b", "\\u", "stderr P ", "stdout P ")
#: What there is of an exception, also where its class has another name.
_EXCEPTIONS = ("Exception", "Error", "Caused by", "Wrapped by", "Traceback", 'File "', '"class"', '"exc_type"')
_CLASS = re.compile(r"\.[A-Z][\w$]*:?\s")
#: A record that begins a failure of its own.
_RECORD = re.compile(
    r"\n\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z? (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) [\w.$-]+: "
)
#: The usual records that say what goes well, and what one of them has that matters all the same.
_QUIET = re.compile(r"\n\d{2,4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z? (?:INFO|DEBUG|TRACE) [^\n]*")
_NOT_QUIET = ("Exception", "Skipping ", "heckpoint")
#: About so many lines are remembered as dull, and so many are judged in vain.
MOST_DULL = 4096
#: What is read around lines that matter where no record begins, in characters: more than a stack trace has.
MOST_AROUND = 1 << 17
#: Lines that are judged at once: as many as have so many characters.
LEAST_LINES, MOST_LINES, _CHARS = 64, 512, 1 << 13
#: Where all lines have to be read, so many times the least number is read without a look.
MOST_UNJUDGED = 16


def may_be_known(text: str) -> bool:
    """True if a text may contain something known; its lines may have been cut within words."""
    joined = text.replace("\n", "")
    low = joined.lower()
    for word in WORDS:  # a loop costs half of what any() does
        if word in low:
            return True
    return _CONDITION.search(joined) is not None


def has_exception(text: str) -> bool:
    """True if there may be an exception in lines."""
    return any(word in text for word in _EXCEPTIONS) or _CLASS.search(text) is not None


def may_matter(text: str) -> bool:
    """True if lines of a log may contain something known, apart from unknown exceptions."""
    if "\\n" in text:  # lines in a JSON text
        text = text.replace("\\r", "").replace("\\n", "")
    return may_be_known(text.replace("\r", "")) or any(mark in text for mark in _MARKS)


class Screen:
    """Tells apart lines that cannot matter.

    Args:
        is_dull: True if a line is a record by itself of which nothing is known; a log repeats such, numbers aside.
        matters: True if other lines may matter.
    """

    def __init__(self, is_dull: Callable[[str], bool], matters: Callable[[str], bool]) -> None:
        self._is_dull, self._matters = is_dull, matters
        self._known: set[str] = set()
        self._left = MOST_DULL

    def keeps(self, text: str) -> bool:
        """True if some lines have to be read."""
        if not any(word in text for word in _NOT_QUIET):
            text = _QUIET.sub("", f"\n{text}")[1:]
        skeletons = _skeleton(text).split("\n")
        if self._known.issuperset(skeletons):
            return False
        if self._matters(text):
            return not self._are_dull(text.split("\n"), skeletons)
        if len(self._known) < MOST_DULL and not has_exception(text):
            self._known.update(skeletons)
        return False

    def _are_dull(self, lines: list[str], skeletons: list[str]) -> bool:
        for line, skeleton in zip(lines, skeletons, strict=True):
            if skeleton in self._known:
                continue
            if self._left <= 0:
                return False
            self._left -= 1
            if not self._is_dull(line):
                return False
            if len(self._known) < MOST_DULL:
                self._left += 1
            self._known.add(skeleton)
        return True

    def without_dull(self, lines: Iterable[str]) -> Iterator[str | int]:
        """The lines that have to be read and those around them; a number says how many lines are left out.

        The lines around them may be about the same failure: back to the record that it begins with, and up to the next
        one, or some lines without any exception. The first lines are always read.

        Args:
            lines: A text. A line of nothing but line feeds is so many blank lines.
        """
        source, count, unjudged = iter(lines), LEAST_LINES, 1
        waiting: deque[tuple[list[str], int]] = deque()
        left_out, chars, ahead = 0, 0, MOST_AROUND
        yield from islice(source, count)
        while block := list(islice(source, count)):
            text = "\n".join(block)
            size = len(text)
            count = max(1, min(MOST_LINES, _CHARS * len(block) // (size + 1)))
            if self.keeps(text):
                if left_out:
                    yield left_out
                for earlier, _ in waiting:
                    yield from earlier
                yield from block
                waiting.clear()
                left_out, chars, ahead = 0, 0, MOST_AROUND
                yield from islice(source, min(unjudged, MOST_UNJUDGED) * LEAST_LINES)
                unjudged *= 2
                continue
            unjudged = 1
            begins = _is_apart(text, len(block))
            if ahead > 0:
                yield from block
                ahead = 0 if begins else ahead - size
                continue
            waiting.append((block, size))
            chars += size
            while len(waiting) > 1 and (begins or chars > MOST_AROUND):
                earlier, of_earlier = waiting.popleft()
                chars -= of_earlier
                left_out += _count(earlier)


def _skeleton(text: str) -> str:
    """The text, its numbers aside; most of those of other lengths as well."""
    return text.translate(_DIGITS).replace("0000", "0").replace("00", "0").replace("00", "0")


_DIGITS = {ord(digit): "0" for digit in "123456789"}


def _is_apart(text: str, lines: int) -> bool:
    """True if the text after these lines has nothing to do with the text before them."""
    is_plain = lines >= LEAST_LINES and "\n\tat " not in text and not has_exception(text)
    return is_plain or _RECORD.search(f"\n{text}") is not None


def _count(block: list[str]) -> int:
    return sum(len(line) if line[:1] == "\n" else 1 for line in block)
