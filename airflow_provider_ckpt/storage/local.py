"""A directory of this machine, without the detours of a driver: state has many small files."""

from __future__ import annotations

import errno
import hashlib
import os
import stat as modes
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.local_access import (
    access_in,
    attributes_in,
    attributes_to_be,
    give,
    make_directories,
)
from airflow_provider_ckpt.storage.stored_object import StoredObject, is_name
from airflow_provider_ckpt.storage.temporary_names import is_own_temporary, own_suffix

CHUNK_BYTES = 1 << 20
_GROWN_BYTES = 1 << 16
SCHEMES = ("file", "local")


class LocalDisk:
    """The disk of this machine under the names that a driver of fsspec has, which takes longer to load than to use.

    Args:
        storage_options: Options for a driver; a disk needs nothing of it.
    """

    protocol = SCHEMES

    def __init__(self, storage_options: Mapping[str, Any] | None = None) -> None:
        self.storage_options = dict(storage_options or {})

    def exists(self, path: str) -> bool:
        """True if there is anything at a path."""
        return os.path.exists(path)  # noqa: PTH110  # pathlib raises where nobody may read

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """The bytes of a file from one position up to another. Raises OSError for what is no regular file."""
        size = require_regular(path)
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Python makes room for all that it is asked for, which may be megabytes: no more than is there, and a byte.
            pieces, at = [], start
            while piece := os.pread(file, min(end - at, max(size - at, 0) + 1), at):
                pieces.append(piece)
                at += len(piece)
                if at == size:  # a byte more was asked for, and is not there
                    break
                size = max(size, at + _GROWN_BYTES)  # another piece comes if it has grown meanwhile
            return b"".join(pieces)
        finally:
            os.close(file)

    def open(self, path: str, mode: str) -> IO[Any]:
        """A file as Python opens it. Raises OSError for what is no regular file, and is to be read."""
        if mode == "rb":
            require_regular(path)
        return open(path, mode)  # noqa: PTH123  # whoever asks closes it

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        os.remove(path)  # noqa: PTH107  # as the rest of it


def local_path(location: str) -> str | None:
    """The absolute path that a location of this machine means, tidied; None for one that is elsewhere, or chained.

    Raises StoreError for a relative one in a directory that was removed.
    """
    scheme, separator, path = location.partition("://")
    if "::" in location or (separator and scheme.lower() not in SCHEMES):
        return None
    if separator and path.lower().startswith("localhost/"):  # RFC 8089: this machine, and no directory
        path = path[len("localhost") :]
    if not separator:
        path = location.removeprefix("file:").removeprefix("local:")
    path = os.path.expanduser(path)  # noqa: PTH111  # "" is the working directory
    if not path.startswith("/"):
        path = os.path.join(_working_directory(path), path)  # noqa: PTH118  # as above
    return tidied(path)


