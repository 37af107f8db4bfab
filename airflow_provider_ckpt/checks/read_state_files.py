"""Reading the files of a state that a restart loads: which of them are not whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.operator_files import NOT_OPENED
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.confs import codec_of_state
from airflow_provider_ckpt.checks.state import MISMATCH, NOT_VERIFIED
from airflow_provider_ckpt.codec import layout, state_content, state_file
from airflow_provider_ckpt.codec.checksum import BYTES_PER_CHECKSUM, HadoopChecksum, SparkChecksum, is_hadoop
from airflow_provider_ckpt.codec.state_file import Decompress
from airflow_provider_ckpt.errors import CheckpointFormatError, TooLargeError, UnreadableError
from airflow_provider_ckpt.storage.concurrency import THREADS, OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import CHECKSUM_BYTES

#: State files that are larger are compared with their checksum file by their size alone.
LARGEST_SUMMED = 1 << 30


def broken_state_files(
    view: CheckpointView,
    names: Sequence[str],
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    threads: int = THREADS,
    on_step: OnStep = no_step,
) -> dict[str, str]:
    """State files that are not what their checksum file says, or are not whole, and what to say of each."""
    own = [name for name in names if is_judged(view, name)]
    problem = partial(_problem, view, codec_of_state(view), decompressors(), read, chunks)
    return {name: said for name, said in zip(own, in_parallel(problem, own, threads, on_step), strict=True) if said}


def _problem(
    view: CheckpointView,
    used: str | None,
    known: Mapping[str, Decompress],
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    name: str,
) -> str | None:
    """Problem of one state file, written with the codec ``used``; None when it is whole."""
    try:
        return _problem_of_opened(view, used, known, read, chunks, name)
    except UnreadableError as error:
        return f"{NOT_OPENED} ({error.message})"


def _problem_of_opened(
    view: CheckpointView,
    used: str | None,
    known: Mapping[str, Decompress],
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    name: str,
) -> str | None:
    place, stored = layout.parse(name), view.objects[name]
    sidecar = checksum_of_state(view, name)
    begun: list[bytes] = []

    def noted(name: str) -> Iterator[bytes]:
        for piece in chunks(name):
            begun.append(piece[:8])
            yield piece

    altered = None
    if sidecar is not None and not _fits(stored, sidecar, read, noted):
        said = f"{MISMATCH} {sidecar.rpartition('/')[2]}"
        if is_verified(name, sidecar):
            return said
        altered, sidecar = f"{said}{NOT_VERIFIED}", None
    if not isinstance(place, layout.StateFile):
        return None
    if place.kind == "zip":
        return _problem_of_zip(stored, read, is_as_written=sidecar is not None)
    if used is None:
        return altered
    if sidecar is not None:  # then it is as it was written
        return state_content.problem_of_start(begun[0] if begun else next(chunks(name), b""), used)
    return _problem_of_content(stored, used, known, chunks, is_altered=altered is not None) or altered


def _problem_of_content(
    stored: StoredObject,
    used: str,
    known: Mapping[str, Decompress],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    is_altered: bool,
) -> str | None:
    """What is wrong with a file that no checksum file proves; a large file is unpacked only if it ``is_altered``."""
    pieces = chunks(stored.name)
    if stored.size <= state_content.DECOMPRESSED_UP_TO:
        return state_content.problem_of(b"".join(pieces), used, known)
    if is_altered:
        return state_content.problem_of_all(pieces, used, known)
    return state_content.problem_of_blocks(pieces, used)


def is_verified(name: str, sidecar: str) -> bool:
    """Whether Spark compares a state file with that checksum file.

    It does with its own, ``N.crc``. The hidden one of Hadoop is compared where Spark copies a zip or a table of RocksDB
    by Hadoop's ``FileSystem``. Deltas, snapshots and changelogs are opened by ``FileContext.open(path)``, which Hadoop
    hands to the file system below the one with checksums: of any size and codec, no byte of them is compared.
    """
    return not sidecar.rpartition("/")[2].startswith(".") or not name.endswith((".delta", ".snapshot", ".changelog"))


def is_loaded(problem: str) -> bool:
    """Whether Spark loads a state file of which that is said."""
    return problem.endswith(NOT_VERIFIED)


def is_judged(view: CheckpointView, name: str) -> bool:
    """True if a file is read to be judged: state files, and tables that have a checksum file (else their length is
    judged).
    """
    place = layout.parse(name)
    if isinstance(place, layout.StateTable):
        return checksum_of_state(view, name) is not None
    return isinstance(place, layout.StateFile)


def _problem_of_zip(stored: StoredObject, read: Callable[[str], bytes], *, is_as_written: bool) -> str | None:
    if not stored.size:
        return "empty"
    if is_as_written:
        return None
    try:
        state_file.read_zip(read(stored.name), "")
    except CheckpointFormatError as error:
        return error.message
    return None


def checksum_of_state(view: CheckpointView, name: str) -> str | None:
    """The checksum file of a state file. Where there are two kinds, Spark's own is the one it reads."""
    if not isinstance(layout.parse(name), layout.StateFile | layout.StateTable):
        return None
    directory, _, base = name.rpartition("/")
    return next((sidecar for sidecar in (f"{name}.crc", f"{directory}/.{base}.crc") if sidecar in view.objects), None)


def _fits(
    stored: StoredObject, sidecar: str, read: Callable[[str], bytes], chunks: Callable[[str], Iterator[bytes]]
) -> bool:
    try:
        data = read(sidecar)
    except TooLargeError:
        return stored.size > (CHECKSUM_BYTES // 4 - 2) * BYTES_PER_CHECKSUM  # rightly so: it has as many chunks
    try:
        checksum = codec.decode(sidecar, data)
    except CheckpointFormatError:  # Hadoop passes over a checksum file that is none, not over one that is cut
        return sidecar.rpartition("/")[2].startswith(".") and not is_hadoop(data)
    if not isinstance(checksum, HadoopChecksum | SparkChecksum):
        return True
    if not checksum.fits_size(stored.size):
        return False
    return stored.size > LARGEST_SUMMED or checksum.matches_chunks(chunks(stored.name))
