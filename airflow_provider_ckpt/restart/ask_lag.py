"""What is asked about the sources that a deploy declares."""

from __future__ import annotations

from airflow_provider_ckpt.positions.read_lag import LagQuestion
from airflow_provider_ckpt.positions.source_options import parse_options
from airflow_provider_ckpt.restart.deploy import DeploySpec


def question_of(deploy: DeploySpec, *, ages: bool = False) -> LagQuestion:
    """The question how far a query is behind the sources of a deploy, of which the type is declared.

    Args:
        deploy: The deploy.
        ages: As for :class:`LagQuestion`.
    """
    sources = {name: text for name, text in source_texts(deploy).items() if text is not None}
    return LagQuestion(sources, parse_options(deploy.source_options.items(), deploy.trigger), ages)


def source_texts(deploy: DeploySpec) -> dict[str, str | None]:
    """Type and place of each source by its id, such as ``kafka:broker:9092/orders``, or its type alone; None when the
    type is not declared.
    """
    return {
        source.name: f"{source.kind}:{source.place}" if source.kind and source.place else source.kind
        for source in deploy.sources or ()
        if source.name is not None
    }
