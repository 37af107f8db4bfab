"""Reading how far the queries of a fleet are behind their sources, and what their restarts would lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.deploy import Deploys, DeploySpec
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.sources.judge_sources import can_lose, judge_sources
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.kafka.read_losses import data_loss_of
from airflow_provider_ckpt.sources.lag import SourceLag
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, question_of, read_ahead, read_lag
from airflow_provider_ckpt.storage.store import Store

#: What is not judged of a checkpoint for which no source was declared.
LAG = "lag"


@dataclass(frozen=True, slots=True)
class FleetPosition:
    """Answers of the sources of one query.

    Args:
        sources: Its lag behind each; None when they could not be asked, or none was declared.
        losses: Data that its sources lose at a restart, and what stops them.
        expires_ms: Time until a source may delete the first data that the query needs, milliseconds; None when nobody
            asked, or nothing expires.
        error: Why its sources could not be asked.
        unknown: Names of what was not judged.
    """

    sources: tuple[SourceLag, ...] | None = None
    losses: Losses | None = None
    expires_ms: int | None = None
    error: str | None = None
    unknown: tuple[str, ...] = ()


class FleetPositions:
    """The sources of a fleet, as they are declared. Each broker has one connection, and is asked for many queries.

    Args:
        deploys: The sources of each query.
        open_store: Opens the directory of a table or of files.
        kafka_config: Options of the clients.
        now_ms: Now, epoch milliseconds.
        ages: True if it is asked how old unread records are, and when they expire.
        known_ids: The ids that the topics of a checkpoint had before, by its location.
        configs: Options of the clients of some servers, by these; ``kafka_config`` wins over them.
    """

    def __init__(
        self,
        deploys: Deploys,
        open_store: Callable[[str], Store],
        kafka_config: Mapping[str, Any],
        now_ms: int,
        *,
        ages: bool = False,
        known_ids: Callable[[str], Mapping[str, str]] = lambda _: {},
        configs: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._deploys = deploys
        self._open = open_store
        self._config = kafka_config
        self._now_ms = now_ms
        self._ages = ages
        self._known_ids = known_ids
        self._brokers = Brokers(kafka_config, configs=configs or {})
        #: The ids of the topics that were seen, by location.
        self.topic_ids: dict[str, Mapping[str, str]] = {}

    def deploy_of(self, location: str) -> DeploySpec:
        """Declared deploy of the query with this checkpoint."""
        return self._deploys.of(location)

    def sink_of(self, location: str) -> Sink | None:
        """The sink that is declared for the query with this checkpoint."""
        return self.deploy_of(location).sink

    def read_ahead(self, views: Iterable[CheckpointView]) -> None:
        """Ask the brokers for several queries together; raises nothing."""
        read_ahead([(view, self._question(view)) for view in views], self._brokers, self._now_ms)

    def of(self, view: CheckpointView, store: Store) -> FleetPosition:
        """Answers of the sources of one query; an error of its sources is an answer, too."""
        question = self._question(view)
        if not question.sources:
            return FleetPosition(unknown=(*self._not_asked(view), LAG))
        access = Access(self._open, store, self._config)
        losses: Losses | None = None
        try:
            losses = self._losses(view, access)
            sources = read_lag(view, question, access, self._now_ms, self._brokers)
        except CheckpointError as error:
            unknown = self._not_asked(view) if losses is None else losses.unknown
            return FleetPosition(losses=losses, error=str(error), unknown=(*unknown, LAG))
        is_unknown = any(source.source_type is None or not source.is_known for source in sources)
        expiries = [losses.expires_ms, *(source.expires_ms for source in sources)]
        return FleetPosition(
            sources,
            losses,
            min((expiry for expiry in expiries if expiry is not None), default=None),
            unknown=(*((LAG,) if is_unknown else ()), *losses.unknown),
        )

    def _losses(self, view: CheckpointView, access: Access) -> Losses:
        """Losses and stops of a restart, and the time until a table may delete what the query needs."""
        deploy = self.deploy_of(view.location)
        lost = judge_sources(
            view,
            deploy.by_id,
            deploy.source_options,
            access,
            self._brokers,
            self._now_ms,
            trigger=deploy.trigger,
            known_ids=self._known_ids(view.location),
        )
        if lost.topic_ids:
            self.topic_ids[view.location] = lost.topic_ids
        return lost

    def _not_asked(self, view: CheckpointView) -> tuple[str, ...]:
        """Names of what is not judged when no source can be asked for losses."""
        return tuple(map(data_loss_of, can_lose(view, self.deploy_of(view.location).by_id)))

    def _question(self, view: CheckpointView) -> LagQuestion:
        """Question to the sources; empty where only types are declared."""
        deploy = self.deploy_of(view.location)
        if not any(source.place for source in deploy.sources or ()):
            return LagQuestion({})
        return question_of(deploy, ages=self._ages)
