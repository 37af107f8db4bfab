"""Names of the files that a write of this package fills before they get their own, by which a killed one is known.

Hadoop's are ``.<name>.<uuid>.tmp`` as well. Those of this package have a UUID that begins with the letters of its name.
"""

from __future__ import annotations

import re

_OWN = b"ckpt".hex()
_OWN_TEMPORARY = re.compile(rf"\..+\.{_OWN}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.tmp\Z")


def own_suffix(unique: str) -> str:
    """Suffix of a temporary file of this package, from the text of a UUID."""
    return f"{_OWN}{unique[len(_OWN) :]}.tmp"


def is_own_temporary(name: str) -> bool:
    """True if a name is that of a temporary file of this package."""
    return _OWN_TEMPORARY.match(name.rpartition("/")[2]) is not None
