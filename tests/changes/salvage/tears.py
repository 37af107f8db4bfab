"""Random tears of a checkpoint: what happens to copies, to disks, and to writers that are killed.

A tear only ever takes bytes away or puts others in their place, so whoever knows the original knows the truth.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from random import Random

FILE = re.compile(r"[0-9]+(?:_[0-9a-f-]+)?(?:\.(?:delta|snapshot|zip|changelog|compact))?\Z")
GARBAGE = (b"<html><body>503 Slow Down</body></html>", b"\0" * 700, b"v1\n", b"{}")


def names_of(checkpoint: Path) -> list[str]:
    """Every file, hidden ones too."""
    return sorted(str(path.relative_to(checkpoint)) for path in checkpoint.rglob("*") if path.is_file())


def batch_of(name: str) -> int | None:
    """The batch of a log entry, a state file or an entry of a source's log; None for any other file."""
    top, base = name.partition("/")[0], name.rpartition("/")[2]
    if top not in ("offsets", "commits", "sources", "state") or not FILE.match(base):
        return None
    number = int(re.match(r"[0-9]+", base)[0])
    return number - 1 if top == "state" else number


class Tearing:
    """Tears one checkpoint; what it did is in ``did``."""

    def __init__(self, checkpoint: Path, random: Random) -> None:
        self.root, self.random, self.did = checkpoint, random, list[str]()
        #: Files that read as whole and are not: their checksum files stay, for nothing else shows it.
        self.disguised: set[Path] = set()

    def tear(self) -> list[str]:
        """One to four tears."""
        ways: list[Callable[[], None]] = [
            self.drop, self.drop, self.cut, self.cut, self.empty, self.flip, self.directory, self.foreign, self.foreign,
            self.lost_rename, self.lost_rename, self.lost_rename, self.copy_of_moments, self.copy_of_moments,
            self.lost_checksum, self.damaged_checksum, self.purged, self.lost_directory, self.cut_temporary,
            self.lost_commits,
        ]  # fmt: skip
        for _ in range(self.random.choice((1, 1, 2, 3, 4))):
            self.random.choice(ways)()
        return self.did

    # --- choosing --------------------------------------------------------------------------------------------------

    def _some(self) -> Path | None:
        """A file that a restart may read, mostly of one of the newest batches."""
        names = [name for name in names_of(self.root) if not name.endswith(".crc") and ".tmp" not in name]
        newest = max((batch for name in names if (batch := batch_of(name)) is not None), default=0)
        late = [name for name in names if (batch := batch_of(name)) is not None and batch >= newest - 2]
        others = [name for name in names if name.startswith("state/") and batch_of(name) is None]
        pool = self.random.choices([late, names, others], weights=[8, 3, 1])[0] or names
        return self.root / self.random.choice(pool) if pool else None

    def _named(self, path: Path, how: str) -> None:
        self.did.append(f"{how} {path.relative_to(self.root)}")

    @staticmethod
    def checksum(path: Path) -> Path:
        """Hadoop's, beside a file."""
        return path.with_name(f".{path.name}.crc")

    def _on_file(self, how: str, act: Callable[[Path], object], *, keeps_checksum: bool | None = None) -> None:
        path = self._some()
        if path is None:
            return
        keeps = self.random.random() < 0.6 if keeps_checksum is None else keeps_checksum
        keeps = keeps or path in self.disguised
        act(path)
        if not keeps:
            self.checksum(path).unlink(missing_ok=True)
        self._named(path, how if keeps else f"{how} (without checksum)")

    # --- tears -----------------------------------------------------------------------------------------------------

    def drop(self) -> None:
        """A file is gone, with its checksum file or without."""
        self._on_file("drop", Path.unlink)

    def cut(self) -> None:
        """A file ends early, as of a copy that was stopped."""

        def act(path: Path) -> None:
            data = path.read_bytes()
            end = self.random.choice((len(data) // 2, max(len(data) - 1, 0), min(3, len(data))))
            path.write_bytes(data[:end])

        self._on_file("cut", act)

    def empty(self) -> None:
        """A file has no byte."""
        self._on_file("empty", lambda path: path.write_bytes(b""))

    def flip(self) -> None:
        """One bit of a file that has a checksum file."""

        def act(path: Path) -> None:
            data = bytearray(path.read_bytes())
            if data:
                data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
            path.write_bytes(bytes(data))

        path = self._some()
        if path is not None and self.checksum(path).is_file() and self.checksum(path).stat().st_size > 8:
            act(path)
            self.disguised.add(path)
            self._named(path, "flip")

    def directory(self) -> None:
        """A directory, empty or not, is in the place of a file."""

        def act(path: Path) -> None:
            path.unlink()
            path.mkdir()
            if self.random.random() < 0.4:
                (path / "part-00000").write_bytes(b"of another tool")

        self._on_file("directory", act)

    def foreign(self) -> None:
        """A file has the content of another one, or of an error page."""

        def act(path: Path) -> None:
            beside = sorted(path.parent.iterdir())
            like = [other for other in beside if other.is_file() and not other.name.startswith(".")]
            data = self.random.choice(GARBAGE)
            if self.checksum(path).is_file() and self.random.random() < 0.5:
                data = self.random.choice(like).read_bytes()
                self.disguised.add(path)
            path.write_bytes(data)

        # content of another file that is whole by itself shows only where the checksum file is left
        self._on_file("foreign", act, keeps_checksum=True)

    def lost_rename(self) -> None:
        """A file lies there under its temporary name."""
        path = self._some()
        if path is None or path.parent == self.root or not FILE.match(path.name):
            return
        task = f".TID{self.random.randrange(99)}" if "state" in path.parts else ""
        temporary = path.with_name(f".{path.name}.{uuid.UUID(int=self.random.getrandbits(128), version=4)}{task}.tmp")
        path.rename(temporary)
        checksum = self.checksum(path)
        if checksum.exists():
            fate = self.random.choice(("moved", "stays", "lost")) if path not in self.disguised else "moved"
            if fate == "moved":
                checksum.rename(self.checksum(temporary))
            elif fate == "lost":
                checksum.unlink()
        self._named(path, "lost rename of")

    def cut_temporary(self) -> None:
        """A file lies there under its temporary name, and not all of it."""
        before = len(self.did)
        self.lost_rename()
        if len(self.did) == before:
            return
        (temporary,) = sorted(self.root.rglob("*.tmp"), key=lambda path: path.stat().st_ctime_ns)[-1:]
        temporary.write_bytes(temporary.read_bytes()[: self.random.choice((0, 5, temporary.stat().st_size // 2))])
        self.did[-1] += ", cut"

    def copy_of_moments(self) -> None:
        """Each directory was copied at a moment of its own: later files of it are not there."""
        names = names_of(self.root)
        newest = max((batch for name in names if (batch := batch_of(name)) is not None), default=0)
        moments: dict[str, int] = {}
        for name in names:
            batch = batch_of(name.replace("/.", "/").removesuffix(".crc"))
            if batch is None:
                continue
            folder = name.rpartition("/")[0]
            moment = moments.setdefault(folder, newest - self.random.choice((0, 0, 0, 1, 1, 2)))
            if batch > moment:
                (self.root / name).unlink()
        self.did.append(f"copy of moments {moments}")

    def purged(self) -> None:
        """Early entries of both logs are gone, as Spark purges them."""
        names = [name for name in names_of(self.root) if name.startswith(("offsets/", "commits/"))]
        planned = sorted(int(name[8:]) for name in names if re.fullmatch(r"offsets/[0-9]+", name))
        if len(planned) < 4:
            return
        below = self.random.choice(planned[:-2])
        for name in names:
            batch = batch_of(name.replace("/.", "/").removesuffix(".crc"))
            if batch is not None and batch < below:
                (self.root / name).unlink()
        self.did.append(f"purged below {below}")

    def lost_directory(self) -> None:
        """A whole directory is gone: a log, or one partition of the state."""
        folders = ["commits", *(str(path.relative_to(self.root)) for path in self.root.glob("state/0/[01]"))]
        if (self.root / "state/0/0").exists() and not (self.root / "state/0/1").exists():
            folders = ["commits"]  # nothing would show that there was state
        folder = self.random.choice(folders)
        shutil.rmtree(self.root / folder, ignore_errors=True)
        self.did.append(f"lost {folder}/")

    def lost_commits(self) -> None:
        """Commits are gone, their checksum files as well."""
        for path in sorted((self.root / "commits").glob("[0-9]*")):
            if self.random.random() < 0.4 and path.is_file():
                path.unlink()
                self.checksum(path).unlink(missing_ok=True)
                self._named(path, "drop")

    def lost_checksum(self) -> None:
        """Hidden files are not copied."""
        kept = {self.checksum(path) for path in self.disguised}
        for path in list(self.root.rglob(".*.crc")):
            if path not in kept and not path.name.endswith(".tmp.crc"):
                path.unlink()
        self.did.append("no hidden file")

    def damaged_checksum(self) -> None:
        """A checksum file is cut, or no checksum file."""
        path = self._some()
        if path is None or path in self.disguised or not self.checksum(path).is_file():
            return
        data = self.checksum(path).read_bytes()
        if self.random.random() < 0.5:
            self.checksum(path).write_bytes(data[: self.random.choice((0, 6, 8))])
        else:
            self.checksum(path).write_bytes(b"no checksum")
        self._named(path, "damaged checksum of")


def write_all(root: Path, files: dict[str, tuple[bytes, float]]) -> None:
    """Write a checkpoint: content and time of each file."""
    for name, (data, mtime) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (mtime, mtime))