def _working_directory(path: str) -> str:
    """The directory that a relative path is in. Raises StoreError when it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  # tests replace it
    except FileNotFoundError:
        raise StoreError(
            "the path is relative, and the working directory does not exist any more.",
            location=path,
            hint="Give an absolute path.",
        ) from None


def tidied(path: str) -> str:
    """A path without ``.``, ``..`` and doubled slashes; where a link makes ``..`` mean another directory, that one."""
    plain = os.path.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path)
    return plain if os.path.realpath(plain) == os.path.realpath(path) else os.path.realpath(path)


def scan(path: str, prefix: str, *, into_links: bool = True) -> tuple[dict[str, StoredObject], list[str]]:
    """A local directory as the store's ``ls`` shows it; what goes meanwhile is left out.

    Args:
        path: The directory.
        prefix: Text before each name.
        into_links: True if a link to a directory is shown as a directory; otherwise it is an object that is a link.
    """
    objects, directories = {}, []
    with os.scandir(path) as entries:
        for entry in entries:
            name = prefix + entry.name
            is_link = entry.is_symlink()
            try:
                if entry.is_dir(follow_symlinks=into_links):
                    directories.append(name)
                    continue
                seen = entry.stat()
            except OSError as error:
                if is_link:  # to nowhere, to itself, or to where nobody may go
                    objects[name] = StoredObject(name, 0, None, "", is_link)
                elif not isinstance(error, FileNotFoundError):
                    raise
                continue
            objects[name] = _stored(name, seen, is_link=is_link)
            is_special = not is_link and not modes.S_ISREG(seen.st_mode)
            if is_special or ("\\" in entry.name and not is_name(name)):
                objects[name] = replace(objects[name], is_unreachable=True)
    return objects, directories


def names_in(path: str, prefix: str) -> list[str]:
    """The names of the objects that :func:`scan` shows of a directory: the disk is not asked for each."""
    with os.scandir(path) as entries:
        return [prefix + entry.name for entry in entries if not entry.is_dir()]


def require_regular(path: str) -> int:
    """Raise OSError for what is there and is no regular file: to open a named pipe or a device waits, or does harm.

    Returns its size in bytes; of a directory, which is refused when it is read, whatever the disk says.
    """
    seen = os.stat(path)  # noqa: PTH116  # as the scan does
    if not modes.S_ISREG(seen.st_mode):
        what = next((name for is_it, name in _SPECIAL if is_it(seen.st_mode)), None)
        if what is not None:
            raise OSError(errno.EINVAL, f"this is {what}, not a regular file, so it was not opened")
    return seen.st_size


_SPECIAL = (
    (modes.S_ISFIFO, "a named pipe"),
    (modes.S_ISSOCK, "a socket"),
    (modes.S_ISCHR, "a device"),
    (modes.S_ISBLK, "a device"),
)


def link_to_nowhere(path: str) -> str | None:
    """The symbolic link, a path itself or a directory above it, that leads to nothing; None when there is none."""
    above = (Path(path), *Path(path).parents)
    return next((str(link) for link in above if link.is_symlink() and not link.exists()), None)


def is_below_link(root: str, path: str) -> bool:
    """True if there is a link between a location and a path below it, the last part of the path included."""
    return os.path.realpath(path) != os.path.realpath(root) + path[len(root) :].rstrip("/")


def is_inside(root: str, path: str) -> bool:
    """True if a path is a location or below it, with all links followed. It is asked for every file of a backup."""
    real_root, real_path = os.path.realpath(root), os.path.realpath(path)
    return real_path == real_root or real_path.startswith(real_root.rstrip("/") + "/")


def stat(path: str, name: str) -> StoredObject | None:
    """A local file as :func:`scan` shows it; None when there is none."""
    try:
        return _stored(name, os.stat(path), is_link=Path(path).is_symlink())  # noqa: PTH116  # as the scan does
    except FileNotFoundError:
        return None


def _stored(name: str, seen: os.stat_result, *, is_link: bool) -> StoredObject:
    size, modified = seen.st_size, seen.st_mtime
    identity = f"{size}-{modified}-{seen.st_ino}"
    return StoredObject(name, size, int(modified * 1000), identity, is_link, access=access_in(seen))


def linked(source: str, target: str, root: str = "") -> bool:
    """Give a file a second name that is free; False where the disk cannot do that.

    ``root`` is the location that the name is in: see :func:`make_directories`.
    """
    make_directories(target.rpartition("/")[0], root)
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        return False
    return True


def linked_over(source: str, target: str) -> bool:
    """Put a file in the place of another one at once, under both its names; False where the disk cannot do that."""
    beside = _temporary_of(Path(target))
    try:
        if not linked(source, str(beside)):
            return False
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return True


def sum_of(chunks: Iterable[bytes]) -> tuple[int, str]:
    """Size in bytes and SHA-256 (hex) of all chunks together."""
    sha256, size = hashlib.sha256(), 0
    for data in chunks:
        sha256.update(data)
        size += len(data)
    return size, sha256.hexdigest()


def publish(
    path: str, fill: Callable[[IO[bytes]], Any], *, replace: bool, like: Attributes | None = None, root: str = ""
) -> None:
    """Write a file that appears whole: in the place of another, or under a name that must be free.

    Args:
        path: The file.
        fill: Writes its content.
        replace: True if another may be there.
        like: Owner, group, mode and time that it is to have; by default those that :func:`attributes_to_be` says.
        root: The location that it is in: see :func:`make_directories`.
    """
    target = Path(path)
    make_directories(str(target.parent), root)
    temporary = _temporary_of(target)
    try:
        with temporary.open("xb") as file:
            fill(file)
            file.flush()
            give(file.fileno(), like or attributes_to_be(path))
            if replace:  # what is replaced is gone: the new bytes have to outlive a power cut before that
                os.fsync(file.fileno())
        if replace:
            temporary.replace(target)
        else:
            os.link(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def remove_temporaries(directory: str) -> None:
    """Remove what writes of this package that were killed have left in a directory; nobody may write there now."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(directory):  # noqa: PTH208  # names
            if is_own_temporary(name):
                with suppress(FileNotFoundError):
                    os.unlink(f"{directory}/{name}")  # noqa: PTH108  # as below


