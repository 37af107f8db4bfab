"""The offsets that a consumer group gets, so that tools which read groups show how far a query is behind.

The number of a partition is the same for both: where the query, or the group, reads next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.position import Position

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import PublicationFields
    from airflow_provider_ckpt.documents.tasks import PublishedFields

#: What a name of a group may have in it, which each checkpoint gives a value of its own.
NAME, QUERY_ID, SOURCE_ID = "{name}", "{query_id}", "{source_id}"
_WORD = re.compile(r"\{[^{}]*\}")
_OURS = re.compile(r"ckpt batch [0-9]+(?: of query (\S+))?")
#: Partitions that a message names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Publication:
    """Offsets of one source of a query for one consumer group.

    Args:
        position: The position of the query.
        group: Name of the group.
        offsets: Offset of every partition that the topics have, within what the partition holds.
        lag: Offsets from there to the ends of the partitions, in total.
        warnings: Differences from the checkpoint; sentences for people.
    """

    position: Position
    group: str
    offsets: Mapping[Partition, int]
    lag: int
    warnings: tuple[str, ...] = ()

    @property
    def metadata(self) -> str:
        """The text that is kept beside each offset."""
        of_query = f" of query {self.position.query_id}" if self.position.query_id else ""
        return f"ckpt batch {self.position.batch_id}{of_query}"

    def summary(self) -> PublishedFields:
        """JSON-ready, without the offsets, of which there may be very many."""
        return {
            "location": self.position.location,
            "batch_id": self.position.batch_id,
            "group": self.group,
            "lag": self.lag,
        }

    def to_dict(self) -> PublicationFields:
        """JSON-ready."""
        offsets: dict[str, dict[str, int]] = {}
        for topic, partition in sorted(self.offsets):
            offsets.setdefault(topic, {})[str(partition)] = self.offsets[topic, partition]
        return {
            "location": self.position.location,
            "source_id": self.position.source_id,
            "batch_id": self.position.batch_id,
            "group": self.group,
            "offsets": offsets,
            "lag": self.lag,
            "warnings": list(self.warnings),
            "error": None,
        }


def plan_publication(position: Position, group: str, extent: Extent) -> Publication:
    """Offsets for a group: the position of each partition, and the earliest offset of one that the query does not know.

    Spark reads a partition that has come since from its earliest offset; a tool that finds no offset for it would
    count all that it ever held. An offset that is no longer there becomes the earliest one.

    Raises:
        PlanError: A topic or a partition of the position is not there, or ends before it: it is another one, or it was
            created again.
        MalformedEntryError: The source is not a Kafka source.
    """
    reached = offsets_of(position.offset, position.entry)
    _require_there(reached, extent, position)
    offsets = {partition: reached.get(partition, extent.earliest[partition]) for partition in extent.partitions}
    published = {partition: extent.clamped(partition, offset) for partition, offset in offsets.items()}
    gone = [partition for partition in offsets if published[partition] > offsets[partition]]
    new = [partition for partition in offsets if partition not in reached]
    warnings = [
        f"Partition {text_of(partition)} begins at offset {published[partition]}, after the position "
        f"{offsets[partition]} of the query: records that it has not read are gone."
        for partition in gone
    ]
    if new:
        warnings.append(f"The query has not read {_listed(new)} yet; Spark will begin with the earliest offset.")
    lag = sum(extent.latest[partition] - offset for partition, offset in published.items())
    return Publication(position, group, published, lag, tuple(warnings))


def _require_there(reached: Mapping[Partition, int], extent: Extent, position: Position) -> None:
    missing = [partition for partition in reached if partition not in extent.latest]
    beyond = [
        partition for partition in reached if reached[partition] > extent.latest.get(partition, reached[partition])
    ]
    if missing:
        problem = f"the broker does not have {_listed(missing)}, which the query has read"
    elif beyond:
        first = min(beyond)
        problem = (
            f"the query is at offset {reached[first]} of partition {text_of(first)}, which ends at "
            f"{extent.latest[first]}"
        )
    else:
        return
    raise PlanError(
        f"{problem}: the topic was created again, or this is not the broker that the query reads.",
        location=position.location,
        batch_id=position.batch_id,
        name=position.entry,
        hint="Nothing was published.",
    )


def group_of(pattern: str, position: Position) -> str:
    """The group of a checkpoint: a name in which ``{name}``, the last part of its location, and others are replaced.

    Raises PlanError for another word in braces: all checkpoints would get one group, with that word in its name.
    """
    values = {
        NAME: position.location.rstrip("/").rpartition("/")[2],
        QUERY_ID: position.query_id,
        SOURCE_ID: position.source_id,
    }
    if unknown := [word for word in _WORD.findall(pattern) if word not in values]:
        raise PlanError(
            f"the group {pattern} has {unknown[0]} in its name, a word that ckpt does not know.",
            location=position.location,
            hint=f"Nothing was published. Words that a checkpoint gives a value: {', '.join(values)}.",
        )
    return _WORD.sub(lambda word: values[word[0]], pattern)


def is_ours(metadata: str) -> bool:
    """True if an offset with this text was published by ckpt."""
    return _OURS.fullmatch(metadata) is not None


def left_in_group(publication: Publication, texts: Mapping[Partition, str]) -> list[Partition]:
    """Partitions that the group has from an earlier publication of this query, and that it does not read any more.

    Args:
        publication: The publication of now.
        texts: Text that is kept beside each offset of the group.
    """
    found = {at: _OURS.fullmatch(texts[at]) for at in texts.keys() - publication.offsets.keys()}
    query_id = publication.position.query_id
    return sorted(at for at, ours in found.items() if ours is not None and query_id and ours[1] == query_id)


def left_warning(group: str, left: Sequence[Partition]) -> str:
    """Warning about the partitions that the query no longer reads."""
    return (
        f"The group {group} still has {_listed(left)}, which the query does not read any more: its lag there grows. "
        "Delete these offsets with kafka-consumer-groups --delete-offsets."
    )


def is_of_another_query(metadata: str, query_id: str) -> bool:
    """True if an offset with this text was published for another query.

    A checkpoint that does not say its query (``query_id`` is empty) is not taken for the one that a text names.
    """
    found = _OURS.fullmatch(metadata)
    return found is not None and found[1] not in (None, query_id)


def conflicts(publications: Sequence[Publication]) -> dict[int, PlanError]:
    """The publications that would write an offset which another one writes as well, by their place."""
    owners: dict[tuple[str, Partition], list[int]] = {}
    for at, publication in enumerate(publications):
        for partition in publication.offsets:
            owners.setdefault((publication.group, partition), []).append(at)
    errors: dict[int, PlanError] = {}
    for (group, partition), places in owners.items():
        for at in places if len(places) > 1 else ():
            others = [publications[other].position.location for other in places if other != at]
            errors.setdefault(
                at,
                PlanError(
                    f"partition {text_of(partition)} is published to the group {group} for {others[0]} as well.",
                    location=publications[at].position.location,
                    hint="Nothing was published. Give each query a group of its own: a group name with {name} in it "
                    "becomes one for each checkpoint.",
                ),
            )
    return errors


def text_of(partition: Partition) -> str:
    """``orders-0``."""
    return f"{partition[0]}-{partition[1]}"


def _listed(partitions: Iterable[Partition]) -> str:
    texts = [text_of(partition) for partition in sorted(partitions)]
    return f"partition {texts[0]}" if len(texts) == 1 else f"partitions {listed_shortly(texts, _NAMED)}"
