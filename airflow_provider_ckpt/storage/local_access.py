"""Owner, group, mode, access control list and time of the files of this machine: what new ones get, and what cannot be.

Who changes a checkpoint is seldom who runs its query, and may have another umask. So a file that takes the place of
another one gets what that has, a new one what the newest beside it has, a new directory what its siblings have or else
the directory above; a directory above that is open to everybody (sticky) gives nothing.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat as modes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airflow_provider_ckpt.storage.access import Access, Attributes, access

_ACL = "system.posix_acl_access"
_DEFAULT_ACL = "system.posix_acl_default"
_OF_FILES = 0o666
_making = threading.Lock()
os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)
#: What a disk says that has no modes of its own, or none of these attributes.
_CANNOT = {errno.ENOTSUP, errno.ENOSYS, errno.ENODATA, errno.EPERM}


def access_in(seen: os.stat_result) -> Access:
    """Owner, group and mode in what the disk says of a file."""
    return access(seen.st_uid, seen.st_gid, modes.S_IMODE(seen.st_mode))


def attributes_of(path: str | int) -> Attributes:
    """All that a file has beside its content. Raises OSError."""
    seen = os.stat(path)  # noqa: PTH116  # or of a file that is open
    return Attributes(access_in(seen), _extended_of(path), seen.st_mtime_ns)


def attributes_to_be(path: str) -> Attributes | None:
    """Attributes that a new file is to have: those of the file it replaces, or of the newest file beside it.

    None where there is nothing to go by.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        here = attributes_of(path)
        if modes.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116  # as above
            return Attributes(here.access, here.extended)
    directory = os.path.dirname(path)  # noqa: PTH120  # a text
    with suppress(FileNotFoundError, NotADirectoryError):
        newest = _newest(directory, of_directories=False)
        return _of_model(newest) if newest else attributes_in(directory)
    return None


def attributes_in(directory: str) -> Attributes | None:
    """Attributes for the only file in a directory; None if that is open to everybody. Raises OSError."""
    seen = access_in(os.stat(directory))  # noqa: PTH116  # as above
    if seen.mode & modes.S_ISVTX:
        return None
    return Attributes(access(seen.owner, seen.group, seen.mode & _OF_FILES))


def give(file: str | int, wanted: Attributes | None) -> None:
    """Give a new file, or a directory, what it is to have. Raises OSError where root may not give it another owner.

    What else cannot be given stays as it is: whether that does harm is judged before anything is written.
    """
    if wanted is None:
        return
    has = access_in(os.stat(file))  # noqa: PTH116  # as above
    if (has.owner, has.group) != (wanted.access.owner, wanted.access.group):
        _give_away(file, int(wanted.access.owner), int(wanted.access.group))
    if access_in(os.stat(file)).mode != wanted.access.mode:  # noqa: PTH116  # a change of owner takes bits away
        with _where_it_can():
            os.chmod(file, wanted.access.mode)  # noqa: PTH101  # as above
    _give_extended(file, wanted)
    if wanted.modified_ns is not None:
        os.utime(file, ns=(wanted.modified_ns, wanted.modified_ns))


def make_directories(path: str, root: str = "") -> None:
    """Make a directory and those above it; each is as its siblings below the root, or else as that above it.

    Args:
        path: The directory.
        root: A location: directories beside it are of others, and say nothing.
    """
    with _making:  # who copies beside it must not find it before it is what it is to be
        _make_directories(path, root)


def _make_directories(path: str, root: str) -> None:
    if os.path.isdir(path):  # noqa: PTH112  # a text
        return
    above = os.path.dirname(path)  # noqa: PTH120  # a text
    _make_directories(above, root)
    sibling = _newest(above, of_directories=True) if root and f"{path}/".startswith(f"{root}/") and path != root else ""
    wanted = _of_model(sibling, _DEFAULT_ACL) if sibling else _below(above)
    try:
        os.mkdir(path)  # noqa: PTH102  # as above
        give(path, wanted)
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112  # a link to nowhere
            raise


