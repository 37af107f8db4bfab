"""A hook of mkdocs: lists as GitHub reads them, and long names that break where a reader would break them.

Python-Markdown wants what belongs to an item indented by four. On GitHub it is the width of the mark: three for
``1. ``, two for ``* ``, and four more for code.
"""

from __future__ import annotations

import re
from typing import Any

_CONDITION = re.compile(r"(?<=<code>)[A-Z][A-Z0-9_.]{9,}(?=</code>)")
_MARK = re.compile(r"(?:[*-]|\d+\.) +")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of a page."""
    return indented(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs with what it has made of a page."""
    return breakable(html)


def breakable(html: str) -> str:
    """HTML in which a long name in capitals, such as an error condition, may break behind its underscores and dots."""
    return _CONDITION.sub(lambda found: re.sub(r"([_.])(?=[A-Z0-9])", r"\1<wbr>", found[0]), html)


def indented(text: str) -> str:
    """Text in which what belongs to an item of an outermost list is indented by four."""
    lines, width, fenced, is_loose = [], 0, False, False
    for line in text.split("\n"):
        mark = None if fenced else _MARK.match(line)
        if mark:
            if is_loose and lines[-1]:
                lines.append("")  # without it, Python-Markdown takes the item for more of the paragraph before it
            width, is_loose = len(mark[0]), False
        elif line and not line.startswith(" ") and not fenced:
            width = 0
        is_loose |= not line
        fenced ^= line.lstrip().startswith("```")
        belongs = 0 < width < 4 and not mark and line.startswith(" " * width)
        lines.append(" " * (4 - width) + line if belongs else line)
    return "\n".join(lines)
