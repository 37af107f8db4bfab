"""The ids of topics, remembered in a file: a topic that was deleted and created again has another one.

Only the id tells: the checkpoint has none, and offsets do not show a topic that has grown past the position. A
topic is added to the file when it is seen first, and an id in it never changes by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import TopicIdsDocument


@dataclass(frozen=True, slots=True)
class TopicIds:
    """The ids of topics by the location of a checkpoint, and by source id and name, such as ``0/orders``."""

    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, location: str) -> Mapping[str, str]:
        """Ids of the topics of one checkpoint."""
        return self.known.get(location, {})

    def seeing(self, location: str, ids: Mapping[str, str]) -> TopicIds:
        """The same ids with topics that were seen; a topic that is known keeps the id that it has here."""
        merged = {**ids, **self.of(location)}
        return TopicIds({**self.known, location: merged} if merged else self.known)

    def to_dict(self) -> TopicIdsDocument:
        """JSON-ready."""
        topics = {location: dict(sorted(ids.items())) for location, ids in sorted(self.known.items())}
        return {"format_version": FORMAT_VERSION, "topics": topics}

    def to_json(self) -> str:
        """The file, made to be reviewed."""
        return json.dumps(self.to_dict(), indent=2)


def parse_topic_ids(text: str) -> TopicIds:
    """Read such a file. Raises ValueError: it is not one; the message says where."""
    try:
        document = parse_json(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    version = document.get("format_version") if isinstance(document, dict) else None
    if not is_current(version):
        raise ValueError(f"the file of topic ids has the version {version!r}; this release reads {FORMAT_VERSION}")
    topics = document.get("topics")
    if not isinstance(topics, dict):
        raise ValueError("'topics' must map each location to the ids of its topics")
    for location, ids in topics.items():
        if not isinstance(ids, dict) or not all(isinstance(value, str) for value in ids.values()):
            raise ValueError(f"the topics of {location!r:.100} are not a mapping from name to id")
    return TopicIds(topics)
