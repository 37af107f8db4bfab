"""The operator that publishes positions to consumer groups."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import failure, push_error, require_flags
from airflow_provider_ckpt.hooks.query_file import configured_file, read_file
from airflow_provider_ckpt.operators.base import CheckpointOperator, texts_of
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import PublishResultDocument
    from airflow_provider_ckpt.query.query_file import Cluster
    from airflow_provider_ckpt.sources.kafka.extent import Partition
    from airflow_provider_ckpt.sources.kafka.publication import Publication
    from airflow_provider_ckpt.storage.store import Store

#: The connection of type ``kafka`` that Airflow itself asks by default.
DEFAULT_CONN_ID = "kafka_default"


class CheckpointPublishOffsetsOperator(CheckpointOperator):
    """Commits the positions of queries to a consumer group of Kafka, from outside: tools show the lag of the queries.

    ``checkpoint`` may be a list, and so may ``query``: each is published on its own, and the task fails afterwards for
    those that were not. A retry writes all of them again, which is harmless. Of a query of the query file the brokers
    are those of its source, and its cluster names their connection.

    :param group: The consumer group. In it ``{name}`` becomes the last part of the location, ``{query_id}`` the id of
        the query and ``{source_id}`` that of the source.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra names the brokers of all queries and configures the
        client; by default what the query file says of the cluster of each query, else ``kafka_default``.
    :param source_id: Id of the source, such as ``0``; without it the queries have one source each.
    :param topics: Topics of the source that a query may not have read from yet.
    :param assign: Option ``assign`` of the queries, such as ``{"orders": [0, 1]}`` (a mapping, or JSON); without it
        they read every partition.
    :param take_over: Publish to a group that has offsets which ckpt has not published; they are replaced.
    """

    takes_several = True
    does = "publish-offsets"
    has_done = "The position was published of"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "group",
        "kafka_conn_id",
        "source_id",
        "topics",
        "assign",
    )

    def __init__(
        self,
        *,
        group: str,
        kafka_conn_id: str | None = None,
        source_id: str | None = None,
        topics: Sequence[str] = (),
        assign: Mapping[str, Sequence[int]] | str | None = None,
        take_over: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.kafka_conn_id = kafka_conn_id
        self.source_id = source_id
        self.topics = topics
        self.assign = assign
        self.take_over = take_over

    def execute(self, context: Any) -> PublishResultDocument:
        """Publish, log, and fail when one of the positions was not published."""
        from airflow_provider_ckpt.report.tables import published_table
        from airflow_provider_ckpt.sources.kafka.publication import Publication

        with self.running(context):
            require_flags(self, "take_over")
            outcomes, again_ms = self._publish()
            done = [item for item in outcomes if isinstance(item, Publication)]
        self.report(published_table(done))
        if again_ms is not None:
            self.log.info("Publish again before %s: then the broker forgets these offsets.", time_text(again_ms))
        for text in (f"{item.position.location}: {warning}" for item in done for warning in item.warnings):
            self.log.warning("%s", visible(text))
        result: PublishResultDocument = {
            "format_version": FORMAT_VERSION,
            "published": [item.summary() for item in done],
            "publish_again_before_ms": again_ms,
        }
        result = self.tell(context, result, batch_id=done[0].position.batch_id if len(done) == 1 else None)
        self._fail_for(context, [item for item in outcomes if isinstance(item, CheckpointError)])
        return result

    def declare_query(self) -> None:
        """Find the queries; those that are named come behind the locations that are given. Raises CheckpointError."""
        given = texts_of("checkpoint", self.checkpoint) if isinstance(self.query, list | tuple) else ()
        super().declare_query()
        if given:
            named = (query.checkpoint for query in self.declared_queries)
            self._before = {**self._before, "checkpoint": self._before.get("checkpoint", self.checkpoint)}
            self.checkpoint = list(dict.fromkeys([*given, *named]))

    def _publish(self) -> tuple[list[Publication | CheckpointError], int | None]:
        """Publish, cluster by cluster: the outcome of each checkpoint, and until when the brokers keep the offsets."""
        from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
        from airflow_provider_ckpt.sources.kafka.publication import Publication
        from airflow_provider_ckpt.sources.kafka.publish import publish_again_before_ms, publish_all

        stores = [self.store(location) for location in texts_of("checkpoint", self.checkpoint)]
        how: dict[str, Any] = {
            "source_id": self._source_id,
            "topics": texts_of("topics", self.topics),
            "assigned": self._assigned(),
            "take_over": self.take_over,
        }
        outcomes, published = dict[int, Publication | CheckpointError](), list[tuple[KafkaBroker, int]]()
        for cluster, places in self._clusters_of(stores):
            began_ms = now_ms()
            try:
                config = {**self.hook.kafka_config(cluster.conn_id), **cluster.options}
                broker = KafkaBroker(cluster.servers, config)
                found = publish_all([stores[at] for at in places], broker, self.group, **how)
            except CheckpointError as error:  # of the client; the other clusters have their own
                outcomes.update(dict.fromkeys(places, error))
                continue
            outcomes.update(zip(places, found, strict=True))
            published += [(broker, began_ms)] if any(isinstance(item, Publication) for item in found) else []
        again_ms = [publish_again_before_ms(broker, began_ms) for broker, began_ms in published]
        return [outcomes[at] for at in sorted(outcomes)], min(filter(None, again_ms), default=None)

    def _clusters_of(self, stores: Sequence[Store]) -> list[tuple[Cluster, list[int]]]:
        """The clusters that have the topics of the queries, and which of the queries are on each."""
        from airflow_provider_ckpt.query.query_file import Cluster

        if self.kafka_conn_id and "kafka_conn_id" not in self.origins:
            return [(Cluster("", conn_id=self.kafka_conn_id), [*range(len(stores))])]
        found: list[tuple[Cluster, list[int]]] = []
        for at, store in enumerate(stores):
            cluster = self._cluster_of(store.location)
            places = next((places for known, places in found if known == cluster), None)
            if places is None:
                found.append((cluster, [at]))
            else:
                places.append(at)
        return found

    def _cluster_of(self, location: str) -> Cluster:
        """The cluster that the query file declares for a query, else that of the default connection."""
        from airflow_provider_ckpt.query.query_file import Cluster

        place = self.query_file or configured_file()
        file = self.declared_file or (read_file(place) if place else None)
        query = None if file is None else file.find(location)
        if query is not None:
            sources = {key: each for key, each in query.deploy.by_id.items() if each.type == "kafka" and each.location}
            only = next(iter(sources)) if len(sources) == 1 else ""
            wanted = only if self._source_id is None else self._source_id
            if wanted in query.clusters:
                return query.clusters[wanted]
            if wanted in sources:
                return Cluster(sources[wanted].location, conn_id=DEFAULT_CONN_ID)
        return Cluster("", conn_id=DEFAULT_CONN_ID)

    @property
    def _source_id(self) -> str | None:
        return None if self.source_id is None else str(self.source_id)  # a native template made it a number

    def _assigned(self) -> frozenset[Partition] | None:
        from airflow_provider_ckpt.query.source_options import parse_assigned

        if self.assign is None:
            return None
        try:
            return parse_assigned(self.assign if isinstance(self.assign, str) else json.dumps(self.assign))
        except (TypeError, ValueError) as error:
            raise CheckpointError(str(error), hint="Give assign as the query does.") from None

    def _fail_for(self, context: Any, errors: Sequence[CheckpointError]) -> None:
        for error in errors:
            self.log.error("%s", error)
        if errors:
            again = next((error for error in errors if error.retryable), errors[0])
            push_error(context, again.to_dict())
            raise failure(again.code, again, retryable=again.retryable)
