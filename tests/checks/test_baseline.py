"""A known finding does not come back with the next batch, and a new one is never hidden."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.baseline import MOVING, Baseline, Fingerprint, fingerprint, parse_baseline
from airflow_provider_ckpt.checks.findings import SEVERITIES, Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import count_of_sources
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import EXPECTED

LOCATION = "s3://lake/checkpoints/orders"


def is_known(accepted: Finding, later: Finding, *, location: str = LOCATION) -> bool:
    baseline = parse_baseline(Baseline().accepting(LOCATION, [accepted]).to_json())
    return baseline.known(location, [later]) == {later}


CONF = Finding("CKPT201", "error", "spark.a = 8 will be ignored: Spark will really use 2", 12)
DAMAGE = Finding("CKPT101", "error", "Incomplete log file", 12, "offsets/12", "Restore it.")
EVERY_BATCH = Finding("CKPT117", "error", "offsets/12 has no shuffle partitions", 12, "offsets/12")
STATE = Finding("CKPT130", "error", "state/0/1/7.delta is missing, needed after batch 12", 12, "state/0/1/7.delta")
GAPS = Finding("CKPT111", "note", "the offset log has gaps (batches 1, 3, 4, 6, 7, …)")
NEW_ID = Finding("CKPT301", "error", "the query id was 1 and is 2", name="metadata")
TRAILS = Finding("CKPT113", "warning", "batches 10 to 12 are planned and not committed", 12)


@pytest.mark.parametrize("accepted, later", [
    (CONF, replace(CONF, batch_id=13)),
    (CONF, replace(CONF, hint="Another hint.")),
    (DAMAGE, replace(DAMAGE, message="Incomplete log file (offsets/12)")),
    (EVERY_BATCH, Finding("CKPT117", "error", "offsets/130 has no shuffle partitions", 130, "offsets/130")),
    (STATE, replace(STATE, batch_id=13, message="state/0/1/7.delta is missing, needed after batch 13")),
    (GAPS, replace(GAPS, message="the offset log has gaps (batches 11, 13)")),
    (TRAILS, TRAILS),
    (NEW_ID, NEW_ID),
], ids=["deploy, next batch", "deploy, other hint", "damage, other words", "every batch, next batch",
        "state file, next batch", "other gaps", "same incident", "same query id"])  # fmt: skip
def test_the_same_finding_is_known_in_a_later_run(accepted, later):
    assert is_known(accepted, later)


@pytest.mark.parametrize("accepted, later", [
    (CONF, replace(CONF, message="spark.b = 8 will be ignored: Spark will really use 2")),
    (CONF, replace(CONF, message="spark.a = 16 will be ignored: Spark will really use 2")),
    (CONF, replace(CONF, code="CKPT202")),
    (DAMAGE, replace(DAMAGE, name="offsets/13", batch_id=13)),
    (DAMAGE, replace(DAMAGE, name="commits/12")),
    (DAMAGE, replace(DAMAGE, name=None)),
    (EVERY_BATCH, replace(EVERY_BATCH, message="commits/13 has no shuffle partitions", name="commits/13")),
    (replace(EVERY_BATCH, name="sources/0/12"), replace(EVERY_BATCH, name="sources/1/12")),
    (STATE, replace(STATE, name="state/0/1/8.delta")),
    (TRAILS, replace(TRAILS, message="batches 40 to 42 are planned and not committed", batch_id=42)),
    (NEW_ID, replace(NEW_ID, message="the query id was 1 and is 3")),
    (replace(DAMAGE, severity="warning"), DAMAGE),
], ids=["other conf", "other value", "other rule", "other file", "other log", "no file", "every batch, other log",
        "every batch, other source", "other state file", "later incident", "yet another query id",
        "became an error"])  # fmt: skip
def test_another_finding_is_new(accepted, later):
    assert not is_known(accepted, later)


def test_the_same_finding_elsewhere_is_new():
    assert not is_known(DAMAGE, DAMAGE, location="s3://lake/checkpoints/customers")


def test_a_digest_is_as_stable_as_the_fingerprint():
    digests = {fingerprint(replace(CONF, batch_id=batch)).digest(LOCATION) for batch in range(9)}
    assert len(digests) == 1
    assert fingerprint(CONF).digest("s3://lake/checkpoints/customers") not in digests


GROWING = [name for name, facts in EXPECTED["4.3.0"].items()
           if len(facts["planned_batches"]) > 3 and not name.startswith("repartition")]  # fmt: skip
DEPLOYS = (
    DeploySpec(confs={"spark.sql.shuffle.partitions": "8", "spark.sql.streaming.join.stateFormatVersion": "1"}),
    DeploySpec(sources=count_of_sources(7)),
    DeploySpec((3, 4)),
)


def all_findings(store: Store) -> set[Finding]:
    view = observe(store)
    return {finding for deploy in DEPLOYS for finding in forecast(view, deploy).findings}


@pytest.mark.parametrize("case", GROWING)
@pytest.mark.sweep
def test_what_was_accepted_in_one_batch_is_known_in_the_next(golden, case):
    """Two looks at a real checkpoint, one of them before its newest batch."""
    checkpoint = golden(case)
    store = Store.open(str(checkpoint))
    now = all_findings(store)
    newest = EXPECTED["4.3.0"][case]["planned_batches"][-1]
    for log in ("offsets", "commits"):
        for path in (checkpoint / log / str(newest), checkpoint / log / f".{newest}.crc"):
            path.unlink(missing_ok=True)
    before = all_findings(store)
    assert now and now != before, "every finding of a deploy names the newest batch"
    assert Baseline().accepting(store.location, before).known(store.location, now) == now


def test_accepting_replaces_what_was_accepted_of_the_location_alone():
    baseline = Baseline().accepting("a", [CONF]).accepting("b", [DAMAGE]).accepting("a", [STATE])
    assert baseline.known("a", [CONF, STATE]) == {STATE}
    assert baseline.known("b", [DAMAGE]) == {DAMAGE}
    assert json.loads(baseline.accepting("a", []).to_json())["accepted"].keys() == {"b"}


def test_the_file_is_stable_and_can_be_reviewed():
    one = Baseline().accepting("b", [CONF, DAMAGE]).accepting("a", [STATE])
    other = Baseline().accepting("a", [STATE]).accepting("b", [DAMAGE, CONF, CONF])
    assert one.to_json() == other.to_json()
    assert '"name": "offsets/12"' in one.to_json() and "spark.a = 8 will be ignored" in one.to_json()


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
FINDINGS = st.builds(
    Finding, st.sampled_from(sorted(RULES)), st.sampled_from(SEVERITIES), TEXTS,
    st.none() | st.integers(0, 2**63), st.none() | TEXTS | st.sampled_from(["offsets/12", "state/0/1/2.delta"]),
)  # fmt: skip


@given(st.dictionaries(TEXTS, st.lists(FINDINGS, max_size=4), max_size=4))
def test_every_baseline_can_be_read_back(found):
    baseline = Baseline()
    for location, findings in found.items():
        baseline = baseline.accepting(location, findings)
    read = parse_baseline(baseline.to_json())
    assert read == baseline
    for location, findings in found.items():
        assert read.known(location, findings) == set(findings)


ENTRY = {"code": "CKPT101", "severity": "error", "name": None, "batch_id": None, "about": None}
BAD = {
    "nothing": ("", "not JSON"),
    "no JSON": ("CKPT101", "not JSON"),
    "very deep": ("[" * 100_000, "not JSON"),
    "a list": ("[]", "version 1"),
    "no version": ('{"accepted": {}}', "version None; this release reads version 1"),
    "a later version": ('{"version": 2, "accepted": {}}', "version 2; this release reads version 1"),
    "a SARIF document": ('{"version": "2.1.0", "runs": []}', "version '2.1.0'; this release reads"),
    "nothing accepted": ('{"version": 1}', "'accepted' must map each location to a list"),
    "locations of a wrong type": ('{"version": 1, "accepted": {"x": {}}}', "'accepted' must map each location to a list"),
    "a finding that is none": ('{"version": 1, "accepted": {"x": ["CKPT101"]}}', "must have the keys code, severity"),
    "a key too many": (json.dumps({"version": 1, "accepted": {"x": [{**ENTRY, "x": 1}]}}), "must have the keys code, severity"),
    "an unknown rule": (json.dumps({"version": 1, "accepted": {"x": [{**ENTRY, "code": "CKPT999"}]}}), "'CKPT999' is not a code"),
    "a rule of a wrong type": (json.dumps({"version": 1, "accepted": {"x": [{**ENTRY, "code": ["CKPT101"]}]}}), "is not a code"),
    "an unknown severity": (json.dumps({"version": 1, "accepted": {"x": [{**ENTRY, "severity": "bad"}]}}), "'bad' is not a severity"),
    "a batch that is none": (json.dumps({"version": 1, "accepted": {"x": [{**ENTRY, "batch_id": "6"}]}}), "'6' is not a batch_id"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_baseline_is_refused_with_the_reason(case):
    text, reason = BAD[case]
    with pytest.raises(ValueError) as raised:
        parse_baseline(text)
    assert reason in str(raised.value) and len(str(raised.value)) < 300


def test_rules_that_move_are_rules():
    assert not MOVING - RULES.keys()
    assert all(code in MOVING for code in RULES if code.startswith("CKPT2")), "a deploy is judged anew with each batch"


def test_a_fingerprint_holds_nothing_else():
    assert fingerprint(DAMAGE) == Fingerprint("CKPT101", "error", "offsets/12")
