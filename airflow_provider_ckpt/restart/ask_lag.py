"""What is asked about the sources that a deploy declares."""

from __future__ import annotations

from airflow_provider_ckpt.positions.judge_tables import is_judged
from airflow_provider_ckpt.positions.read_lag import LagQuestion
from airflow_provider_ckpt.positions.source_options import parse_options
from airflow_provider_ckpt.restart.deploy import DeploySpec


def question_of(deploy: DeploySpec, *, ages: bool = False) -> LagQuestion:
    """The question how far a query is behind the sources of a deploy, of which the type is declared.

    Args:
        deploy: The deploy.
        ages: As for :class:`LagQuestion`.
    """
    sources = {
        source.name: f"{source.kind}:{source.place}" if source.place else source.kind
        for source in deploy.sources or ()
        if source.name is not None and source.kind is not None
    }
    return LagQuestion(sources, parse_options(deploy.source_options.items(), deploy.trigger), ages)


def kafka_places(deploy: DeploySpec) -> dict[str, str]:
    """The brokers and topics of the Kafka sources that have a broker, by source id."""
    return {
        str(source.name): source.place for source in deploy.sources or () if source.kind == "kafka" and source.place
    }


def table_places(deploy: DeploySpec) -> dict[str, str]:
    """What the sources read from that are tables which can be asked what stops a query, by source id."""
    places = {str(source.name): f"{source.kind}:{source.place}" for source in deploy.sources or () if source.place}
    return {source_id: place for source_id, place in places.items() if is_judged(place)}
