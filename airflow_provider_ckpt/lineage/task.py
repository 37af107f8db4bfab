"""Common interface of operators and sensors to others: the links, the lineage, and the events of their assets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from airflow_provider_ckpt.hooks.declared_task import DeclaredTask
from airflow_provider_ckpt.lineage.facts import asset_extra, batch_of, task_facts
from airflow_provider_ckpt.lineage.page_link import CheckpointLink, links_of
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.lineage.datasets import Named

Result = TypeVar("Result", bound=Mapping[str, Any])


class CheckpointTask(DeclaredTask):
    """A task on checkpoints.

    OpenLineage calls its methods in a process that shares a connection with the task, so they ask nothing: a relative
    location is known to them once the task itself has opened it.
    """

    #: What the task does, for the run facet.
    does: ClassVar[str]
    #: The same for the event of an asset, as the beginning of a sentence.
    has_done: ClassVar[str]
    operator_extra_links: tuple[CheckpointLink, ...] = (CheckpointLink(),)
    inlets: Any
    outlets: Any
    _told: Mapping[str, Any] = MappingProxyType({})

    def link_checkpoints(self) -> None:
        """Have a button for each checkpoint that the DAG names."""
        links = links_of(self.checkpoint)
        if len(links) > 1:
            self.operator_extra_links = links

    def tell(self, context: Any, document: Result, **more: Any) -> Result:
        """Remember what the task has found, put it into the events of its assets, and return it.

        An event for which the DAG has set an extra keeps that.

        :param context: Context of the task.
        :param document: The return value of the task.
        :param more: Other facts that the task knows, such as ``batch_id``.
        """
        told: Any = {**document, **self.told_of_file()}
        document = told
        self.remember({**document, **more})
        events = context.get("outlet_events") if isinstance(context, Mapping) and self.outlets else None
        located = self._located()
        if events is not None and located:
            is_plan = "receipt" in document and not document["receipt"]
            extra = asset_extra("A change was planned of" if is_plan else self.has_done, located[0], self._told)
            for event in (events[asset] for asset in self.assets_told()):
                event.extra = event.extra or dict(extra)
        return document

    def remember(self, found: Mapping[str, Any]) -> None:
        """Remember what the task has found so far, in case it fails."""
        self._told = found

    def assets_told(self) -> Iterator[Any]:
        """The assets whose events say what the task has found."""
        from airflow.sdk import Asset

        yield from (item for item in self.outlets if isinstance(item, Asset))

    @property
    def shown_checkpoint(self) -> str:
        """The checkpoints as they were given, for people: in one line, without the secrets of URLs."""
        return visible(scrub(str(self.checkpoint)))

    # --- where -------------------------------------------------------------------------------------------------------

    def linked_checkpoints(self) -> list[str]:
        """The absolute locations of the checkpoints of the task; asks for the connection.

        Empty when the connection is not there, which has made the task fail already.
        """
        try:
            return [self.hook.url(item) for item in self._given()]
        except Exception:  # what Airflow raises for a missing connection differs between its versions
            shown = self.shown_checkpoint
            self.hook.log.warning("There is no link to %s, because its connection cannot be had.", shown)
            return []

    def _given(self) -> list[str]:
        """The checkpoints as they were given."""
        given = self.checkpoint if isinstance(self.checkpoint, list | tuple) else [self.checkpoint]
        return [item for item in given if isinstance(item, str) and item]

    def _located(self) -> list[str]:
        """The absolute locations that are known; nothing is asked."""
        found = map(self.hook.known_url, self._given())
        return [url for url in found if url is not None]

    # --- OpenLineage -------------------------------------------------------------------------------------------------

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """Inputs of the task: its checkpoints, and the declared sources and sinks of their queries.

        :param told: The findings of the task; empty while it has none.
        """
        from airflow_provider_ckpt.lineage.datasets import declared_sinks, declared_sources

        yield from self.lineage_checkpoints(told)
        yield from declared_sources(self.lineage_sources(), self.hook.known_url)
        for sinks in (getattr(self, "sink", None), getattr(self, "sinks", None)):
            yield from declared_sinks(sinks, self.hook.known_url)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """Outputs that the task changes or makes."""
        return iter(())

    def lineage_sources(self) -> Any:
        """The sources of the queries, as they were declared."""
        return getattr(self, "sources", None)

    def lineage_checkpoints(self, told: Mapping[str, Any], *, change: str = "") -> Iterator[Named]:
        """The checkpoints."""
        from airflow_provider_ckpt.lineage.datasets import checkpoint

        located = self._located()
        batch_id = batch_of(told) if len(located) == 1 else None
        yield from (checkpoint(url, batch_id=batch_id, change=change) for url in located)

    def get_openlineage_facets_on_start(self) -> Any:
        """Lineage before anything was asked; the same for both parts of a task that defers."""
        return self._lineage({})

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Lineage with the findings and results of the task."""
        return self._lineage(self._told)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """Lineage with the findings that the task had when it failed."""
        return self._lineage(self._told)

    def _lineage(self, told: Mapping[str, Any]) -> Any:
        from airflow_provider_ckpt.lineage.openlineage import assets, operator_lineage

        facts = task_facts(self.does, self._located(), told)
        lineage = operator_lineage(self.lineage_inputs(told), self.lineage_outputs(told), facts)
        lineage.inputs += assets(self.inlets)
        lineage.outputs += assets(self.outlets)
        return lineage