def make_like(path: str, model: str) -> None:
    """Make a directory, as another one is, unless it is there or the other one is not; those above it must be."""
    with suppress(FileNotFoundError):
        wanted = _of_model(model, _DEFAULT_ACL)
        with suppress(FileExistsError):
            os.mkdir(path)  # noqa: PTH102  # as above
            give(path, wanted)


def obstacle(path: str) -> str | None:
    """Why this user cannot write a file without harm, or put it back when it was removed: a sentence; or None.

    The file need not be there. The sentence names it, its owner and this user.
    """
    directory = next(str(above) for above in Path(path).parents if above.exists())
    above = access_in(os.stat(directory))  # noqa: PTH116  # as above
    me = os.geteuid()
    user = user_text(me)
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return f"{user} may not write to the directory {directory}, which has {_text(above)}."
    if me == 0:
        return None
    there, is_sticky = _access_of(path), bool(above.mode & modes.S_ISVTX)
    if there is not None and is_sticky and me not in (above.owner, there.owner):
        return f"{user} may not replace {path}, which has {_text(there)}, in a directory with the sticky bit."
    wanted = attributes_to_be(path)
    if wanted is None:
        return None
    given = _given(wanted.access, above)
    is_kept = given.owner == wanted.access.owner or not is_sticky
    if is_kept and given.serves(wanted.access):
        return None
    why = "as it has now" if there is not None else "as the newest file beside it"
    return f"{user} cannot write {path} so that it has {_text(wanted.access)}, {why}."


def user_text(user: int | str) -> str:
    """A user by number, and by name where this machine knows one."""
    with suppress(KeyError, ValueError):
        return f"user {user} ({pwd.getpwuid(int(user)).pw_name})"
    return f"user {user}"


# --- inside ----------------------------------------------------------------------------------------------------------


def _access_of(path: str) -> Access | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        return access_in(os.lstat(path))
    return None


def _given(wanted: Access, above: Access) -> Access:
    """Access that a file of this user can get when another access is wanted."""
    groups = {os.getegid(), *os.getgroups(), *([above.group] if above.mode & modes.S_ISGID else [])}
    group = wanted.group if wanted.group in groups else above.group if above.mode & modes.S_ISGID else os.getegid()
    return access(os.geteuid(), group, wanted.mode)


def _text(has: Access) -> str:
    return f"owner {user_text(has.owner).removeprefix('user ')}, group {has.group} and mode {has.mode:04o}"


def _newest(directory: str, *, of_directories: bool) -> str:
    """The file or directory in a directory that was written last, none that is hidden; empty without one."""
    newest, at = "", -1
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.is_dir(follow_symlinks=False) is not of_directories:
                continue
            with suppress(OSError):
                if not entry.is_symlink() and (written := entry.stat().st_mtime_ns) > at:
                    newest, at = entry.path, written
    return newest


def _of_model(model: str, *more: str) -> Attributes:
    """Attributes that a new file takes from a model: access and its lists, but no time and no notes of people."""
    has = attributes_of(model)
    kept = {name: value for name, value in has.extended.items() if name in (_ACL, *more)}
    return Attributes(has.access, kept)


def _below(directory: str) -> Attributes | None:
    has = _of_model(directory, _DEFAULT_ACL)
    return None if has.access.mode & modes.S_ISVTX else has


def _give_away(file: str | int, owner: int, group: int) -> None:
    try:
        os.chown(file, owner, group)
    except PermissionError:
        if os.geteuid() == 0:  # a disk that takes root for nobody
            raise
        with suppress(PermissionError):
            os.chown(file, -1, group)


def _extended_of(path: str | int) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):  # on Linux alone
        with _where_it_can():
            for name in os.listxattr(path):
                if name.startswith("user.") or name in (_ACL, _DEFAULT_ACL):
                    found[name] = os.getxattr(path, name)
    return found


def _give_extended(file: str | int, wanted: Attributes) -> None:
    has = _extended_of(file)
    with _where_it_can():
        for name, value in wanted.extended.items():
            if has.get(name) != value:
                os.setxattr(file, name, value)


@contextmanager
def _where_it_can() -> Iterator[None]:
    """Pass over what a disk says that has no such attributes, or whose mount gives all files the same mode."""
    try:
        yield
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
