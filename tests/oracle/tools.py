"""Checkpoints as the tools leave them that people copy them with: what each leaves out, and what it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

#: What macOS keeps beside a file on a disk that is none of its own (AppleDouble).
_APPLE_DOUBLE = bytes.fromhex("00051607000200004d6163204f532058202020202020202000020000")


def _files(checkpoint: Path) -> list[Path]:
    return [path for path in sorted(checkpoint.rglob("*")) if path.is_file()]


def _without_empty_directories(checkpoint: Path) -> None:
    for path in sorted(checkpoint.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _without_hidden(checkpoint: Path) -> None:
    for path in _files(checkpoint):
        if path.name.startswith("."):
            path.unlink()


def _without_hidden_at_the_top(checkpoint: Path) -> None:
    for path in checkpoint.glob(".*"):
        path.unlink()


def _apple_doubles(checkpoint: Path) -> None:
    for path in [path for path in sorted(checkpoint.rglob("*")) if not path.name.startswith(".")]:
        path.with_name(f"._{path.name}").write_bytes(_APPLE_DOUBLE)


def _newest_of_each(checkpoint: Path) -> Iterator[Path]:
    """A file of each directory, which the tool was writing when it was interrupted."""
    for directory in [checkpoint, *sorted(path for path in checkpoint.rglob("*") if path.is_dir())]:
        files = [path for path in sorted(directory.iterdir()) if path.is_file() and not path.name.startswith(".")]
        yield from files[-1:]


def _partly(name: str) -> Callable[[Path], None]:
    """A tool that leaves the half of a file under a name of its own."""

    def leave(checkpoint: Path) -> None:
        for path in list(_newest_of_each(checkpoint)):
            data = path.read_bytes()
            path.with_name(name.format(path.name)).write_bytes(data[: len(data) // 2])

    return leave


def _with_line_ends_of_windows(checkpoint: Path) -> None:
    _without_empty_directories(checkpoint)
    for path in _files(checkpoint):
        data = path.read_bytes()
        if b"\0" not in data and not path.name.startswith("."):  # as git tells a text
            path.write_bytes(data.replace(b"\n", b"\r\n"))


def _to_hdfs(checkpoint: Path) -> None:
    _without_hidden(checkpoint)
    (checkpoint / ".distcp.tmp.attempt_1700000000000_0001_m_000000_0").write_bytes(b"half")
    (checkpoint / "_distcp_logs_1").mkdir()
    (checkpoint / "_distcp_logs_1/part-00000").write_bytes(b"")


def _markers(checkpoint: Path) -> None:
    """The markers of directories that the old S3 connector of Hadoop writes."""
    for path in [path for path in sorted(checkpoint.rglob("*")) if path.is_dir()]:
        path.with_name(f"{path.name}_$folder$").write_bytes(b"")


#: Files that programs leave in a directory: of Finder, of Windows, of desktops, of file systems, of Hadoop and of Spark.
JUNK = (
    ".DS_Store", ".localized", "Icon\\r", "desktop.ini", "Thumbs.db", "ehthumbs.db", "$RECYCLE.BIN/desktop.ini", ".directory",
    "lost+found/x", ".nfs0000000000000001", ".fuse_hidden0000000100000001", ".Trash-0/files/1", "_SUCCESS",
    "_temporary/0/part-0", "_started_123", "_committed_123", "_delta_log/0.json", "README", "readme.txt",
    ".git/HEAD", ".hidden", "_$folder$", "x_$folder$", "nohup.out", "core.1234", "_distcp_logs_1/part-00000",
    ".distcp.tmp.attempt_1_0001_m_000000_0", ".goutputstream-ABCDEF", "~", " ", "-", "_",
)  # fmt: skip
#: What programs make of the name of a file: editors, Finder, Windows, browsers, copies that were interrupted.
COPIES = (
    "{}~", ".{}.swp", ".{}.swo", "#{}#", ".#{}", "{}.bak", "{}.orig", "{}.old", "{}.save", "{}.rej", "._{}", "{} copy", "{} 2",
    "{} (1)", "{}(1)", "{} - Copy", "Copy of {}", "{}.gz", "{}.part", "{}.filepart", "{}.tmp", "{}.crdownload",
    "{}._COPYING_", ".{}.Ab12Cd", "{}.6EbCa2C1", "{}_.gstmp", ".azDownload-0a1b2c3d-{}", "{}.sync-conflict-20260101-000000-ABCDEFG",
    ".~lock.{}#", "{}_$folder$", "{}.json", "{}.txt", "{}.partial", "{}.lock",
)  # fmt: skip


def litter(path: Path, what: str) -> None:
    """Lay foreign files into a directory, or copies beside a file under the names that programs give them."""
    for name in JUNK if what == "junk" and path.is_dir() else ():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"j")
    for name in COPIES if what == "copies" else ():
        path.with_name(name.format(path.name)).write_bytes(b"j")


TOOLS: dict[str, Callable[[Path], None]] = {
    "aws-s3-sync": _without_empty_directories,
    "aws-s3-cp-interrupted": _partly("{}.6EbCa2C1"),
    "azcopy-interrupted": _partly(".azDownload-0a1b2c3d-4e5f-{}"),
    "rsync-without-hidden": _without_hidden,
    "rsync-interrupted": _partly(".{}.Ab12Cd"),
    "cp-star": _without_hidden_at_the_top,
    "tar-of-macos": _apple_doubles,
    "git-autocrlf": _with_line_ends_of_windows,
    "distcp": _to_hdfs,
    "hdfs-put-interrupted": _partly("{}._COPYING_"),
    "gsutil-interrupted": _partly("{}_.gstmp"),
    "s3n-markers": _markers,
}
