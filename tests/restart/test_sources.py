"""Steps of a restart that compare the sources of a deploy with those of the newest entry."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source, count_of_sources
from airflow_provider_ckpt.restart import sources
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from tests.distributions import PAGES, install, on_path
from tests.views import offset_entry, view_of

EVOLUTION = "STREAMING_QUERY_EVOLUTION_ERROR"
ON = {SOURCE_EVOLUTION: "true"}
KAFKA = '{"orders":{"0":1}}'


def entry(version: int, *offsets: str) -> bytes:
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})
    return "\n".join([f"v{version}", metadata, *offsets]).encode()


def batches(*entries: bytes) -> CheckpointView:
    return view_of(**{f"offsets/{batch}": data for batch, data in enumerate(entries)})


def kinds(*names: str, **named: str | None) -> DeploySpec:
    """A deploy with sources of which the type is not known, and with others of which it is."""
    declared = [Source(name) for name in names] + [Source(*item) for item in named.items()]
    return DeploySpec(sources=tuple(declared))


def found(step, view: CheckpointView, deploy: DeploySpec) -> list[tuple[str, str, str | None]]:
    """Code, severity and Spark's error of each finding."""
    return [(item.code, item.severity, item.spark_error) for item in step(view, deploy)]


# --- names ----------------------------------------------------------------------------------------------------------

UNNAMED = f"{EVOLUTION}.UNNAMED_STREAMING_SOURCES_WITH_ENFORCEMENT"
UNSUPPORTED = f"{EVOLUTION}.SOURCE_NAMING_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("deploy", "error"),
    [
        (replace(kinds("a", "b"), confs=ON), None),
        (replace(kinds("a", "1a"), confs=ON), None),
        (replace(kinds("a", "1"), confs=ON), UNNAMED),
        (kinds("a", "1"), UNSUPPORTED),
        (kinds("0", "1"), None),
        (replace(kinds("a", "a-b"), confs=ON), "INVALID_STREAMING_SOURCE_NAME"),
        (kinds("é"), "INVALID_STREAMING_SOURCE_NAME"),
        (replace(DeploySpec(sources=count_of_sources(2)), confs=ON), None),
        (DeploySpec(confs=ON), None),
    ],
)
def test_every_source_has_a_name_or_none_has(deploy, error):
    assert found(sources.names, view_of(), deploy) == ([] if error is None else [("CKPT214", "error", error)])


@pytest.mark.parametrize(
    ("view", "confs", "stops"),
    [
        (batches(entry(1, "1")), ON, True),
        (batches(entry(1, "1")), {}, False),
        (batches(entry(2, "a:1")), ON, False),
        (view_of(), ON, False),
    ],
)
def test_source_evolution_is_for_a_new_checkpoint(view, confs, stops):
    error = f"{EVOLUTION}.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT"
    expected = [("CKPT213", "error", error)] if stops else []
    assert found(sources.source_evolution, view, DeploySpec(confs=confs)) == expected


@pytest.mark.parametrize("value", ["true", "TRUE", " True "])
def test_a_conf_is_true_in_whatever_case_as_spark_reads_it(value):
    deploy = DeploySpec(confs={sources.SOURCE_EVOLUTION: value})
    assert [code for code, _, _ in found(sources.source_evolution, batches(entry(1, "1")), deploy)] == ["CKPT213"]


@pytest.mark.parametrize("version", [(3, 5), (4, 1)])
def test_a_spark_that_does_not_know_the_conf_does_not_stop_at_it(version):
    deploy = DeploySpec(declared_version=version, confs=ON)
    assert found(sources.source_evolution, batches(entry(1, "1")), deploy) == []


def test_spark_counts_the_sources_before_it_asks_for_names():
    deploy = DeploySpec(sources=count_of_sources(3), confs=ON)
    view = batches(entry(1, "1", "2"))
    assert found(sources.source_evolution, view, deploy) == [("CKPT213", "error", None)]
    assert found(sources.newest_sources, view, deploy) == [OTHER_COUNT]


# --- the newest entry -----------------------------------------------------------------------------------------------

OTHER_COUNT = ("CKPT210", "error", "AssertionError")
DROPPED = ("CKPT210", "warning", None)
ADDED = ("CKPT211", "error", None)


@pytest.mark.parametrize(
    ("view", "deploy", "expected"),
    [
        (batches(entry(1, "1", "2")), DeploySpec(sources=count_of_sources(2)), []),
        (batches(entry(1, "1", "2")), DeploySpec(sources=count_of_sources(1)), [OTHER_COUNT]),
        (batches(entry(1, "1")), kinds("0", "1"), [OTHER_COUNT]),
        (batches(entry(1, "1")), DeploySpec(), []),
        (view_of(), kinds("0"), []),
        (batches(entry(2, "a:1", "b:2")), kinds("b", "a"), []),
        (batches(entry(2, "a:1")), DeploySpec(sources=count_of_sources(1)), []),
        (batches(entry(2, "a:1")), DeploySpec(sources=count_of_sources(2)), [DROPPED]),
        (batches(entry(2, "a:1", "b:1")), DeploySpec(sources=count_of_sources(1)), [DROPPED]),
        (batches(entry(2, "a:1")), kinds("a", "b"), [ADDED]),
        (batches(entry(2, "a:1", "b:2")), kinds("a"), [DROPPED]),
        (batches(entry(2, "a:1")), kinds("b"), [ADDED, DROPPED]),
        (batches(entry(2, "a:1", "b:2"), entry(2, "a:3")), kinds("a", "b"), []),
        (batches(entry(2, "a:1")), kinds("0"), [("CKPT214", "error", "AssertionError")]),
        (batches(entry(2, "0:1")), kinds("0"), []),
    ],
)
def test_the_sources_are_those_of_the_newest_entry(view, deploy, expected):
    assert found(sources.newest_sources, view, deploy) == expected


