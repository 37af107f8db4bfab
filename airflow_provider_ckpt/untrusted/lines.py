"""Lines of a file that comes in pieces: of the file no more is held than one piece and one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_ckpt.untrusted.limits import MIB, size_text

#: No line that is of any use is longer, bytes.
LONGEST_LINE = 4 * MIB


def lines_in(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    r"""Lines that end with ``\n``, ``\r`` or ``\r\n``, as Java has them; without their ends.

    Args:
        pieces: The file.
        most: How much of it is read, bytes.

    Raises:
        ValueError: It is larger than ``most``, or a line is longer than LONGEST_LINE.
    """
    rest, read = b"", 0
    for piece in pieces:
        read += len(piece)
        if read > most:
            raise ValueError(f"it is larger than {size_text(most)}")
        held = rest + piece
        last = b"\r" if held.endswith(b"\r") else b""  # a \n may follow
        *lines, rest = held.removesuffix(last).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest += last
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"a line is longer than {size_text(LONGEST_LINE)}")
    if rest:
        yield rest.removesuffix(b"\r")
