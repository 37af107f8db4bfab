"""What OpenLineage gets: facets of its own schema, and one of ours."""

from __future__ import annotations

import json

import attr
import pytest

from airflow_provider_ckpt.documents.lineage import TaskFacetFields
from airflow_provider_ckpt.lineage.datasets import backup, checkpoint, declared_sinks, declared_sources
from airflow_provider_ckpt.lineage.facts import task_facts
from airflow_provider_ckpt.lineage.openlineage import FACET, SCHEMA, operator_lineage
from tests.json_documents import LINEAGE_SCHEMA, lineage_schema
from tests.lineage.events import problems
from tests.lineage.shown import GATE, LAG, PLAN, RECEIPT

pytestmark = pytest.mark.airflow


def event(lineage) -> dict:
    """An event as the client writes it, without what our part has nothing to do with."""
    from openlineage.client.serde import Serde

    facets = {key: json.loads(Serde.to_json(facet)) for key, facet in lineage.run_facets.items()}
    inputs, outputs = ([json.loads(Serde.to_json(item)) for item in side] for side in (lineage.inputs, lineage.outputs))
    return {"run": {"facets": facets}, "inputs": inputs, "outputs": outputs}


@pytest.mark.parametrize("document", [{}, GATE, LAG, PLAN, {**PLAN, "receipt": RECEIPT}], ids=str)
def test_every_document_makes_an_event_of_the_schema(document):
    inputs = [
        checkpoint("s3://lake/orders", batch_id=7),
        *declared_sources({"0": "kafka:host:9092/orders", "1": "delta:s3://lake/in"}, str),
        *declared_sinks(["file:/out", "iceberg:s3://lake/out"], str),
    ]
    outputs = [checkpoint("/orders", change="ALTER"), backup("/backups", backup_id="b", change="CREATE")]
    made = event(operator_lineage(inputs, outputs, task_facts("gate", ["s3://lake/orders"], document)))
    assert list(problems(made)) == []
    assert made["run"]["facets"][FACET]["_schemaURL"] == SCHEMA
    assert len(made["inputs"]) == 5 and made["outputs"][0]["facets"]["lifecycleStateChange"]


def test_a_wrong_event_is_found():
    made = event(operator_lineage([checkpoint("/orders")], [], task_facts("gate", [], {})))
    made["inputs"][0]["facets"]["storage"]["nonsense"] = 1
    made["run"]["facets"][FACET]["nonsense"] = 1
    assert len(list(problems(made))) == 2


def test_what_was_not_said_is_absent():
    lineage = operator_lineage([], [], task_facts("check", [], {}))
    assert event(lineage)["run"]["facets"][FACET].keys() == {"_producer", "_schemaURL", "task", "checkpoints"}
    assert {
        field.name for field in attr.fields(type(lineage.run_facets[FACET]))
    } >= TaskFacetFields.__annotations__.keys()


def test_the_same_dataset_is_named_once():
    assert len(operator_lineage([checkpoint("/o"), checkpoint("/o/")], [], task_facts("check", [], {})).inputs) == 1


def test_the_schema_in_the_docs_is_made_from_the_types():
    assert LINEAGE_SCHEMA.read_text() == lineage_schema(), "run: python -m tests.json_documents"
