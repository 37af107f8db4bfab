"""The file that remembers the ids of topics between two commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from airflow_provider_ckpt.cli.files import WrittenFile, named_by, read_text, require_outside
from airflow_provider_ckpt.cli.options import option
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import BASELINE_BYTES

_OPTION = "--topic-ids"
with_topic_ids = option(
    f"{_OPTION} FILE",
    "File that remembers the ids of topics, to tell one that was created again. Topics that it does not have are "
    "added.",
    type=WrittenFile(Path),
)


class TopicMemory:
    """The ids of topics in a file, when there is one. Raises click.BadParameter for a file that is something else."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        if path is None:
            return
        from airflow_provider_ckpt.sources.kafka.topic_ids import TopicIds, parse_topic_ids

        with named_by(_OPTION, path):
            self._ids = parse_topic_ids(read_text(path, BASELINE_BYTES)) if path.exists() else TopicIds()

    def of(self, location: str) -> Mapping[str, str]:
        """The ids that the topics of a checkpoint had before."""
        return {} if self._path is None else self._ids.of(location)

    def see(self, store: Store, ids: Mapping[str, str]) -> None:
        """Add the topics that were not known, outside of the checkpoint."""
        if self._path is None:
            return
        require_outside(_OPTION, self._path, [store] if store.is_local else [])
        seen = self._ids.seeing(store.location, ids)
        if seen == self._ids:
            return
        self._ids = seen
        with named_by(_OPTION, self._path):
            self._path.write_text(f"{seen.to_json()}\n", encoding="utf-8")
