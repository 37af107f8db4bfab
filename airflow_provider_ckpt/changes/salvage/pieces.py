"""Objects that a salvage may put under a name of a checkpoint, and their origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Where a piece comes from: a temporary file whose rename was lost, a backup, or what the other entries tell.
Way = Literal["temporary", "backup", "known"]


@dataclass(frozen=True, slots=True)
class Piece:
    """An object that is to be in the checkpoint.

    Args:
        name: The name that it gets.
        way: The place that it comes from.
        size: Bytes.
        sha256: Hex.
        source: The temporary file in the checkpoint, the object relative to the root of the backups, or the file itself
            that another program has written again.
        identity: Identity that the temporary file must still have.
        data: The content, where it is known from other entries.
        like: The file with the same content, without any key, by which it is not known of which batch it is; or empty.
    """

    name: str
    way: Way
    size: int
    sha256: str
    source: str = ""
    identity: str = ""
    data: str = ""
    like: str = ""

    @property
    def text(self) -> str:
        """How it comes under its name, in words."""
        match self.way:
            case "temporary":
                return f"{self.name} is taken from its temporary file {self.source.rpartition('/')[2]}"
            case "backup":
                return f"{self.name} is copied from the backup"
        if self.source:
            return f"{self.name} is written again as it was before another program changed its form"
        return f"{self.name} is written again from what the other entries say"
