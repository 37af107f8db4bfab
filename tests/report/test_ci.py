"""Documents for CI: real readers read them, and what fails in them is what fails the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.findings import SEVERITIES, Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.report.ci import Judged, artifact_uri, json_text, junit_text, plain_text, sarif_text
from airflow_provider_ckpt.restart.forecast import Forecast, forecast
from airflow_provider_ckpt.storage.store import Store
from tests.sarif import valid_run

ORDERS = "s3://lake/checkpoints/orders"
BROKEN = Finding("CKPT102", "error", "the entry is not JSON", 12, "offsets/12", "Restore it.")
STOPS = replace(BROKEN, spark_error="MALFORMED_LOG_FILE")
ALSO_BROKEN = replace(BROKEN, name="commits/12")
IGNORED = Finding("CKPT201", "error", "spark.a = 8 will be ignored", 12)
TRAILS = Finding("CKPT113", "warning", "batches 10 to 12 are planned and not committed", 12)
GAPS = Finding("CKPT111", "note", "the offset log has gaps")
EVERYTHING = (BROKEN, ALSO_BROKEN, IGNORED, TRAILS, GAPS)
SOUND = Judged("s3://lake/checkpoints/customers")
UNREADABLE = Judged(
    "gs://lake/gone", error=CheckpointNotFoundError("the location does not exist", location="gs://lake/gone")
)


def gated(
    *findings: Finding,
    spark_error: str | None = None,
    known: frozenset[Finding] | None = None,
    unknown: tuple[str, ...] = (),
    fail_on: str = "block",
) -> Judged:
    foretold = Forecast(13, None, spark_error, (), findings, unknown=unknown)
    return Judged(ORDERS, findings, foretold, known, unknown=unknown, fail_on=fail_on)


def read_junit(*judged: Judged) -> tuple[JUnitXml, dict[str, dict[str, TestCase]]]:
    """The document, and its cases by suite and name."""
    xml = JUnitXml.fromstring(junit_text(judged).encode())
    return xml, {suite.name: {case.name: case for case in suite} for suite in xml}


def verdicts(cases: dict[str, TestCase]) -> dict[str, list[type]]:
    return {name: [type(result) for result in case.result] for name, case in cases.items()}


# --- JUnit -----------------------------------------------------------------------------------------------------------


def test_junit_of_a_sound_checkpoint_has_a_case_that_passes():
    xml, suites = read_junit(SOUND)
    assert verdicts(suites[SOUND.location]) == {"The checkpoint can be read": [], "Everything was judged": []}
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (2, 0, 0, 0)


def test_junit_fails_for_errors_and_for_nothing_else():
    xml, suites = read_junit(Judged(ORDERS, EVERYTHING))
    assert verdicts(suites[ORDERS]) == {
        "The checkpoint can be read": [],
        "Everything was judged": [],
        "CKPT102 Malformed entry": [Failure],
        "CKPT201 Conf will be ignored": [Failure],
        "CKPT113 Commit log trails by more than one batch": [],
        "CKPT111 Gaps in the offset log": [],
    }
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (6, 2, 0, 0)
    (failure,) = suites[ORDERS]["CKPT102 Malformed entry"].result
    assert failure.message == "the entry is not JSON" and failure.type == "CKPT102"
    assert "offsets/12" in failure.text and "commits/12" in failure.text and "Restore it." in failure.text
    assert "batches 10 to 12" in suites[ORDERS]["CKPT113 Commit log trails by more than one batch"].system_out
    assert {case.classname for case in suites[ORDERS].values()} == {ORDERS}


def test_junit_names_stay_when_the_batch_moves():
    later = [replace(finding, batch_id=13, message=f"{finding.message} now") for finding in EVERYTHING]
    _, before = read_junit(Judged(ORDERS, EVERYTHING))
    _, after = read_junit(Judged(ORDERS, tuple(later)))
    assert before[ORDERS].keys() == after[ORDERS].keys()


def test_junit_skips_known_errors():
    xml, suites = read_junit(Judged(ORDERS, EVERYTHING, known=frozenset({BROKEN, IGNORED, TRAILS})))
    assert verdicts(suites[ORDERS])["CKPT201 Conf will be ignored"] == [Skipped]
    assert "known" in suites[ORDERS]["CKPT201 Conf will be ignored"].system_out
    half_known = suites[ORDERS]["CKPT102 Malformed entry"]
    (failure,) = half_known.result
    assert "commits/12" in failure.text and "offsets/12" not in failure.text and "offsets/12" in half_known.system_out
    assert (xml.failures, xml.skipped) == (1, 1)


def test_junit_of_a_gate_says_whether_spark_starts():
    _, suites = read_junit(gated())
    assert verdicts(suites[ORDERS]) == {
        "The checkpoint can be read": [],
        "Spark starts": [],
        "Everything was judged": [],
    }
    _, suites = read_junit(gated(STOPS, spark_error="MALFORMED_LOG_FILE", known=frozenset({STOPS})))
    assert verdicts(suites[ORDERS]) == {
        "The checkpoint can be read": [],
        "Spark starts": [Failure],
        "Everything was judged": [],
        "CKPT102 Malformed entry": [Failure],
    }
    assert suites[ORDERS]["Spark starts"].result[0].type == "MALFORMED_LOG_FILE"


def test_junit_has_an_error_for_what_cannot_be_judged():
    xml, suites = read_junit(UNREADABLE, SOUND)
    assert list(suites) == [UNREADABLE.location, SOUND.location]
    assert verdicts(suites[UNREADABLE.location]) == {"The checkpoint can be read": [Error]}
    assert suites[UNREADABLE.location]["The checkpoint can be read"].result[0].type == "NOT_FOUND"
    assert (xml.tests, xml.errors) == (3, 1)


def test_what_was_not_judged_is_in_every_document():
    judged = gated(unknown=("sources", "sink"))
    xml, suites = read_junit(judged)
    (skipped,) = suites[ORDERS]["Everything was judged"].result
    assert skipped.message == "not judged: sources, sink" and (xml.failures, xml.skipped) == (0, 1)
    (notification,) = valid_run(sarif_text([judged]))["invocations"][0]["toolExecutionNotifications"]
    assert notification["descriptor"]["id"] == "NOT_JUDGED" and "sources, sink" in notification["message"]["text"]
    document = json.loads(json_text([judged]))
    assert (document["decision"], document["unknown"]) == ("warn", ["sources", "sink"])
    first, *_ = plain_text([judged]).split("\n")
    assert first == f"WARN {ORDERS}: Spark starts and runs batch 13; not judged: sources, sink"
    check = Judged(ORDERS, unknown=("state", "source logs"))
    assert plain_text([check]) == f"{ORDERS}: no findings; not judged: state, source logs"
    assert check.exit_code == 0 and json.loads(json_text([check]))["unknown"] == ["state", "source logs"]


# --- SARIF -----------------------------------------------------------------------------------------------------------


def test_sarif_of_a_sound_checkpoint_has_every_rule_and_no_result():
    run = valid_run(sarif_text([SOUND]))
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("ckpt", __version__)
    assert {rule["id"]: rule["shortDescription"]["text"] for rule in driver["rules"]} == RULES
    assert all(rule["help"]["markdown"].startswith(f"**{RULES[rule['id']]}.** ") for rule in driver["rules"])
    assert run["results"] == [] and run["invocations"][0]["executionSuccessful"] is True


def test_sarif_has_a_result_for_each_finding():
    run = valid_run(sarif_text([Judged(ORDERS, EVERYTHING)]))
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        (finding.code, finding.severity) for finding in EVERYTHING
    ]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert "baselineState" not in result and "suppressions" not in result
    first = run["results"][0]
    assert first["message"]["text"] == "the entry is not JSON. Restore it."
    place = first["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "s3/lake/checkpoints/orders/offsets/12"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == f"{ORDERS}/offsets/12"


def fingerprints(judged: Judged) -> list[dict[str, str]]:
    return [result["partialFingerprints"] for result in valid_run(sarif_text([judged]))["results"]]


def test_sarif_fingerprints_tell_findings_apart_and_not_batches():
    here = fingerprints(Judged(ORDERS, EVERYTHING))
    assert len({json.dumps(item) for item in here}) == len(EVERYTHING)
    (now,), (later,) = fingerprints(gated(IGNORED)), fingerprints(gated(replace(IGNORED, batch_id=99)))
    assert now == later
    elsewhere = fingerprints(Judged(SOUND.location, EVERYTHING))
    assert all(one != other for one, other in zip(here, elsewhere, strict=True))


def test_sarif_suppresses_what_is_known():
    run = valid_run(sarif_text([Judged(ORDERS, EVERYTHING, known=frozenset({BROKEN}))]))
    states = [(result["baselineState"], "suppressions" in result) for result in run["results"]]
    assert states == [("unchanged", True)] + [("new", False)] * 4


def test_sarif_suppresses_no_error_when_spark_would_stop():
    known = frozenset({STOPS, GAPS})
    run = valid_run(sarif_text([gated(STOPS, GAPS, spark_error="MALFORMED_LOG_FILE", known=known)]))
    states = [(result["baselineState"], "suppressions" in result) for result in run["results"]]
    assert states == [("unchanged", False), ("unchanged", True)]


def test_sarif_notifies_of_what_cannot_be_judged():
    run = valid_run(sarif_text([Judged(ORDERS, EVERYTHING), UNREADABLE]))
    assert len(run["results"]) == len(EVERYTHING), "the others are not hidden"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert (notification["level"], notification["descriptor"]["id"]) == ("error", "NOT_FOUND")
    assert "gone" in notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


@pytest.mark.parametrize("location, name, uri", [
    ("s3://lake/orders", "offsets/6", "s3/lake/orders/offsets/6"),
    ("s3://lake/orders", None, "s3/lake/orders"),
    ("abfss://c@a.dfs.core.windows.net/o", "metadata", "abfss/c%40a.dfs.core.windows.net/o/metadata"),
    ("hdfs://name:8020/orders", "metadata", "hdfs/name/8020/orders/metadata"),
    ("simplecache::s3://lake/orders", "metadata", "simplecache/s3/lake/orders/metadata"),
    ("/data/my orders", "offsets/.6.crc", "file:///data/my%20orders/offsets/.6.crc"),
    ("/data/50%#1?", "state/0/ü:1", "file:///data/50%25%231%3F/state/0/%C3%BC%3A1"),
])  # fmt: skip
def test_artifacts_have_no_scheme_but_file(location, name, uri):
    """One URI of another scheme, and GitHub refuses the whole upload."""
    assert artifact_uri(location, name) == uri


# --- JSON and text ---------------------------------------------------------------------------------------------------


def test_json_marks_what_is_known():
    document = json.loads(json_text([Judged(ORDERS, EVERYTHING, known=frozenset({BROKEN}))]))
    assert [finding["known"] for finding in document["findings"]] == [True, False, False, False, False]
    assert document["location"] == ORDERS


def test_where_spark_would_stop_what_was_accepted_beside_it_is_still_known_in_every_form():
    judged = gated(STOPS, IGNORED, spark_error="MALFORMED_LOG_FILE", known=frozenset({STOPS, IGNORED}))
    assert [finding["known"] for finding in json.loads(json_text([judged]))["findings"]] == [False, True]
    assert "CKPT201, known" in plain_text([judged]) and "CKPT102, known" not in plain_text([judged])
    assert ["suppressions" in result for result in valid_run(sarif_text([judged]))["results"]] == [False, True]
    assert (judged.exit_code, judged.counting) == (1, (STOPS,))


def test_json_of_several_has_them_all():
    found, sound, unreadable = json.loads(json_text([Judged(ORDERS, EVERYTHING), SOUND, UNREADABLE]))["checkpoints"]
    assert len(found["findings"]) == 5 and sound["findings"] == []
    assert unreadable["error"]["code"] == "NOT_FOUND" and "findings" not in unreadable, "not to be taken for sound"


def test_text_has_a_line_for_everything():
    text = plain_text([Judged(ORDERS, EVERYTHING, known=frozenset({GAPS})), SOUND, UNREADABLE])
    assert len(text.split("\n")) == 1 + 5 + 1 + 1
    assert "error CKPT102: offsets/12: the entry is not JSON. Restore it." in text and "note CKPT111, known" in text


# --- what counts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("judged, code, decision", [
    (gated(), 0, "pass"),
    (gated(GAPS), 0, "pass"),
    (gated(TRAILS), 0, "warn"),
    (gated(IGNORED), 1, "block"),
    (gated(IGNORED, known=frozenset()), 1, "block"),
    (gated(IGNORED, TRAILS, known=frozenset({IGNORED})), 0, "warn"),
    (gated(IGNORED, TRAILS, known=frozenset({IGNORED, TRAILS})), 0, "pass"),
    (gated(IGNORED, BROKEN, known=frozenset({IGNORED})), 1, "block"),
    (gated(BROKEN, spark_error="X", known=frozenset({BROKEN})), 1, "block"),
    (gated(spark_error="X"), 1, "block"),
    (gated(unknown=("sink",)), 0, "warn"),
    (gated(GAPS, unknown=("sink",), fail_on="warn"), 1, "warn"),
    (gated(TRAILS, fail_on="warn"), 1, "warn"),
    (gated(TRAILS, fail_on="warn", known=frozenset({TRAILS})), 0, "pass"),
    (gated(TRAILS, fail_on="warn", unknown=("sink",), known=frozenset({TRAILS})), 1, "warn"),
    (gated(GAPS, fail_on="warn"), 0, "pass"),
])  # fmt: skip
def test_the_decision_and_the_exit_code_agree(judged, code, decision):
    assert (judged.exit_code, judged.to_dict()["decision"]) == (code, decision)
    assert judged.headline.startswith(f"{decision.upper()} {ORDERS}: ")
    xml, _ = read_junit(judged)
    assert bool(xml.failures) == (code == 1)


def test_an_error_has_its_own_exit_code():
    assert UNREADABLE.exit_code == 3
    assert Judged(ORDERS, error=StoreUnavailableError("no answer")).exit_code == 5


# --- any text, and real checkpoints ----------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30) | st.sampled_from(
    ["", "\x00\x1b[31m", "]]>", "<![CDATA[", "&amp;", "\udcff", "s3://a:b@c:d/", "http://[::1", "%", "::", "//", "a b\n\r\t"]
)  # fmt: skip
FINDINGS = st.builds(
    Finding, st.sampled_from(sorted(RULES)), st.sampled_from(SEVERITIES), TEXTS, st.none() | st.integers(0, 2**63),
    st.none() | TEXTS, st.none() | TEXTS,
)  # fmt: skip


@st.composite
def anything_judged(draw: st.DrawFn) -> Judged:
    location = draw(TEXTS)
    if draw(st.integers(0, 4)) == 0:
        return Judged(location, error=CheckpointNotFoundError(draw(TEXTS), name=draw(TEXTS), hint=draw(TEXTS)))
    findings = tuple(draw(st.lists(FINDINGS, max_size=4)))
    known = draw(st.none() | st.sets(st.sampled_from(findings)).map(frozenset)) if findings else frozenset()
    foretold = draw(
        st.none() | st.builds(Forecast, st.none(), st.none(), st.none() | TEXTS, st.just(()), st.just(findings))
    )
    return Judged(location, findings, foretold, known)


@pytest.mark.sweep
@given(st.lists(anything_judged(), min_size=1, max_size=3))
def test_no_text_breaks_a_document(judged: Sequence[Judged]):
    xml = JUnitXml.fromstring(junit_text(judged).encode())
    assert [suite.tests for suite in xml] == [len(list(suite)) for suite in xml] and xml.tests == sum(
        s.tests for s in xml
    )
    assert xml.errors == sum(item.error is not None for item in judged)
    assert bool(xml.failures) == any(item.exit_code == 1 for item in judged)
    run = valid_run(sarif_text(judged))
    assert len(run["results"]) == sum(len(item.findings) for item in judged)
    json.loads(json_text(judged))
    for text in (json_text(judged), sarif_text(judged), plain_text(judged)):
        text.encode()


@given(TEXTS, TEXTS)
def test_an_artifact_uri_keeps_the_name(location, name):
    uri = artifact_uri(location, name)
    shown = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in name)
    assert unquote(uri).endswith(shown)


def test_a_damaged_checkpoint_in_every_document(golden):
    checkpoint = golden("file-to-parquet-12")
    entry = checkpoint / "offsets" / "11"
    entry.write_bytes(entry.read_bytes()[:100])
    store = Store.open(str(checkpoint))
    foretold = forecast(observe(store), DeploySpec())
    judged = Judged(store.location, foretold.findings, foretold)
    _, suites = read_junit(judged)
    assert verdicts(suites[store.location]) == {
        "The checkpoint can be read": [],
        "Spark starts": [Failure],
        "Everything was judged": [],
        "CKPT102 Malformed entry": [Failure],
    }
    (result,) = valid_run(sarif_text([judged]))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"{entry.as_uri()}"