def _temporary_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.{own_suffix(str(uuid.uuid4()))}")


class _OfThread(threading.local):
    """Each thread's buffer and random name for copies: making them for each file would cost more than the copy."""

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(CHUNK_BYTES))
        self.suffix = own_suffix(str(uuid.uuid4()))


_of_thread = _OfThread()


def _begin_anew() -> None:
    """A process that was forked has a copy of the random name, and must not write where its parent does."""
    global _of_thread  # there is one for each process
    _of_thread = _OfThread()


os.register_at_fork(after_in_child=_begin_anew)


#: Called with the bytes of an object while it is copied, a piece at a time; a piece changes after the call.
See = Callable[[bytes | memoryview], object]


def unseen(piece: bytes | memoryview) -> None:
    """Nobody wants to see what is copied."""


def copy_file(
    source: str,
    target: str,
    *,
    is_free: bool = False,
    see: See = unseen,
    like: Attributes | None = None,
    root: str = "",
) -> tuple[int, str]:
    """Copy a local file to a name that is free.

    Args:
        source: The file.
        target: The path of the copy, which appears whole.
        is_free: Nobody else writes there, and nobody reads before all is copied; then it is written under its own name.
        see: Called with what is copied.
        like: Owner, group, mode and time of the copy; by default it is like a file that is alone in its directory,
            and with ``is_free`` as the user who copies makes files.
        root: The location that the copy is in: see :func:`make_directories`.

    Returns:
        Size in bytes and SHA-256 (hex), taken while copying.
    """
    require_regular(source)
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if is_free:
            return _copy_whole(reading, target, see)
        directory, _, name = target.rpartition("/")
        temporary = f"{directory}/.{name}.{_of_thread.suffix}"
        make_directories(directory, root)
        copied = _copy_whole(reading, temporary, see)
        try:
            give(temporary, like or attributes_in(directory))
            os.link(temporary, target)
        finally:
            os.unlink(temporary)  # noqa: PTH108  # pathlib costs a third of a small copy
    finally:
        os.close(reading)
    return copied


def _copy_whole(reading: int, path: str, see: See) -> tuple[int, str]:
    """Write a new file; what an error has left of it is removed."""
    writing = _create(path)
    try:
        try:
            return _pour(reading, writing, see)
        finally:
            os.close(writing)
    except BaseException:  # Ctrl-C as well
        os.unlink(path)  # noqa: PTH108  # as above
        raise


def _create(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o666)


def _pour(reading: int, writing: int, see: See) -> tuple[int, str]:
    buffer, sha256, size = _of_thread.buffer, hashlib.sha256(), 0
    while count := os.readv(reading, [buffer]):
        piece, written = buffer[:count], 0
        sha256.update(piece)
        see(piece)
        while written < count:
            written += os.write(writing, piece[written:])
        size += count
    return size, sha256.hexdigest()
