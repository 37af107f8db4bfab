"""What a checkpoint can say of a cause: that it shows it, that it does not, or that it cannot tell."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.symptoms.explain import explain
from airflow_provider_ckpt.symptoms.explanation import Explanation
from airflow_provider_ckpt.symptoms.judge_cause import judge_causes
from airflow_provider_ckpt.symptoms.matching import Match
from airflow_provider_ckpt.symptoms.page import Cause
from tests.oracle.corpus import CASES
from tests.oracle.prepared import prepare

#: Id of a query that has no checkpoint here.
ANOTHER = "99999999-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """Batch 3 is missing, which the newest batch needs."""
    return Store.open(str(prepare(CASES["file | drop offsets/{N-1}"], tmp_path_factory.mktemp("ck"))))


def of(*rules: str, key: str = "A_B", **deploy: object) -> Explanation:
    cause = Cause(",".join(rules), "Why.", rules=rules, deploy=deploy)
    return Explanation(Match(None, None, key, (cause,)), cause, {"wanted": "3"})


@pytest.mark.parametrize(
    ("explanation", "result"),
    [
        (of("CKPT110"), "confirmed"),
        (of("CKPT123", "CKPT124"), "contradicted"),
        (of("CKPT123", "CKPT231"), "contradicted"),
        (of("CKPT231", "CKPT123"), "unknown"),
        (of(), "unknown"),
        (of("CKPT150"), "unknown"),
        (of("CKPT141"), "unknown"),
        (of("CKPT250"), "unknown"),
        (of("CKPT210"), "unknown"),
        (of("CKPT210", sources="{wanted}"), "confirmed"),
        (of("CKPT210", sources="{not_said}"), "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else str([value.cause.rules, value.cause.deploy]),
)
def test_the_result(store, explanation, result):
    (judged,) = judge_causes([explanation], store)
    assert judged.evidence is not None and judged.evidence.result == result


def test_a_cause_that_is_confirmed_leaves_no_other_of_its_text(store):
    judged = judge_causes([of("CKPT150"), of("CKPT123"), of("CKPT110"), of("CKPT123", key="C_D")], store)
    assert [(item.match.condition, item.cause and item.cause.heading) for item in judged] == [
        ("A_B", "CKPT110"),
        ("C_D", "CKPT123"),
    ]


def test_without_one_those_stay_that_may_be(store):
    judged = judge_causes([of("CKPT123"), of("CKPT150")], store)
    assert [item.cause and item.cause.heading for item in judged] == ["CKPT150"]


def test_the_errors_of_another_problem_are_shown(store):
    (judged,) = judge_causes([of("CKPT123")], store)
    assert judged.evidence is not None
    assert [finding.code for finding in judged.evidence.findings] == ["CKPT110"]


def test_each_rule_of_a_cause_is_judged(store):
    (judged,) = judge_causes([of("CKPT123", "CKPT231")], store)
    assert judged.evidence is not None
    assert "it has none of CKPT123 now. CKPT231 also needs what is outside of it" in judged.evidence.sentence


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("batch 100 doesn't exist", "The text speaks of batch 100, and the checkpoint lacks offsets/3 (CKPT110)."),
        (
            f"Query [id = {ANOTHER}, runId = {ANOTHER}] terminated: batch 3 doesn't exist",
            f"The text speaks of the query {ANOTHER}, and this checkpoint is that of the query ",
        ),
        (f"query id={ANOTHER}: batch 3 doesn't exist", f"The text speaks of the query {ANOTHER},"),
        (f"queryId: {ANOTHER} batch 3 doesn't exist", f"The text speaks of the query {ANOTHER},"),
        ("[queryId = 99999] batch 3 doesn't exist", "The text speaks of the query 99999,"),
    ],
    ids=["batch", "id and runId", "id", "queryId", "beginning of an id"],
)
def test_a_text_of_another_checkpoint_is_not_confirmed(store, text, says):
    for item in explain([text], store).explanations:
        assert item.evidence is not None
        assert (item.evidence.result, item.evidence.elsewhere) == ("unknown", True)
        assert item.evidence.sentence.startswith(says)
        assert all(command.startswith("ckpt check ") for command in item.commands)


@pytest.mark.parametrize("digits", [5, 36])
def test_a_text_of_this_query_is_confirmed(store, digits):
    own = examine(store, deep=False).query_id
    assert own is not None
    (item,) = explain([f"[queryId = {own[:digits]}] batch 3 doesn't exist"], store).explanations
    assert item.evidence is not None and item.evidence.result == "confirmed"
    assert item.commands[0].startswith("ckpt rollback ")
