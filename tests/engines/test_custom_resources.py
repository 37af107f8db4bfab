"""What Kubernetes answers is an object, a whole list, or no answer."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.custom_resources import CustomResources, refusal
from airflow_provider_ckpt.engines.manifest import TOKEN
from airflow_provider_ckpt.engines.rest import Said
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError


class Answers:
    def __init__(self, *answers: Said) -> None:
        self.answers, self.asked = list(answers), []

    def ask(self, method, *path, params=None, **more):
        self.asked.append((method, path, params))
        return self.answers.pop(0)


def objects(*answers: Said) -> CustomResources:
    return CustomResources(Answers(*answers), "sparkoperator.k8s.io/v1beta2")


def test_a_list_goes_on_until_its_end():
    marked = {"metadata": {"name": "orders", "annotations": {TOKEN: "orders-1"}}}
    pages = Said(200, {"metadata": {"continue": "more"}, "items": [marked]}), Said(200, {"metadata": {}, "items": None})
    found = objects(*pages)
    assert found.tokens("spark") == {"orders": "orders-1"}
    assert [asked[2].get("continue") for asked in found._rest.asked] == [None, "more"]


@pytest.mark.parametrize("document", [{}, {"items": "x"}, {"items": [{"metadata": None}]}])
def test_what_is_no_list_is_no_answer(document):
    with pytest.raises(EngineUnknownError, match="with no whole list of pods"):
        objects(Said(200, document)).pods("spark", "label", "orders")


def test_an_object_that_is_not_there_is_none_and_a_resource_that_is_not_there_is_told():
    assert objects(Said(404, {"details": {"name": "orders"}})).get("spark", "orders") is None
    with pytest.raises(EngineError, match="this cluster has no SparkApplication of sparkoperator.k8s.io/v1beta2"):
        objects(Said(404, {})).get("spark", "orders")
    with pytest.raises(EngineUnknownError, match="with no object"):
        objects(Said(200, {"kind": "Status"})).get("spark", "orders")


def test_the_reason_of_a_refusal_is_at_its_end():
    assert refusal(Said(422, {"message": f'{"x" * 900} unknown field "spec.suspend"'})).endswith(
        'unknown field "spec.suspend"'
    )
    assert refusal(Said(409, {})) == "HTTP 409"
