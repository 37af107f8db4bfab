"""Who may do what with a file, as a storage with modes shows it; and whether two files are open to the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

_READ, _READ_WRITE = 0o4, 0o6


@dataclass(frozen=True, slots=True)
class Access:
    """Owner, group and mode of a file or a directory.

    Args:
        owner: The number of the user on a disk of this machine; elsewhere the name that the storage says.
        group: The number or the name of the group.
        mode: The permission bits, up to ``0o7777``.
    """

    owner: int | str
    group: int | str
    mode: int

    def __str__(self) -> str:
        return f"owner {self.owner}, group {self.group}, mode {self.mode:04o}"

    @property
    def of_owner(self) -> int:
        """The bits of the owner: 4 to read, 2 to write, 1 to execute or to enter."""
        return self.mode >> 6 & 0o7

    def bits_for(self, owner: int | str, group: int | str) -> int:
        """The bits that count for a user who owns a file, and is in one group that is known of."""
        if self.owner == owner:
            return self.of_owner
        return self.mode >> 3 & 0o7 if self.group == group else self.mode & 0o7

    def serves(self, other: Access, *, wanted: int = _READ_WRITE) -> bool:
        """True if this file grants its owner, its group and all others at least what another file grants its own.

        Args:
            other: The other file.
            wanted: The bits that matter.
        """
        of_group = (self.mode >> 3 if self.group == other.group else self.mode) & 0o7
        return not (
            other.of_owner & wanted & ~self.bits_for(other.owner, other.group)
            or other.mode >> 3 & wanted & ~of_group
            or other.mode & wanted & ~self.mode & 0o7
        )

    def can_be_read_by(self, other: Access) -> bool:
        """True if the owner of another file, in the group of that file, may read this one."""
        return bool(self.bits_for(other.owner, other.group) & _READ)


#: Few are different, and a listing has one for each object.
access = lru_cache(maxsize=1_024)(Access)


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes that a file on a disk has besides its content.

    Args:
        access: Owner, group and mode.
        extended: Extended attributes by name, the access control list among them.
        modified_ns: When it was written, epoch nanoseconds; None where it does not matter.
    """

    access: Access
    extended: Mapping[str, bytes] = field(default_factory=dict)
    modified_ns: int | None = None
