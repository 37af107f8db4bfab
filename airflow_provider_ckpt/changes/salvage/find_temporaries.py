"""Reading temporary files: which of them is the whole file whose rename was lost."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.changes.salvage.entries import problem_of_entry
from airflow_provider_ckpt.changes.salvage.neighbours import problem_beside, twins, write_times
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.rewritten import as_it_was, is_text_of_spark
from airflow_provider_ckpt.changes.salvage.temporary import checksum_of, temporaries
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import checksum, layout, state_content, state_file
from airflow_provider_ckpt.codec.offset_log import CLOSING
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import most_bytes


class Temporaries:
    """The temporary files of a checkpoint; one is read when somebody asks for the file that it would be.

    Args:
        store: The checkpoint.
        view: The checkpoint, as far as it was listed.
        codec_of_state: Short name of the codec of its state; None for one that is not known.
        broken: Its text files that are not whole.
    """

    def __init__(
        self, store: Store, view: CheckpointView, codec_of_state: str | None, broken: Collection[str] = ()
    ) -> None:
        self._store, self._view, self._codec = store, view, codec_of_state
        self._whole = {name: entry for name, entry in view.entries.items() if name not in broken}
        self._times = write_times(view, self._whole)
        self._named = temporaries(view.objects)
        self._judged: dict[str, Piece | str] = {}

    @property
    def targets(self) -> tuple[str, ...]:
        """The names that temporary files would have got."""
        return tuple(self._named)

    def piece(self, target: str) -> Piece | None:
        """The whole file for a name; None when no temporary file is whole, or it is not sure which is the right one."""
        judged = self._judge(target)
        return judged if isinstance(judged, Piece) else None

    def problem(self, target: str) -> str:
        """Why there is no piece for a name, in words; empty where there is one, or no temporary file."""
        judged = self._judge(target)
        return judged if isinstance(judged, str) else ""

    def _judge(self, target: str) -> Piece | str:
        if target not in self._judged:
            self._judged[target] = self._judged_anew(target)
        return self._judged[target]

    def _judged_anew(self, target: str) -> Piece | str:
        names = self._named.get(target, [])
        if not names:
            return ""
        problems = {name: self._problem(name, target) for name in names}
        whole = [name for name in names if problems[name] is None]
        if not whole:
            return f"its temporary file {names[0].rpartition('/')[2]} {problems[names[0]]}"
        sums = {self._store.sha256(name): name for name in whole}
        if len(sums) > 1:
            return f"it has {len(sums)} temporary files that differ, and nothing says which one is right"
        ((size, sha256), name) = next(iter(sums.items()))
        if self._is_late(name, target):
            return f"its temporary file {name.rpartition('/')[2]} was written after the commit of its batch"
        twin = self._twin(name, target)
        if twin is not None and not self._holds_nothing(name, size):
            return f"its temporary file {name.rpartition('/')[2]} has the content of {twin}"
        return Piece(target, "temporary", size, sha256, name, self._view.objects[name].identity, like=twin or "")

    def _twin(self, name: str, target: str) -> str | None:
        """Another state file with the same content, where no checksum file says that it is that of this name."""
        if checksum_of(target) in self._view.objects:
            return None
        same = twins(target, self._view.objects[name].size, self._view.objects.values())
        return next((other for other in same if self._store.sha256(other) == self._store.sha256(name)), None)

    def _holds_nothing(self, name: str, size: int) -> bool:
        """True if a state file names no key: such files are the same for all versions."""
        if self._codec is None or size > state_content.DECOMPRESSED_UP_TO or name.endswith(".zip"):
            return False
        return state_content.holds_nothing(b"".join(self._chunks(name)), self._codec, decompressors())

    def _problem(self, name: str, target: str) -> str | None:
        stored = self._view.objects[name]
        if not stored.size:
            return "is empty"
        if self._is_of_another_time(name, target):
            return "is older than the offset entry of its batch, so it was left by an earlier run"
        summed = False
        for sidecar in (checksum_of(name), checksum_of(target)):
            if sidecar in self._view.objects:
                if not self._matches(name, sidecar):
                    return f"does not match the checksum file {sidecar.rpartition('/')[2]}"
                summed = True
        place = layout.parse(target)
        if isinstance(place, layout.StateFile):
            return self._problem_of_state(name, place, summed=summed)
        return self._problem_of_text(name, target)

    def _is_of_another_time(self, name: str, target: str) -> bool:
        """True if a batch that ran again under the same number may have left it: such names do not tell."""
        place, batch = layout.parse(target), batch_of(target)
        if batch is None or (isinstance(place, layout.StateFile) and place.unique_id):
            return False
        entry = self._view.objects.get(layout.offset_entry(batch))
        if entry is None or target == entry.name:
            return False
        then, now = self._view.objects[name].modified_ms, entry.modified_ms
        return then is not None and now is not None and then < now

    def _is_late(self, name: str, target: str) -> bool:
        """True if the batch cannot have written it; whole versions of a state are written after the batches."""
        batch, place = batch_of(target), layout.parse(target)
        if batch is None or (isinstance(place, layout.StateFile) and place.kind in ("snapshot", "zip")):
            return False
        is_commit = target == layout.commit_entry(batch)
        return not is_commit and self._times.is_after_commit(batch, self._view.objects[name])

    def _matches(self, name: str, sidecar: str) -> bool:
        try:
            summed = checksum.decode_hadoop(self._store.read(sidecar), sidecar)
        except CheckpointFormatError:
            return False
        return summed.matches_chunks(self._store.chunks(name))

    def _problem_of_state(self, name: str, place: layout.StateFile, *, summed: bool) -> str | None:
        size = self._view.objects[name].size
        if place.kind == "zip":
            try:
                state_file.read_zip(self._store.read_up_to(name, most_bytes("0.zip") + 1), name)
            except CheckpointFormatError as error:
                return f"is not whole ({error.message})"
            return None
        if self._codec is None:
            return "is compressed in a way that is not known"
        if size > state_content.DECOMPRESSED_UP_TO:
            said = state_content.problem_of_blocks(self._store.chunks(name), self._codec)
            if said is None and not (summed and self._codec == "lz4"):
                return "is too large to be judged without its checksum file"
        else:
            said = state_content.problem_of(b"".join(self._chunks(name)), self._codec, decompressors())
        return None if said is None else f"is not whole ({said})"

    def _chunks(self, name: str) -> Iterator[bytes]:
        yield from self._store.chunks(name)

    def _problem_of_text(self, name: str, target: str) -> str | None:
        most = most_bytes(target)
        data = self._store.read_up_to(name, most + 1)
        if len(data) > most:
            return "is too large to be judged"
        if data == CLOSING:
            return "is of a change by ckpt"
        try:
            entry = codec.decode(target, data)
        except CheckpointFormatError as error:
            return f"is not whole ({error.message.rstrip('.')})"
        return problem_of_entry(entry) or problem_beside(target, entry, self._whole)


def known_piece(name: str, data: str, source: str = "") -> Piece:
    """A piece whose content other entries tell, or the file itself, which is then the ``source``."""
    content = data.encode()
    return Piece(name, "known", len(content), hashlib.sha256(content).hexdigest(), source, data=data)


def rewritten_pieces(store: Store, view: CheckpointView, broken: Collection[str]) -> Iterator[Piece]:
    """Text files that another program has written again in another form, as they were."""
    whole = {name: entry for name, entry in view.entries.items() if name not in broken}
    for name in broken:
        if name not in view.objects or not is_text_of_spark(name) or not view.objects[name].size:
            continue
        data = store.read_up_to(name, most_bytes(name) + 1)
        summed = view.entries.get(checksum_of(name))
        text = as_it_was(name, data, summed if isinstance(summed, checksum.HadoopChecksum) else None, whole)
        if text is not None:
            yield known_piece(name, text, name)
