"""Datasets and facts as OpenLineage has them. Its provider is optional: nothing of it is loaded before it asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from airflow_provider_ckpt.documents.lineage import TaskFacetFields
from airflow_provider_ckpt.lineage.datasets import Named

#: Key of the run facet.
FACET = "ckpt_task"
#: Names the schema of the run facet, ``docs/lineage/CkptTaskRunFacet.json``; a change of meaning has a new one.
SCHEMA = "urn:airflow-provider-ckpt:CkptTaskRunFacet:1"


def operator_lineage(inputs: Iterable[Named], outputs: Iterable[Named], facts: TaskFacetFields) -> Any:
    """Lineage of an operator for OpenLineage: an ``OperatorLineage``."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    return OperatorLineage(
        inputs=list(map(_dataset, dict.fromkeys(inputs))),
        outputs=list(map(_dataset, dict.fromkeys(outputs))),
        run_facets={FACET: _facet_class()(**facts)},
    )


def assets(items: Iterable[Any]) -> list[Any]:
    """The datasets of assets that a task was given as inlets or outlets; those without a known URI have none.

    OpenLineage leaves them out of a task that names datasets of its own.
    """
    from airflow.providers.openlineage.utils.utils import translate_airflow_asset
    from airflow.sdk import Asset

    found = (translate_airflow_asset(item, None) for item in items if isinstance(item, Asset))
    return [dataset for dataset in found if dataset is not None]


def _dataset(named: Named) -> Any:
    from airflow.providers.common.compat.openlineage.facet import Dataset

    return Dataset(namespace=named.namespace, name=named.name, facets=dict(_facets(named)))


def _facets(named: Named) -> Mapping[str, Any]:
    from openlineage.client.facet_v2 import (
        dataset_type_dataset,
        dataset_version_dataset,
        lifecycle_state_change_dataset,
        storage_dataset,
    )

    facets: dict[str, Any] = {"datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(named.type)}
    if named.layer:
        facets["storage"] = storage_dataset.StorageDatasetFacet(named.layer, named.format or None)
    if named.version:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(named.version)
    if named.change:
        change = lifecycle_state_change_dataset.LifecycleStateChange(named.change)
        facets["lifecycleStateChange"] = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(change)
    return facets


@cache
def _facet_class() -> Any:
    """The class of the run facet: what :class:`TaskFacetFields` has, each optional, so that absent stays absent."""
    import attr
    from openlineage.client.facet_v2 import RunFacet

    fields = {name: attr.field(default=None, kw_only=True) for name in TaskFacetFields.__annotations__}
    base = type("Base", (RunFacet,), {"_get_schema": staticmethod(lambda: SCHEMA)})
    return attr.make_class("CkptTaskRunFacet", fields, bases=(base,))
