"""The text for Prometheus: every line in its place, and labels that cannot break out of their quotes."""

from __future__ import annotations

import re

from airflow_provider_ckpt.positions.lag import PartitionLag, SourceLag
from airflow_provider_ckpt.report.openmetrics import lag_metrics

NAME, VALUE = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"-?\d+(?:\.\d+)?"
LABEL = rf'{NAME}="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})\{{{LABEL}(?:,{LABEL})*\}} ({VALUE})")
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)")


def document(location: str, *sources: SourceLag) -> dict:
    return {
        "format_version": 1,
        "location": location,
        "query_id": None,
        "latest_committed_batch": 7,
        "planned_at_ms": 1_500,
        "sources": [source.to_dict() for source in sources],
    }


KAFKA = SourceLag("0", "kafka", "offsets", 12, (PartitionLag("t", 3, 8, 20, 12, 0, 1_250, 9_000),), age_ms=1_250)
DELTA = SourceLag("1", "delta", "versions", 2, files=5, size=900, age_ms=60_000)
FILES = SourceLag("2", "file", "files", 4, files=4, size=40)
UNKNOWN = SourceLag("3", None, notes=("it was not declared",))


def test_families_have_a_type_a_unit_and_a_help_before_their_samples_and_the_text_its_end():
    text = lag_metrics(document("/lake", KAFKA, DELTA, FILES, UNKNOWN))
    *lines, end, nothing = text.split("\n")
    assert (end, nothing) == ("# EOF", "")
    families: dict[str, list[str]] = {}
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
    for kinds in families.values():
        assert kinds in (["TYPE", "UNIT", "HELP"], ["TYPE", "HELP"])


def test_the_values_are_there_and_what_is_not_known_is_left_out():
    text = lag_metrics(document("/lake", KAFKA, DELTA, FILES, UNKNOWN))
    for line in (
        'ckpt_committed_batch{checkpoint="/lake"} 7',
        'ckpt_position_timestamp_seconds{checkpoint="/lake"} 1.5',
        'ckpt_source_lag_offsets{checkpoint="/lake",source="0"} 12',
        'ckpt_partition_lag_offsets{checkpoint="/lake",source="0",topic="t",partition="3"} 12',
        'ckpt_partition_lag_seconds{checkpoint="/lake",source="0",topic="t",partition="3"} 1.25',
        'ckpt_source_expires_seconds{checkpoint="/lake",source="0"} 9',
        'ckpt_source_lag_versions{checkpoint="/lake",source="1"} 2',
        'ckpt_source_lag_files{checkpoint="/lake",source="2"} 4',
        'ckpt_source_lag_bytes{checkpoint="/lake",source="1"} 900',
        'ckpt_source_lag_seconds{checkpoint="/lake",source="1"} 60',
    ):
        assert line in text.splitlines()
    assert 'source="3"' not in text
    assert "snapshots" not in text


def test_a_label_is_escaped():
    text = lag_metrics(document('/la"ke\\\n# EOF'))
    assert r'ckpt_committed_batch{checkpoint="/la\"ke\\\n# EOF"} 7' in text.splitlines()
    assert text.count("\n# EOF") == 1
