"""The examples in the specification of the format: each is a file that real Spark wrote.

A comment ``<!-- golden: 4.3.0/agg-hdfs checkpoint/offsets/1 -->`` is followed by a block with the text of that file;
``golden hex`` by its bytes, or those behind its compression (``plain lz4``), and how many of them; ``golden zip`` by the
entry ``metadata`` of a RocksDB snapshot.

    python -m tests.format_examples

writes the blocks anew.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from tests.goldens import ARCHIVES, packed

PAGES = sorted((Path(__file__).parents[1] / "docs/format").glob("*.md"))
MARK = re.compile(r"<!-- golden( hex| zip)?: (\S+) (\S+)(?: plain (\w+))?(?: (\d+))? -->$", re.MULTILINE)
_EXAMPLE = re.compile(MARK.pattern + r"(?:\n\n```\w*\n.*?\n```$)?", re.MULTILINE | re.DOTALL)
_ROW, _MOST_PLAIN = 16, 1 << 20


def with_examples(page: str) -> str:
    """A page with the block after each mark as it has to be."""
    return _EXAMPLE.sub(lambda mark: f"{mark[0].splitlines()[0]}\n\n{_block(*mark.groups())}", page)


def _block(form: str | None, case: str, name: str, codec: str | None, most: str | None) -> str:
    data = next(content for file, content, _ in packed(ARCHIVES[case]) if file == name)
    assert data is not None
    if form == " zip":
        data = zipfile.ZipFile(io.BytesIO(data)).read("metadata")
    if form != " hex":
        return f"```text\n{data.decode()}\n```"
    plain = bytes(decompressors()[codec](data, _MOST_PLAIN)) if codec else data
    return f"```text\n{_dump(plain[: int(most) if most else None])}\n```"


def _dump(data: bytes) -> str:
    rows = (data[at : at + _ROW] for at in range(0, len(data), _ROW))
    return "\n".join(f"{row.hex(' '):47}    {''.join(map(_shown, row))}" for row in rows)


def _shown(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F else "."


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_examples(path.read_text()))
