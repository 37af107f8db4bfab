"""What a checkpoint can say of a cause: that it shows it, that it does not, or that it cannot tell."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.explanation import Explanation
from airflow_provider_ckpt.explain.judge_cause import judge_causes
from airflow_provider_ckpt.explain.matching import Match
from airflow_provider_ckpt.explain.page import Cause
from airflow_provider_ckpt.storage.store import Store
from tests.explain.traces import TRACED
from tests.fake_query import FakeQuery
from tests.oracle.corpus import CASES
from tests.oracle.prepared import prepare

STOPPED = (
    "org.apache.spark.SparkException: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs "
    "detected for {}."
)
#: Id of a query that has no checkpoint here.
ANOTHER = "99999999-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """Batch 3 is missing, which the newest batch needs."""
    return Store.open(str(prepare(CASES["file | drop offsets/{N-1}"], tmp_path_factory.mktemp("ck"))))


@pytest.fixture(scope="module")
def ahead(tmp_path_factory) -> Store:
    """The commit log is ahead of the offset log."""
    return Store.open(str(prepare(CASES[TRACED["commit-ahead"]], tmp_path_factory.mktemp("ahead"))))


@pytest.fixture
def stateless(goldens, tmp_path) -> Store:
    """Of a query with state whose directory was deleted whole."""
    at = shutil.copytree(goldens["4.3.0/count-all-hdfs"] / "checkpoint", tmp_path / "stateless")
    shutil.rmtree(at / "state")
    return Store.open(str(at))


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


@pytest.mark.parametrize(
    ("rules", "need"), [(("CKPT250",), "CKPT250 needs"), (("CKPT250", "CKPT251"), "CKPT250, CKPT251 need ")]
)
def test_one_rule_needs_and_several_need(store, rules, need):
    (judged,) = judge_causes([of(*rules)], store)
    assert judged.evidence is not None and need in judged.evidence.sentence
    assert judged.evidence.findings and judged.evidence.sentence.endswith("The checkpoint has another error:")


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


NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
TERMINATED = "26/11/23 02:14:40 ERROR MicroBatchExecution: Query"
FILE_MISSING = "java.lang.IllegalStateException: Error reading delta file file:/a/state/0/0/2.delta of HDFSStateStoreProvider[id = (op=0,part=0),dir = file:/a/state/0/0]: file:/a/state/0/0/2.delta does not exist"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"[{NO_STATE}]", "confirmed"),
        (f"[{NO_STATE}] Cannot restart streaming query with stateful operators", "confirmed"),
        (f"{TERMINATED} [id = {{own}}] terminated with error\n{FILE_MISSING}", "confirmed"),
        (f"{FILE_MISSING}", "contradicted"),
        (f"{TERMINATED} [id = {ANOTHER}] terminated with error\njava.lang.Exception: [{NO_STATE}] Cannot", "unknown"),
    ],
    ids=["a condition", "a message", "a state file of this query", "of whichever query", "of another query"],
)
def test_a_text_that_only_a_query_with_state_ends_with_shows_that_it_is_missing(stateless, text, result):
    """Without a watermark the logs are those of a query without state."""
    own = examine(stateless).query_id
    (judged,) = judge_causes(explain(text.replace("{own}", own).splitlines()).explanations, stateless)
    assert judged.evidence is not None and judged.evidence.result == result
    found = [(item.code, item.severity) for item in judged.evidence.findings]
    assert found == ([("CKPT132", "error")] if result == "confirmed" else [])
    assert not found or any("--to-backup" in command for command in judged.commands)


def test_before_the_first_commit_no_state_is_missing(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "ck")), has_watermark=False)
    query.plan(0)
    (judged,) = judge_causes(explain([f"[{NO_STATE}]"]).explanations, query.store)
    assert judged.evidence is not None and judged.evidence.result == "contradicted"


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
        (
            '{"level":"ERROR","msg":"batch 3 doesn\'t exist","context":{"query_id":"' + ANOTHER + '"}}',
            f"The text speaks of the query {ANOTHER},",
        ),
        (
            f"26/11/23 02:00:00 INFO MicroBatchExecution: Starting [id = {ANOTHER}, runId = {ANOTHER}]. Use s3://lake/ck "
            "to store the query checkpoint.\njava.lang.IllegalStateException: batch 3 doesn't exist",
            f"The text speaks of the query {ANOTHER},",
        ),
        (
            f'{{"level":"INFO","msg":"Starting [id = {ANOTHER}, runId = {ANOTHER}]. Use s3://lake/ck to store the query '
            "checkpoint.\"}\njava.lang.IllegalStateException: batch 3 doesn't exist",
            f"The text speaks of the query {ANOTHER},",
        ),
    ],
    ids=[
        "batch",
        "id and runId",
        "id",
        "queryId",
        "beginning of an id",
        "context of a record",
        "start",
        "start as JSON",
    ],
)
def test_a_text_of_another_checkpoint_is_not_confirmed(store, text, says):
    found = explain(text.splitlines(), store).explanations
    assert found
    for item in found:
        assert item.evidence is not None
        assert [(finding.hint, finding.commands) for finding in item.evidence.findings if item.evidence.elsewhere] in (
            [],
            [(None, ())],
        )
        assert (item.evidence.result, item.evidence.elsewhere) == ("unknown", True)
        assert item.evidence.sentence.startswith(says)
        assert all(command.startswith("ckpt check ") for command in item.commands)


def test_of_two_queries_that_a_log_starts_neither_is_believed(store):
    starts = [f"Starting [id = {digit * 8}{ANOTHER[8:]}]. Use /ck to store the query checkpoint." for digit in "12"]
    (item,) = explain([*starts, "java.lang.IllegalStateException: batch 3 doesn't exist"], store).explanations
    assert item.evidence is not None and item.evidence.result == "confirmed"


@pytest.mark.parametrize("text", ["Concurrent update to the log. Multiple streaming jobs detected for {}.", STOPPED])
@pytest.mark.parametrize(("batch", "result"), [("{newest}", "confirmed"), ("100", "unknown")])
def test_a_commit_that_is_ahead_is_compared_with_the_batch_of_the_text(ahead, text, batch, result):
    newest = examine(ahead, deep=False).latest_planned
    found = explain(text.format(batch.format(newest=newest)).splitlines(), ahead).explanations
    (item,) = (item for item in found if item.cause and item.cause.rules == ("CKPT112",))
    assert item.evidence is not None and item.evidence.result == result
    assert item.commands[0].startswith("ckpt rollback" if result == "confirmed" else "ckpt check")
    if result == "unknown":
        assert item.evidence.sentence.startswith(
            f"The text speaks of batch 100, and the newest batch in the offset log of this checkpoint is {newest}."
        )


@pytest.mark.parametrize("digits", [5, 36])
def test_a_text_of_this_query_is_confirmed(store, digits):
    own = examine(store, deep=False).query_id
    assert own is not None
    (item,) = explain([f"[queryId = {own[:digits]}] batch 3 doesn't exist"], store).explanations
    assert item.evidence is not None and item.evidence.result == "confirmed"
    assert item.commands[0].startswith("ckpt rollback ")
