"""Questions about the sources that a deploy declares."""

from __future__ import annotations

from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source_options import parse_options
from airflow_provider_ckpt.sources.read_lag import LagQuestion


def question_of(deploy: DeploySpec, *, ages: bool = False) -> LagQuestion:
    """The question how far a query is behind the sources of a deploy, of which the type is declared.

    Args:
        deploy: The deploy.
        ages: As for :class:`LagQuestion`.
    """
    sources = {name: source for name, source in deploy.by_id.items() if source.type is not None}
    return LagQuestion(sources, parse_options(deploy.source_options.items(), deploy.trigger), ages)
