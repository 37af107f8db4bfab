"""The text for Prometheus: every line in its place, and labels that cannot break out of their quotes."""

from __future__ import annotations

import re

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.report import openmetrics
from airflow_provider_ckpt.report.openmetrics import fleet_metrics, lag_metrics
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag

NAME, VALUE = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"-?\d+(?:\.\d+)?"
LABEL = rf'{NAME}="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} ({VALUE})")
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)")


def row(location: str, *sources: SourceLag, **more: object) -> FleetRow:
    return FleetRow(location, "q1", latest_committed_batch=7, planned_at_ms=1_500, sources=sources, **more)


KAFKA = SourceLag("0", "kafka", "offsets", 12, (PartitionLag("t", 3, 8, 20, 12, 0, 1_250, 9_000),), age_ms=1_250)
DELTA = SourceLag("1", "delta", "versions", 2, files=5, size=900, age_ms=60_000)
FILES = SourceLag("2", "file", "files", 4, files=4, size=40)
UNKNOWN = SourceLag("3", None, notes=("it was not declared",))
FLEET = (
    row("/lake/a", KAFKA, DELTA, findings=(Finding("CKPT250", "error", "gone"), Finding("CKPT113", "warning", "odd"))),
    row("/lake/b", KAFKA, lag_error="the broker did not answer"),
    FleetRow("/lake/c", error="permission denied"),
    FleetRow("/lake/d/0", replaced_by="/lake/d/1"),
)


def samples(text: str) -> dict[tuple[str, str], float]:
    """The samples by name and labels, of a text that is in the form of OpenMetrics."""
    parsed = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    *lines, end, nothing = text.split("\n")
    assert (end, nothing) == ("# EOF", "")
    families: dict[str, list[str]] = {}
    found: dict[tuple[str, str], float] = {}
    current = ""
    for line in lines:
        if meta := META.fullmatch(line):
            if meta[2] != current:
                assert meta[2] not in families, "the lines of a family are together"
                current = meta[2]
            families.setdefault(current, []).append(meta[1])
            if meta[1] == "UNIT":
                assert current.endswith(f"_{meta[3]}")
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            assert sample[1] == current
            assert (sample[1], sample[2]) not in found, "a series has one sample"
            found[sample[1], sample[2]] = float(sample[3])
    for kinds in families.values():
        assert kinds in (["TYPE", "UNIT", "HELP"], ["TYPE", "HELP"])
    assert sorted(parsed.values()) == sorted(found.values()), "Prometheus's own parser reads the same"
    assert len(parsed) == len(found)
    return found


@pytest.mark.parametrize(
    "text", [lag_metrics(row("/lake", KAFKA, DELTA, FILES, UNKNOWN)), fleet_metrics(FLEET), fleet_metrics([])]
)
def test_families_have_a_type_a_unit_and_a_help_before_their_samples_and_the_text_its_end(text):
    samples(text)


def test_the_values_are_there_and_what_is_not_known_is_left_out():
    text = lag_metrics(row("/lake", KAFKA, DELTA, FILES, UNKNOWN))
    whole = 'checkpoint="/lake",query="q1"'
    for line in (
        f"ckpt_committed_batch{{{whole}}} 7",
        f"ckpt_position_timestamp_seconds{{{whole}}} 1.5",
        f'ckpt_source_lag_offsets{{{whole},source="0"}} 12',
        f'ckpt_topic_lag_offsets{{{whole},source="0",topic="t"}} 12',
        f'ckpt_partition_lag_offsets{{{whole},source="0",topic="t",partition="3"}} 12',
        f'ckpt_partition_lag_seconds{{{whole},source="0",topic="t",partition="3"}} 1.25',
        f'ckpt_source_expires_seconds{{{whole},source="0"}} 9',
        f'ckpt_source_partitions{{{whole},source="0"}} 1',
        f'ckpt_source_lag_versions{{{whole},source="1"}} 2',
        f'ckpt_source_lag_files{{{whole},source="2"}} 4',
        f'ckpt_source_lag_bytes{{{whole},source="1"}} 900',
        f'ckpt_source_lag_seconds{{{whole},source="1"}} 60',
    ):
        assert line in text.splitlines()
    assert 'source="3"' not in text
    assert "snapshots" not in text


def test_a_total_of_0_that_is_not_the_end_is_told_from_one_that_is():
    begun = SourceLag("0", "delta", "versions", 0, files=0, size=0, is_partial=True)
    done = SourceLag("1", "delta", "versions", 0, files=0, size=0)
    found = samples(lag_metrics(row("/lake", begun, done, UNKNOWN)))
    partial = {labels[-3:]: value for (name, labels), value in found.items() if name == "ckpt_source_lag_partial"}
    assert partial == {'"0"': 1, '"1"': 0}
    assert sum(name == "ckpt_source_lag_versions" for name, _ in found) == 2


def test_a_fleet_is_one_text_that_says_what_was_found_and_what_could_not_be_read():
    found = samples(fleet_metrics(FLEET))
    readable = {labels: value for (name, labels), value in found.items() if name == "ckpt_checkpoint_readable"}
    assert list(readable.values()) == [1, 0, 0], "a replaced checkpoint is none"
    assert found["ckpt_checkpoint_findings", 'checkpoint="/lake/a",query="q1",severity="error"'] == 1
    assert found["ckpt_checkpoint_findings", 'checkpoint="/lake/a",query="q1",severity="note"'] == 0
    assert found["ckpt_source_lag_offsets", 'checkpoint="/lake/b",query="q1",source="0"'] == 12
    assert not [labels for name, labels in found if "/lake/c" in labels and name != "ckpt_checkpoint_readable"]


def test_how_many_series_there_are_does_not_depend_on_the_lag(monkeypatch):
    monkeypatch.setattr(openmetrics, "MOST_TOPICS", 3)

    def names(unread: int, topics: int, partitions: int) -> dict[str, int]:
        parts = tuple(PartitionLag(f"t{topic}", n, 0, 9, unread) for topic in range(topics) for n in range(partitions))
        found = samples(fleet_metrics([row("/lake", SourceLag("0", "kafka", "offsets", unread, parts))]))
        return {name: sum(other == name for other, _ in found) for name, _ in found}

    few, many = names(9, 2, 50), names(9, 2, 51)
    assert few == names(0, 2, 50)
    assert (few["ckpt_partition_lag_offsets"], few["ckpt_topic_lag_offsets"]) == (100, 2)
    assert "ckpt_partition_lag_offsets" not in many and many["ckpt_topic_lag_offsets"] == 2
    assert "ckpt_topic_lag_offsets" not in names(9, 4, 1)


def test_a_label_is_escaped():
    text = lag_metrics(row('/la"ke\\\n# EOF'))
    assert r'ckpt_committed_batch{checkpoint="/la\"ke\\\n# EOF",query="q1"} 7' in text.splitlines()
    assert text.count("\n# EOF") == 1
