"""The newest batch that a torn checkpoint holds, found by trying every batch with every way.

Nothing of the product judges here. The original is known, so a file is whole when it has the bytes of the original, and
a batch can be saved when each file that it needs is there by some way. Which files a batch needs is written down once
more, plainly, from what was measured on real Spark.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

TEMPORARY = re.compile(r"\.(?P<base>[^.].*?)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.TID[0-9]+)?\.tmp")
STATE = re.compile(
    r"(?P<store>state/[0-9]+/[0-9]+(?:/[^/._][^/]*)?)/(?P<v>[0-9]+)(?:_(?P<id>[0-9a-f-]+))?\.(?P<kind>delta|snapshot|zip|changelog)"
)


@dataclass
class Original:
    """A checkpoint before it was torn."""

    files: Mapping[str, bytes]

    @cached_property
    def batches(self) -> list[int]:
        return sorted(int(name[8:]) for name in self.files if re.fullmatch(r"commits/[0-9]+", name))

    @cached_property
    def stores(self) -> dict[str, dict[tuple[int, str | None, str], str]]:
        """State files by store, and in it by version, id and kind."""
        found: dict[str, dict[tuple[int, str | None, str], str]] = {}
        for name in self.files:
            if match := STATE.fullmatch(name):
                found.setdefault(match["store"], {})[int(match["v"]), match["id"], match["kind"]] = name
        return found

    def lines(self, name: str) -> list[str]:
        return self.files[name].decode().split("\n")

    def confs(self, batch: int) -> dict[str, str]:
        metadata = json.loads(self.lines(f"offsets/{batch}")[1] or "{}")
        return metadata.get("conf", {})

    def before(self, batch: int) -> int | None:
        """The batch whose entry Spark searches for beside this one."""
        planned = sorted(int(name[8:]) for name in self.files if re.fullmatch(r"offsets/[0-9]+", name))
        at = planned.index(batch)
        return planned[at - 1] if at else None

    def log_offsets(self, batch: int) -> dict[str, int]:
        """How far each file source has read its own log."""
        lines = self.lines(f"offsets/{batch}")
        offsets = (
            [line.split(":", 1) for line in lines[2:]]
            if lines[0] == "v2"
            else [[str(at), line] for at, line in enumerate(lines[2:])]
        )
        found = {}
        for source, text in offsets:
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict) and "logOffset" in value:
                found[source] = value["logOffset"]
        return found

    def ids(self, batch: int) -> dict[str, list[list[str]]] | None:
        body = "\n".join(self.lines(f"commits/{batch}")[1:])
        return json.loads(body).get("stateUniqueIds") or None if body else None


def _is_entry(data: bytes) -> bool:
    """Whether bytes read as an offset entry, be it of another batch."""
    lines = data.decode(errors="replace").split("\n")
    try:
        return len(lines) > 2 and lines[0] in ("v1", "v2") and isinstance(json.loads(lines[1] or "{}"), dict)
    except (ValueError, IndexError):
        return False


class Torn:
    """A torn checkpoint beside its original, and one backup of it or none.

    ``backup`` is the batch of the backup and the names in it; its bytes are those of the original.
    """

    def __init__(self, root: Path, original: Original, backup: tuple[int, frozenset[str]] | None = None) -> None:
        self.root, self.original, self.backup = root, original, backup

    def best(self) -> int | None:
        """The newest batch that can be saved by any way."""
        return next((batch for batch in reversed(self.original.batches) if self.can_be_saved(batch)), None)

    # --- a file ----------------------------------------------------------------------------------------------------

    def is_good(self, name: str) -> bool:
        """Whether a file is in its place, with the bytes of the original, and nothing says that it is not."""
        path = self.root / name
        if not path.is_file() or path.read_bytes() != self.original.files.get(name):
            return False
        return self._checksum_allows(name, self.root / self._checksum(name))

    @staticmethod
    def _checksum(name: str) -> str:
        folder, _, base = name.rpartition("/")
        return f"{folder}/.{base}.crc" if folder else f".{base}.crc"

    def _checksum_allows(self, name: str, path: Path) -> bool:
        """A checksum file that is whole and other speaks against a file; one that is damaged is no witness."""
        if not path.is_file() or (self.root / f"{name}.crc").is_file():  # Spark's own, beside state of format 2
            return True
        data, content = path.read_bytes(), self.original.files[name]
        is_hadoop = len(data) >= 8 and data[:4] == b"crc\0" and not len(data) % 4
        if is_hadoop:
            step, *sums = struct.unpack(f">{len(data) // 4 - 1}I", data[4:])
            want = [zlib.crc32(content[at : at + step]) for at in range(0, len(content), step)] if step else []
            if sums == want:
                return True
            if not step or sums != want[: len(sums)]:
                return False
        # a table of RocksDB cannot be judged without one
        return not name.endswith((".sst", ".log")) or not (is_hadoop or data[:4] == b"crc\0" or not data)

    def temporary(self, name: str) -> bool:
        """Whether the whole file is there under its temporary name."""
        folder, _, base = name.rpartition("/")
        directory = self.root / folder
        if not directory.is_dir() or name.endswith((".sst", ".log")):
            return False
        for path in directory.iterdir():
            match = TEMPORARY.fullmatch(path.name)
            if match and match["base"] == base and path.is_file() and path.read_bytes() == self.original.files[name]:
                sidecars = [path.with_name(f".{path.name}.crc"), self.root / self._checksum(name)]
                if all(self._is_of(sidecar, name) for sidecar in sidecars if sidecar.exists()):
                    return True
        return False

    def _is_of(self, sidecar: Path, name: str) -> bool:
        return sidecar.is_file() and sidecar.read_bytes() == self.original.files.get(self._checksum(name))

    def known(self, name: str) -> bool:
        """Whether a lost commit is told by the entry of the next batch."""
        match = re.fullmatch(r"commits/([0-9]+)", name)
        batch = int(match[1]) if match else -1
        own, following = f"offsets/{batch}", f"offsets/{batch + 1}"
        files = self.original.files
        if batch < 0 or following not in files or not (self.is_good(own) and self.is_good(following)):
            return False
        commits = [other for other in files if re.fullmatch(r"commits/[0-9]+", other)]
        if any(not files[other].startswith(b"v1") for other in commits if self.is_good(other)):
            return False
        present = [path.name for path in self.root.glob("state/**/*") if path.is_file()]
        if any(re.fullmatch(r"[0-9]+_[0-9a-f-]+\.(delta|snapshot|zip|changelog)", base) for base in present):
            return False
        texts = [json.loads(self.original.lines(entry)[1] or "{}") for entry in (own, following)]
        return 0 < texts[0].get("batchTimestampMs", 0) < texts[1].get("batchTimestampMs", 0)

    def from_backup(self, name: str) -> bool:
        """Whether the backup has the file, and something here shows that it is of the same history."""
        if self.backup is None or name not in self.backup[1]:
            return False
        if re.search(r"/[0-9]+_[0-9a-f-]+\.(zip|changelog)\Z|\.sst\Z", name):
            return True
        shared = self.shared()
        if shared is None:
            return False
        if name.startswith("sources/"):
            return shared >= self.backup[0]
        match = re.fullmatch(r"(offsets|commits)/([0-9]+)", name)
        state = STATE.fullmatch(name)
        batch = int(match[2]) if match else int(state["v"]) - 1 if state else 0
        return batch <= shared

    def shared(self) -> int | None:
        """The newest batch of the backup whose offset entry is here, or has left its checksum file."""
        assert self.backup is not None
        entries = sorted(
            (int(name[8:]) for name in self.backup[1] if re.fullmatch(r"offsets/[0-9]+", name)), reverse=True
        )
        for batch in entries:
            name = f"offsets/{batch}"
            if self.is_good(name) or self._is_of(self.root / self._checksum(name), name):
                return batch
        return None

    # --- a batch ---------------------------------------------------------------------------------------------------

    def can_be_saved(self, batch: int) -> bool:
        """Whether each file that a restart after a batch needs is there by some way."""
        if self._foreign_source_file():
            return False
        names = [f"offsets/{batch}", f"commits/{batch}", "metadata"]
        if (before := self.original.before(batch)) is not None:
            names.append(f"offsets/{before}")
        if not all(map(self.is_there, names)):
            return self._is_whole_in_backup(batch)
        if all(self._log_is_whole(source, end) for source, end in self.original.log_offsets(batch).items()) and all(
            self._store_is_whole(store, batch) for store in self._stores_of(batch)
        ):
            return True
        return self._is_whole_in_backup(batch)

    def is_there(self, name: str) -> bool:
        return self.is_good(name) or self.temporary(name) or self.known(name) or self.from_backup(name)

    def _is_whole_in_backup(self, batch: int) -> bool:
        """A backup of the very batch that shares its history brings everything.

        So it does where the entry of the batch is lost, and the one before it is that of the backup.
        """
        if self.backup is None or self.backup[0] != batch:
            return False
        if self.shared() == batch:
            return True
        return self.shared() == batch - 1 and self._is_lost(batch) and not any(map(self._reads, self.backup[1]))

    def _reads(self, name: str) -> bool:
        """Whether a text differs and can be read all the same: it may be of another run of the batch."""
        path = self.root / name
        if not name.startswith(("sources/", "commits/", "offsets/")) or not path.is_file():
            return False
        lines = path.read_text(errors="replace").split("\n")
        try:
            parsed = [json.loads(line) for line in lines[1:]]
        except ValueError:
            return False
        return path.read_bytes() != self.original.files[name] and lines[0] == "v1" and bool(parsed)

    def _is_lost(self, batch: int) -> bool:
        entries = [int(path.name) for path in (self.root / "offsets").glob("[0-9]*") if path.is_file()]
        own = self.root / f"offsets/{batch}"
        if own.is_file():
            return not _is_entry(own.read_bytes())
        return max(entries) > batch or (self.root / f"commits/{batch}").is_file()

    def _foreign_source_file(self) -> bool:
        """A file of a source that keeps no log of files is there, and not whole."""
        logging = self.original.log_offsets(self.original.batches[-1])
        for path in self.root.glob("sources/*/[0-9]*"):
            name = str(path.relative_to(self.root))
            if path.is_file() and name.split("/")[1] not in logging and not self.is_good(name):
                return not (self.temporary(name) or self.from_backup(name))
        return False

    def _log_is_whole(self, source: str, end: int) -> bool:
        if end < 0:
            return True
        entries = [name for name in self.original.files if re.fullmatch(rf"sources/{source}/[0-9]+(\.compact)?", name)]
        compact = sorted(int(name.split("/")[2].split(".")[0]) for name in entries if name.endswith(".compact"))
        starts = [-1, *(base for base in compact if base <= end)]
        for base in starts:
            names = [f"sources/{source}/{number}" for number in range(base + 1, end + 1)]
            if base >= 0:
                names.append(f"sources/{source}/{base}.compact")
            if all(name in self.original.files and self.is_there(name) for name in names):
                return True
        return any(base > end and self.is_there(f"sources/{source}/{base}.compact") for base in compact)

    def _stores_of(self, batch: int) -> Iterator[str]:
        count = int(self.original.confs(batch).get("spark.sql.shuffle.partitions", "0") or 0)
        for store, files in self.original.stores.items():
            partition = int(store.split("/")[2])
            if any(version == batch + 1 for version, _, _ in files) and (not count or partition < count):
                yield store

    def _store_is_whole(self, store: str, batch: int) -> bool:
        files, version = self.original.stores[store], batch + 1
        ids = self.original.ids(batch)
        if ids is None:
            return self._chain(files, {(number, None) for number in range(1, version + 1)}, version)
        _, operator, partition, *_ = store.split("/")
        own = sorted(other for other in self.original.stores if other.startswith(f"state/{operator}/{partition}"))
        names = ids[operator][int(partition)]
        unique = names[own.index(store)] if len(names) > 1 else names[0]
        lineage = {(version, unique)}
        for earlier in range(batch - 1, -1, -1):  # each commit names the file of its batch
            if f"commits/{earlier}" in self.original.files and (before := self.original.ids(earlier)):
                listed = before[operator][int(partition)]
                lineage.add((earlier + 1, listed[own.index(store)] if len(listed) > 1 else listed[0]))
        return self._chain(files, lineage, version)

    def _chain(
        self, files: Mapping[tuple[int, str | None, str], str], steps: set[tuple[int, str | None]], end: int
    ) -> bool:
        """Whether some whole version, or none, and every change after it are there."""
        ids = dict(steps)
        for base in range(end, -1, -1):
            wholes = [
                files[key] for key in ((base, ids.get(base), "snapshot"), (base, ids.get(base), "zip")) if key in files
            ]
            if base and not any(self._whole(name) for name in wholes):
                continue
            changes = [
                next(
                    (
                        files[key]
                        for key in ((number, ids.get(number), "delta"), (number, ids.get(number), "changelog"))
                        if key in files
                    ),
                    None,
                )
                for number in range(base + 1, end + 1)
            ]
            # below a zip that ids lead to, Spark gets by that zip, whole or not
            led = [
                files[key] for key in files if key[2] == "zip" and key[1] and base < key[0] < end and key[:2] in steps
            ]
            if not all((self.root / name).is_file() or self.is_there(name) for name in led):
                continue
            if all(name is not None and self.is_there(name) for name in changes):
                return True
        return False

    def _whole(self, name: str) -> bool:
        if not self.is_there(name):
            return False
        if not name.endswith(".zip"):
            return True
        text = zipfile.ZipFile(BytesIO(self.original.files[name])).read("metadata").decode().split("\n", 1)[1]
        fields, store = json.loads(text), name.rpartition("/")[0]
        tables = [f"{store}/SSTs/{item['dfsSstFileName']}" for item in fields.get("sstFiles") or []]
        tables += [f"{store}/logs/{item['dfsLogFileName']}" for item in fields.get("logFiles") or []]
        return all(map(self.is_there, tables))
