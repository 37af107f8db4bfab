"""Putting a batch together: from what is whole in the checkpoint, from temporary files, and from one backup.

Nothing is changed. What a batch needs is asked of the same functions that a rollback and a backup ask, over the listing
that the checkpoint would have; and the outcome is judged as a restart is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.change.added_errors import errors_of
from airflow_provider_ckpt.changes.salvage.candidates import Candidate, has_each_batch
from airflow_provider_ckpt.changes.salvage.entries import sources_differ
from airflow_provider_ckpt.changes.salvage.neighbours import problem_beside
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.tree import Assembled, Tree
from airflow_provider_ckpt.changes.salvage.ways import Ways
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, restart_set
from airflow_provider_ckpt.checkpoint.source_log_files import file_sources
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import is_text_log, unfinished_state, with_restart_set
from airflow_provider_ckpt.checks.read_state_files import broken_state_files, checksum_of_state
from airflow_provider_ckpt.checks.state import MISMATCH
from airflow_provider_ckpt.codec import Encodable, layout, state_content
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import CHANGELOG_HEAD_BYTES, most_bytes


class Assembler:
    """Puts batches of one checkpoint together.

    Args:
        store: The checkpoint.
        view: The whole checkpoint, with every text file read.
        broken: Text files that are not whole, by name, and why.
        backups: The root of the backups, or None.
    """

    def __init__(self, store: Store, view: CheckpointView, broken: dict[str, str], backups: Store | None) -> None:
        self._store, self._view, self._broken, self._backups = store, view, broken, backups
        #: Own state files that were judged: why one is not whole, or None.
        self._judged: dict[str, str | None] = {}
        self._stale: set[str] = set()
        self._each = has_each_batch(view)
        self._read: dict[tuple[str, str], Encodable] = {}

    def put_together(self, wanted: Candidate, ways: Ways) -> Assembled | str:
        """The checkpoint at a batch; or what it lacks, in words.

        Args:
            wanted: The batch, and what is kept after it.
            ways: Places from which files are taken that are missing or not whole.
        """
        tree = Tree(
            self._view,
            wanted.batch_id,
            wanted.last,
            wanted.keeps_state,
            broken=dict(self._broken),
            stale=set(self._stale),
        )
        tree.give_up(self._known_broken())
        tree.pieces.update(ways.from_the_start(tree))
        while True:
            try:
                problems, more = self._read_once(tree, ways)
            except CheckpointFormatError as error:
                return f"{error.name} cannot be read ({error.message})"
            if not more:
                break
            tree.pieces.update(more)
        return problems

    def _known_broken(self) -> dict[str, str]:
        return {name: said for name, said in self._judged.items() if said is not None}

    def _read_once(self, tree: Tree, ways: Ways) -> tuple[Assembled | str, dict[str, Piece]]:
        """Read a tree once: what it is or lacks, and what of that has a way."""
        after = tree.after(self._entries_of(tree))
        chosen = self._chosen(tree, after)
        after = tree.after(self._entries_of(tree))  # without what was found to be broken
        if (hole := self._hole(after, tree)) is not None:
            return self._why(tree, ways, hole, ""), ways.pieces(tree, [hole])
        if chosen.missing:
            lacking = [_parts(problem)[0] for problem in chosen.missing]
            if self._does_without(tree, ways, chosen.missing):
                return self._read_once(tree, ways)
            more = ways.pieces(tree, lacking)
            if not more and tree.give_up(_of_final_zips(chosen, after)):
                return self._read_once(tree, ways)
            reasons = [self._why(tree, ways, *_parts(problem)) for problem in chosen.missing]
            return _listed(reasons), more
        if (schema := _schema_that_tells(tree, chosen)) is not None:
            said = f"{self._why(tree, ways, schema, '')}, and no other file says how many partitions the state has"
            return said, ways.pieces(tree, [schema])
        if (problem := self._differs(after, tree)) is not None:
            return problem, {}
        if (lost := _lost_for_good(after, tree)) is not None:
            return f"{lost[0]} {lost[1]}", ways.pieces(tree, lost[:1])
        after = replace(after, unfinished=unfinished_state(after, self._head(tree), self._chunks(tree)))
        after = with_restart_set(after, chosen)
        if errors := errors_of(after):
            named = [name for finding in errors if (name := finding.name) is not None]
            return _listed([_text(finding) for finding in errors]), ways.pieces(tree, named)
        return Assembled(tree, after, chosen), {}

    def _chosen(self, tree: Tree, after: CheckpointView) -> RestartSet:
        """The restart set of a tree without the state files that are not whole; they are noted in the tree."""
        read, chunks = self._head(tree), self._chunks(tree)
        while True:
            chosen = drive(restart_set(after, tree.batch_id, decompressors(), tree.passed), read)
            names = [name for name in chosen.names if name not in self._judged and name not in tree.pieces]
            found = broken_state_files(after, names, read, chunks)
            for name in names:
                self._judged[name] = self._judge(name, found.get(name), tree, after)
            news = {name: said for name in names if (said := self._judged[name]) is not None}
            stale = self._stale - tree.stale
            tree.stale |= stale
            if not tree.give_up({**news, **_useless(chosen.repaired, chosen, after)}) and not stale:
                return chosen
            after = tree.after(self._entries_of(tree))

    def _judge(self, name: str, said: str | None, tree: Tree, after: CheckpointView) -> str | None:
        """Why a state file is not whole. Where its checksum file is damaged, the file itself decides."""
        sidecar = checksum_of_state(after, name)
        if said is None or not said.startswith(MISMATCH) or sidecar is None or not self._is_damaged(sidecar, name):
            return said
        place = layout.parse(name)
        if not isinstance(place, layout.StateFile):
            return said  # of a table of RocksDB nothing else tells
        rest = replace(after, objects={key: value for key, value in after.objects.items() if key != sidecar})
        if self._view.objects[name].size > state_content.DECOMPRESSED_UP_TO and place.kind != "zip":
            return said
        still = broken_state_files(rest, [name], self._head(tree), self._chunks(tree)).get(name)
        if still is None or still.startswith(MISMATCH):
            self._stale.add(sidecar)
        return still

    def _is_damaged(self, sidecar: str, name: str) -> bool:
        """True if a checksum file cannot be the one that was written: it has another format, or was cut off."""
        try:
            checksum = codec.decode(sidecar, self._store.read(sidecar))
        except CheckpointFormatError:
            return True
        if not isinstance(checksum, HadoopChecksum):
            return False
        summed = len(checksum.checksums) * checksum.bytes_per_checksum
        is_short = summed < self._view.objects[name].size
        return is_short and checksum.matches(self._store.read_up_to(name, summed))

    def _does_without(self, tree: Tree, ways: Ways, problems: Sequence[str]) -> bool:
        """True if the only problems are schemas that Spark can start without and writes again; these are removed."""
        broken = {name: reason for name, reason in map(_parts, problems) if name not in tree.pieces}
        places = [layout.parse(name) for name in broken]
        are_schemas = all(isinstance(place, layout.StateSchemaFile) and place.batch_id is None for place in places)
        if not broken or not are_schemas or ways.pieces(tree, broken):
            return False
        tree.broken.update(broken)
        return True

    def _hole(self, after: CheckpointView, tree: Tree) -> str | None:
        """The entry of the batch before, which a query that writes each batch searches for."""
        names = [layout.offset_entry(batch - 1) for batch in sorted({tree.batch_id, tree.last}) if batch > 0]
        missing = [name for name in names if name not in after.objects]
        return missing[0] if missing and self._each else None

    def _differs(self, after: CheckpointView, tree: Tree) -> str | None:
        for batch in {tree.batch_id, tree.last}:
            before = after.predecessor(batch)
            entry = after.entries.get(layout.offset_entry(batch))
            earlier = None if before is None else after.entries.get(layout.offset_entry(before))
            if isinstance(entry, OffsetSeq) and (said := sources_differ(entry, earlier)) is not None:
                return f"{layout.offset_entry(batch)} {said}"
        for name, piece in tree.pieces.items():
            read = after.entries.get(name) if piece.way == "temporary" else None
            if read is not None and (said := problem_beside(name, read, after.entries)) is not None:
                return f"{name} is there under a temporary name and {said}"
        return None

    def _why(self, tree: Tree, ways: Ways, name: str, reason: str) -> str:
        said = tree.broken.get(name) or reason or "is missing"
        said = said if said.startswith(("is ", "cannot", "does ", "has ")) else f"is {said}"
        more = ways.problem(name)
        return f"{name} {said}" + (f", and {more}" if more else "")

    # --- reading -----------------------------------------------------------------------------------------------------

    def _entries_of(self, tree: Tree) -> dict[str, Encodable]:
        """Entries in the text files among the pieces."""
        return {name: self._entry(piece) for name, piece in tree.pieces.items() if is_text_log(name)}

    def _entry(self, piece: Piece) -> Encodable:
        key = piece.name, piece.sha256
        if key not in self._read:
            self._read[key] = codec.decode(piece.name, self._bytes(piece, most_bytes(piece.name) + 1))
        return self._read[key]

    def _bytes(self, piece: Piece, most: int) -> bytes:
        if piece.way == "known":
            return piece.data.encode()
        store = self._store if piece.way == "temporary" or self._backups is None else self._backups
        store.require_inside(piece.source)
        return store.read_up_to(piece.source, most)

    def _head(self, tree: Tree) -> Callable[[str], bytes]:
        def head(name: str) -> bytes:
            piece = tree.pieces.get(name)
            if piece is None:
                return self._store.head(name)
            return self._bytes(piece, CHANGELOG_HEAD_BYTES if name.endswith(".changelog") else most_bytes(name))

        return head

    def _chunks(self, tree: Tree) -> Callable[[str], Iterator[bytes]]:
        def chunks(name: str) -> Iterator[bytes]:
            piece = tree.pieces.get(name)
            if piece is None:
                yield from self._store.chunks(name)
            elif piece.way == "known":
                yield piece.data.encode()
            else:
                store = self._store if piece.way == "temporary" or self._backups is None else self._backups
                yield from store.chunks(piece.source)

        return chunks


def _lost_for_good(after: CheckpointView, tree: Tree) -> tuple[str, str] | None:
    """A file that is not whole and that no other file replaces, and why: of a source, or of an operator in a batch."""
    logging = file_sources(after)
    for name in sorted(tree.broken.keys() - tree.pieces.keys()):
        place = layout.parse(name)
        if isinstance(place, layout.SourceLogEntry | layout.InitialOffsetFile) and place.source_id not in logging:
            return name, f"{tree.broken[name]}, and only its source knows whether it needs it"
        if isinstance(place, layout.OperatorMetadataFile) and place.batch_id is not None and not tree.is_past(name):
            return name, f"{tree.broken[name]}, and it names the schemas of its batch"
    return None


def _useless(problems: Iterable[str], chosen: RestartSet, after: CheckpointView) -> dict[str, str]:
    """Whole versions that Spark would try first and that need a table which is not whole; older files make up for them.

    A zip names tables that it does not hold.
    """
    found: dict[str, str] = {}
    for name, reason in map(_parts, problems):
        place = layout.parse(name)
        if isinstance(place, layout.StateFile):
            found[name] = reason
        elif isinstance(place, layout.StateTable):
            zips = {
                file.version: name
                for name in after.names_below(place.store_id.directory)
                if isinstance(file := layout.parse(name), layout.StateFile)
                and (file.store_id, file.kind) == (place.store_id, "zip")
                and file.version <= chosen.batch_id + 1
                and (file.unique_id is None or name in chosen.names)
            }
            if zips:
                found[zips[max(zips)]] = f"{name} is {reason or 'missing'}"
    return found


def _of_final_zips(chosen: RestartSet, after: CheckpointView) -> dict[str, str]:
    """The zips that end a chain of ids and have lost a table: without such a zip Spark reads the changelog."""
    return _useless((problem for problem in chosen.missing if _is_of_final_zip(problem, chosen)), chosen, after)


def _is_of_final_zip(problem: str, chosen: RestartSet) -> bool:
    place = layout.parse(_parts(problem)[0])
    if not isinstance(place, layout.StateTable):
        return False
    files = [file for name in chosen.names if isinstance(file := layout.parse(name), layout.StateFile)]
    final = (place.store_id, "zip", chosen.batch_id + 1)
    return any(file.unique_id and (file.store_id, file.kind, file.version) == final for file in files)


def _schema_that_tells(tree: Tree, chosen: RestartSet) -> str | None:
    """The schema that is lost where nobody can tell a lost partition from one that never was."""
    for problem in chosen.unknown:
        schema = f"{_parts(problem)[0]}/0/_metadata/schema"
        if isinstance(layout.parse(schema), layout.StateSchemaFile) and not (tree.own(schema) or schema in tree.pieces):
            return schema
    return None


def _parts(problem: str) -> tuple[str, str]:
    name, _, reason = problem.partition(": ")
    return name, reason


def _text(finding: Finding) -> str:
    return f"{finding.code}: {finding.message.rstrip('.')}"


def _listed(reasons: list[str]) -> str:
    more = f", and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    return f"{'; '.join(reasons[:3])}{more}"