def test_findings_name_the_sources():
    (added,) = sources.newest_sources(batches(entry(2, "a:1")), kinds("a", "b"))
    assert added.message.startswith("source b is not in the checkpoint")
    assert added.hint.startswith("The checkpoint has a.")
    (dropped,) = sources.newest_sources(batches(entry(2, "a:1", "b:1", "c:1")), kinds("a"))
    assert dropped.message.startswith("the deploy drops the source b, c;")


@pytest.mark.parametrize(
    ("kind", "offset", "error"),
    [
        ("kafka", KAFKA, None),
        ("kafka", "7", "IllegalArgumentException"),
        ("kafka", "{", "IllegalArgumentException"),
        ("file", '{"logOffset":3}', None),
        ("file", "7", None),
        ("file", KAFKA, "MappingException"),
        ("rate", "7", None),
        ("rate", KAFKA, "NumberFormatException"),
        ("rate", "7 ", "NumberFormatException"),
        ("rate-micro-batch", KAFKA, "MappingException"),
        ("rate-micro-batch", "{", "JsonEOFException"),
        ("delta", KAFKA, "DELTA_INVALID_SOURCE_VERSION"),
        ("delta", "7", "MismatchedInputException"),
        ("iceberg", KAFKA, "IllegalArgumentException"),
        ("a.Provider", KAFKA, None),
        (None, KAFKA, None),
        ("kafka", "-", None),
    ],
)
def test_an_offset_is_of_the_type_of_its_source(kind, offset, error):
    deploy = kinds(**{"0": kind})
    expected = [] if error is None else [("CKPT212", "error", error)]
    assert found(sources.newest_sources, batches(entry(1, offset)), deploy) == expected
    named = found(sources.newest_sources, batches(entry(2, *([] if offset == "-" else [f"a:{offset}"]))), kinds(a=kind))
    assert [item for item in named if item[0] == "CKPT212"] == expected


def test_offsets_of_a_continuous_query_are_not_judged():
    assert found(sources.newest_sources, batches(b"v1\n\n7"), kinds(**{"0": "kafka"})) == []


# --- their own logs -------------------------------------------------------------------------------------------------


def test_the_logs_are_read_before_anything_is_compared():
    torn = {"offsets/1": offset_entry(3), "sources/0/0": b"v1"}
    view = view_of(**{"offsets/0": offset_entry(4)}, **torn)
    assert [code for code, *_ in found(sources.source_logs, view, DeploySpec())] == ["CKPT127"]
    compared = [item for item in sources.source_findings(view, DeploySpec()) if item.code in sources.COMPARED]
    assert [item.code for item in compared] == ["CKPT126", "CKPT123"]


@pytest.mark.parametrize(("names", "codes"), [(("a",), []), (("a", "b"), ["CKPT123"])])
def test_of_an_entry_of_version_2_the_sources_of_the_deploy_alone_are_read(names, codes):
    view = batches(entry(2, "a:1"), entry(2, "a:1", 'b:{"logOffset":3}'))
    assert [item.code for item in sources.source_findings(view, kinds(*names))] == codes


def test_what_is_in_the_way_of_the_next_entries():
    files = {"offsets/1": offset_entry(0), "commits/1": b"v1\n{}"}
    view = view_of("offsets/0", "sources/0/0", "sources/0/.2.crc", **files)
    view = replace(view, folders=("sources/0/1",))
    assert [code for code, *_ in found(sources.next_entries, view, DeploySpec())] == ["CKPT115", "CKPT120"]


# --- types that packages register -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "kind", "said"),
    [
        ({"acme-pages": "acme_pages:KIND"}, "acme-pages", []),
        ({"acme-pages": "no_such:KIND"}, "kafka", []),
        ({"acme-pages": "no_such:KIND"}, "acme-pages", ["the source type acme-pages of acme-ckpt 1.2 cannot be used"]),
        ({"kafka": "acme_pages:KIND"}, "kafka", ["acme-ckpt 1.2 registers the source type 'kafka', which is not used"]),
        ({"kafka": "acme_pages:KIND"}, None, []),
    ],
)
def test_a_registered_type_that_cannot_be_used_is_a_warning(points, kind, said, tmp_path):
    view = batches(entry(1, '{"page":5}'))
    with on_path(install(tmp_path, "acme-ckpt", points, acme_pages=PAGES)):
        findings = list(sources.registered_types(view, kinds(**{"0": kind})))
    assert [finding.message[: len(text)] for finding, text in zip(findings, said, strict=True)] == said
    assert {(finding.code, finding.severity, finding.spark_error) for finding in findings} <= {
        ("CKPT215", "warning", None)
    }


def test_what_a_registered_type_does_not_read_stops_no_gate(tmp_path):
    with on_path(install(tmp_path, "acme-ckpt", {"acme-pages": "acme_pages:KIND"}, acme_pages=PAGES)):
        assert found(sources.newest_sources, batches(entry(1, '{"page":5}')), kinds(**{"0": "acme-pages"})) == []
        odd = found(sources.newest_sources, batches(entry(1, '{"line":5}')), kinds(**{"0": "acme-pages"}))
    assert odd == [("CKPT212", "warning", None)]
