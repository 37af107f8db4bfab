"""Damage and by-hand edits, as lines of text: a verb, a name inside the checkpoint, and what the verb needs.

``{N}`` is the newest planned batch, ``{N-1}`` the one before it, ``{V}`` the newest state version; a name may be a glob
pattern. Unless a verb says otherwise, an edit takes the Hadoop checksum file away, as tools that know it do.

| verb | does |
|---|---|
| drop NAME | deletes files or a directory, with their checksum files |
| bare-drop NAME | deletes files, and leaves their checksum files |
| empty NAME | leaves no byte |
| truncate NAME | leaves the first half |
| keep NAME BYTES | leaves so many bytes |
| rot-end NAME | changes one bit of the last byte, and leaves every checksum file |
| flip NAME | inverts the middle byte |
| rot NAME | inverts the middle byte, and leaves every checksum file |
| bit NAME | changes one bit of the middle byte, and leaves every checksum file |
| prefix NAME HEX | puts bytes in front |
| append NAME HEX | puts bytes at the end |
| bare-append NAME HEX | puts bytes at the end, and leaves the checksum file |
| zeros NAME | leaves as many zero bytes |
| gzip NAME | compresses the content |
| recode NAME ENCODING | writes the text in another encoding |
| crlf NAME | ends lines as Windows does |
| junk DIRECTORY FILE HEX | puts a foreign file into a directory, or into each that the pattern names |
| foreign NAME FROM | takes the content of another file |
| bare-foreign NAME FROM | takes the content of another file, and leaves the checksum file |
| text NAME LINE… | writes these lines |
| copy NAME TO | copies a file, without its checksum file |
| copy-tree NAME TO | copies a directory |
| link NAME | moves a file out of the checkpoint, and leaves a link to it |
| pipe NAME | puts a named pipe in the place of a file |
| folder NAME | makes a directory, in the place of a file when there is one |
| version NAME V | replaces the version line |
| conf NAME KEY VALUE | sets a conf of an offset entry; VALUE is JSON, or ``absent`` |
| confs NAME none | takes every conf away |
| watermark NAME MS | sets the watermark of an offset entry or a commit |
| line NAME I TEXT | replaces line I, or adds it; ``absent`` removes it |
| insert NAME I TEXT | puts a line before line I |
| owner NAME UID MODE | gives a file to another user, with these bits |
| litter NAME WHAT | lays foreign files into directories (``junk``), or ``copies`` of a file beside it (``tools.py``) |
| tool . NAME | leaves the checkpoint as a tool does that copies it (``tools.py``) |
| stale NAME | changes a byte without a meaning and leaves the checksum file |
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from .tools import TOOLS, litter


def mutate(checkpoint: Path, mutations: Iterable[str]) -> None:
    """Carry out lines on a checkpoint; ``{N}`` is what it is before the first of them."""
    newest = max(int(path.name) for path in (checkpoint / "offsets").glob("[0-9]*"))
    for mutation in mutations:
        _mutate(checkpoint, _PLACE.sub(lambda match: str(newest + _ADD[match[1]] + int(match[2] or 0)), mutation))


#: ``{N-1}``; the newest state version is that of the newest batch and one more.
_PLACE = re.compile(r"\{([NV])([+-]\d+)?\}")
_ADD = {"N": 0, "V": 1}


def _mutate(checkpoint: Path, mutation: str) -> None:
    verb, name, *arguments = shlex.split(mutation)
    paths = sorted(checkpoint.glob(name)) if "*" in name else [checkpoint / name]
    assert paths, f"{mutation}: nothing is there"
    for path in paths:
        _VERBS[verb](path, *arguments)
        if verb not in ("stale", "rot", "rot-end", "bit") and not verb.startswith("bare-"):
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _drop(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
        for sidecar in (f".{path.name}.crc.crc", f"{path.name}.crc"):
            path.with_name(sidecar).unlink(missing_ok=True)


def _keep(path: Path, size: str) -> None:
    path.write_bytes(path.read_bytes()[: int(size)])


def _truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def _bit(path: Path, at: str = "", bit: str = "0") -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[int(at) % len(data) if at else len(data) // 2] ^= 1 << int(bit)
    path.write_bytes(data)


def _recode(path: Path, encoding: str) -> None:
    path.write_bytes(path.read_bytes().decode().encode(encoding))


def _junk(path: Path, file: str, content: str = "") -> None:
    if path.is_dir():
        target = path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(bytes.fromhex(content))


def _append(path: Path, text: str) -> None:
    path.write_bytes(path.read_bytes() + bytes.fromhex(text))


def _foreign(path: Path, origin: str) -> None:
    shutil.copyfile(_root(path) / origin, path)


def _owner(path: Path, user: str, mode: str) -> None:
    os.chown(path, int(user), int(user))
    path.chmod(int(mode, 8))


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _edit_lines(path: Path, edit: Callable[[list[str]], None]) -> None:
    lines = path.read_text().split("\n")
    edit(lines)
    path.write_text("\n".join(lines))


def _conf(path: Path, key: str, value: str) -> None:
    def edit(lines: list[str]) -> None:
        metadata = json.loads(lines[1])
        if value == "absent":
            del metadata["conf"][key]
        else:
            metadata["conf"][key] = json.loads(value)
        lines[1] = json.dumps(metadata, separators=(",", ":"))

    _edit_lines(path, edit)


def _confs(path: Path, what: str) -> None:
    def edit(lines: list[str]) -> None:
        lines[1] = json.dumps({**json.loads(lines[1]), "conf": {}}, separators=(",", ":"))

    assert what == "none"
    _edit_lines(path, edit)


def _watermark(path: Path, ms: str) -> None:
    key = "batchWatermarkMs" if path.parent.name == "offsets" else "nextBatchWatermarkMs"

    def edit(lines: list[str]) -> None:
        lines[1] = json.dumps({**json.loads(lines[1]), key: int(ms)}, separators=(",", ":"))

    _edit_lines(path, edit)


def _line(path: Path, index: str, text: str) -> None:
    def edit(lines: list[str]) -> None:
        at = int(index)
        lines[at : at + 1] = [] if text == "absent" else [text]

    _edit_lines(path, edit)


def _insert(path: Path, index: str, text: str) -> None:
    _edit_lines(path, lambda lines: lines.insert(int(index), text))


def _stale(path: Path) -> None:
    text = path.read_text()
    path.write_text(text.replace('{"', '{ "', 1))


def _copy(path: Path, to: str) -> None:
    shutil.copy(path, _root(path) / to)


def _link(path: Path) -> None:
    moved = _root(path).with_name(path.name)
    path.rename(moved)
    path.symlink_to(moved)


def _root(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.name == "checkpoint")


_VERBS: dict[str, Callable[..., object]] = {
    "drop": _drop,
    "bare-drop": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "truncate": _truncate,
    "keep": _keep,
    "flip": _flip,
    "rot": _flip,
    "rot-end": partial(_bit, at="-1"),
    "bit": _bit,
    "foreign": _foreign,
    "bare-foreign": _foreign,
    "prefix": lambda path, text: path.write_bytes(bytes.fromhex(text) + path.read_bytes()),
    "append": _append,
    "bare-append": _append,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "gzip": lambda path: path.write_bytes(gzip.compress(path.read_bytes())),
    "recode": _recode,
    "crlf": lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")),
    "junk": _junk,
    "text": lambda path, *lines: path.write_text("\n".join(lines)),
    "copy": _copy,
    "copy-tree": lambda path, to: shutil.copytree(path, _root(path) / to, dirs_exist_ok=True),
    "link": _link,
    "pipe": _pipe,
    "folder": _folder,
    "owner": _owner,
    "version": lambda path, version: _line(path, "0", version),
    "conf": _conf,
    "confs": _confs,
    "watermark": _watermark,
    "line": _line,
    "insert": _insert,
    "stale": _stale,
    "litter": litter,
    "tool": lambda path, name: TOOLS[name](path),
}
