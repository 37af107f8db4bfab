"""The operator that publishes positions to consumer groups."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import failure, push_error, require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator, texts_of
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import PublishResultDocument
    from airflow_provider_ckpt.sources.kafka.extent import Partition

#: The connection of type ``kafka`` that Airflow itself asks by default.
DEFAULT_CONN_ID = "kafka_default"


class CheckpointPublishOffsetsOperator(CheckpointOperator):
    """Commits the positions of queries to a consumer group of Kafka, from outside: tools show the lag of the queries.

    ``checkpoint`` may be a list: each is published on its own, and the task fails afterwards for those that were not.
    A retry writes all of them again, which is harmless.

    :param group: The consumer group. In it ``{name}`` becomes the last part of the location, ``{query_id}`` the id of
        the query and ``{source_id}`` that of the source.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client; by default ``kafka_default``.
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
        from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
        from airflow_provider_ckpt.sources.kafka.publication import Publication
        from airflow_provider_ckpt.sources.kafka.publish import publish_again_before_ms, publish_all

        with self.running(context):
            require_flags(self, "take_over")
            stores = [self.store(location) for location in texts_of("checkpoint", self.checkpoint)]
            broker = KafkaBroker("", self.hook.kafka_config(self.kafka_conn_id or DEFAULT_CONN_ID))
            began_ms = now_ms()
            outcomes = publish_all(
                stores,
                broker,
                self.group,
                source_id=None if self.source_id is None else str(self.source_id),  # a native template made it a number
                topics=texts_of("topics", self.topics),
                assigned=self._assigned(),
                take_over=self.take_over,
            )
            done = [item for item in outcomes if isinstance(item, Publication)]
            again_ms = publish_again_before_ms(broker, began_ms) if done else None
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
