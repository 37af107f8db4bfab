"""What a move or a fork means: for the paths inside a checkpoint, and for each kind of sink."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.relocation import (
    PathRule,
    effect_of_fork,
    effect_of_move,
    parse_path_rule,
    relocate,
    spark_uri,
)
from airflow_provider_ckpt.checkpoint.sink_marker import SinkCommit, SinkMarker
from airflow_provider_ckpt.errors import PlanError

LOG, OPERATOR = "sources/0/0", "state/0/_metadata/v2/0"
SCHEMA = "state/0/_stateSchema/default/0_u"


def log_of(path: str) -> codec.Encodable:
    return codec.decode(LOG, f'v1\n{{"path":"{path}","timestamp":1,"batchId":0}}'.encode())


def operator_of(path: str) -> codec.Encodable:
    store = f'{{"storeName":"default","numColsPrefixKey":0,"numPartitions":2,"stateSchemaFilePaths":["{path}"]}}'
    body = f'{{"operatorInfo":{{"operatorId":0,"operatorName":"x"}},"stateStoreInfo":[{store}],"operatorPropertiesJson":""}}'
    return codec.decode(OPERATOR, f"v2\n{body}".encode())


def moved_input(path: str, *rules: PathRule) -> str | None:
    data = relocate({LOG: log_of(path)}, {LOG}, "/new", rules).rewritten.get(LOG)
    return data.decode().partition('"path":"')[2].partition('"')[0] if data else None


def moved_schema(path: str, location: str, *rules: PathRule) -> str | None:
    data = relocate({OPERATOR: operator_of(path)}, {OPERATOR, SCHEMA}, location, rules).rewritten.get(OPERATOR)
    return data.decode().partition('FilePaths":["')[2].partition('"')[0] if data else None


# --- paths in offsets: never ----------------------------------------------------------------------------------------

AUTO_LOADER = '{"seqNum":5,"sourceVersion":3,"lastInputPath":"abfss://in@lake.dfs.core.windows.net/a b/x.json"}'


def offsets_of(*texts: str) -> codec.Encodable:
    metadata = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
    return codec.decode("offsets/7", "\n".join(["v1", metadata, *texts]).encode())


@pytest.mark.parametrize("old", ["abfss://in@lake.dfs.core.windows.net", "abfs://in@lake.dfs.core.windows.net/a b"])
def test_a_rule_about_files_of_auto_loader_is_refused(old):
    """Its list of files is a database that we do not change; half of it moved would be read anew, or never."""
    with pytest.raises(PlanError, match="source 1 cannot be rewritten") as refused:
        relocate({"offsets/7": offsets_of("-", AUTO_LOADER)}, (), "/new", [PathRule(old, "s3://other")])
    assert refused.value.name == "offsets/7" and "sources/1/rocksdb" in refused.value.message


@pytest.mark.parametrize("rules", [(), (PathRule("abfss://out@lake.dfs.core.windows.net", "/out"),)])
def test_files_of_auto_loader_are_said_to_stay(rules):
    moved = relocate({"offsets/7": offsets_of(AUTO_LOADER)}, (), "/new", rules)
    assert (
        not moved.rewritten
        and "offsets/7: the offset of source 0 contains the path abfss://in@lake" in moved.warnings[0]
    )


@pytest.mark.parametrize("text", ['{"0":{"lastInputPath":3}}', "lastInputPath", '{"lastInputPath":null}', "[" * 9_999 + '"lastInputPath"'])  # fmt: skip
def test_other_offsets_have_no_path(text):
    assert relocate({"offsets/7": offsets_of(text)}, (), "/new", ()).warnings == ()


# --- paths of input files: only by a rule --------------------------------------------------------------------------

INPUTS = {
    "no rule": ("file:///in/a.json", None, None),
    "a plain path is a file": ("file:///in/a.json", "/in=/out", "file:///out/a.json"),
    "a URI in another spelling": ("file:///in/a.json", "file:/in=file:/out", "file:///out/a.json"),
    "to another storage": ("file:///in/a.json", "/in=s3a://bucket/in", "s3a://bucket/in/a.json"),
    "an alias of the scheme": ("s3a://bucket/in/a.json", "s3://bucket/in=s3://other", "s3a://other/a.json"),
    "another bucket": ("s3a://bucket/in/a.json", "s3://buck=s3://other", None),
    "a name that only begins so": ("file:///input/a.json", "/in=/out", None),
    "the file itself": ("file:///in/a.json", "/in/a.json=/in/b.json", "file:///in/b.json"),
    "everything": ("file:///in/a.json", "/=/root", "file:///root/in/a.json"),
    "paths are URL-encoded": ("file:///my%20in/%C3%A4.json", "/my in=/my out", "file:///my%20out/%C3%A4.json"),
    "and rules may be": ("file:///my%20in/a.json", "/my%20in=/my%20out", "file:///my%20out/a.json"),
    "an equals sign in a path": ("file:///in/d=1/a.json", "/in/d=1=/out/d=1", "file:///out/d=1/a.json"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_paths_of_input_files(case):
    path, rule, wanted = INPUTS[case]
    assert moved_input(path, *([parse_path_rule(rule)] if rule else [])) == wanted


def test_the_first_rule_that_matches_wins():
    assert moved_input("file:///in/a", PathRule("/in", "/one"), PathRule("/in", "/two")) == "file:///one/a"


@pytest.mark.parametrize("text", ["", "=", "/in", "/in=", "/in=out", "=/out"])
def test_what_is_no_rule(text):
    with pytest.raises(ValueError, match="FROM=TO"):
        parse_path_rule(text)


# --- paths of schema files: they follow the checkpoint -------------------------------------------------------------

SCHEMAS = {
    "to another directory": (f"file:/old/{SCHEMA}", "/new/place", f"file:/new/place/{SCHEMA}"),
    "a path with a space stays plain": (f"file:/old/{SCHEMA}", "/new place", f"file:/new place/{SCHEMA}"),
    "it stays where it is": (f"file:/new/{SCHEMA}", "/new", None),
    "from a place before the last": (f"file:/older/state/0/x/{SCHEMA}", "/new", f"file:/new/{SCHEMA}"),
    "in the same storage": (f"s3a://b/old/{SCHEMA}", "s3://c/new", f"s3a://c/new/{SCHEMA}"),
    "to another storage": (f"file:/old/{SCHEMA}", "s3://c/new", f"s3a://c/new/{SCHEMA}"),
    "a file that the backup lacks": ("file:/old/state/0/_stateSchema/default/0_other", "/new", None),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_paths_of_schema_files(case):
    path, location, wanted = SCHEMAS[case]
    assert moved_schema(path, location) == wanted


def test_a_rule_goes_before_the_default():
    assert moved_schema(f"file:/old/{SCHEMA}", "/new", PathRule("/old", "/mine")) == f"file:/mine/{SCHEMA}"


def test_the_plan_says_what_becomes_of_paths():
    entries = {LOG: log_of("file:///in/a"), OPERATOR: operator_of(f"file:/old/{SCHEMA}")}
    said = relocate(entries, {*entries, SCHEMA}, "/new", [PathRule("/nowhere", "/x")]).warnings
    assert said == (
        "sources/0: 1 absolute paths are not changed, such as file:///in/a. If the input files are moved too, "
        "give --rewrite-paths FROM=TO.",
        f"state/0: 1 of 1 absolute paths are rewritten, such as file:/old/{SCHEMA} to file:/new/{SCHEMA}.",
        "--rewrite-paths /nowhere=/x matches no path.",
    )


def test_locations_as_spark_spells_them():
    assert [spark_uri(item) for item in ("/a", "file:///a", "s3://b/c", "gcs://b/c", "abfss://c@h/d")] == [
        "file:/a",
        "file:/a",
        "s3a://b/c",
        "gs://b/c",
        "abfss://c@h/d",
    ]


# --- sinks ---------------------------------------------------------------------------------------------------------

AT = 5
COMMITS = tuple(SinkCommit(str(batch), batch, "STREAMING UPDATE") for batch in range(8))


def marker(kind: str, last: int | None) -> SinkMarker:
    return SinkMarker(kind, "/out", "q", last, COMMITS[: last + 1] if last is not None else ())


MOVES = {
    ("file", AT): "exact",
    ("file", AT + 2): "skipped",
    ("delta", AT): "exact",
    ("delta", AT + 2): "skipped",
    ("iceberg", AT + 2): "skipped",
    ("history", AT + 2): "skipped",
    ("delta", None): "unknown",
    ("kafka", None): "duplicated",
    ("foreachBatch", None): "unknown",
    ("noop", None): "exact",
}
FORKS = {
    ("file", AT): "exact",
    ("file", AT + 2): "skipped",
    ("delta", AT): "exact",
    ("delta", AT + 2): "duplicated",
    ("iceberg", AT + 2): "duplicated",
    ("history", AT + 2): "duplicated",
    ("delta", None): "unknown",
    ("kafka", None): "duplicated",
    ("foreachBatch", None): "unknown",
    ("hudi", AT + 2): "skipped",
}


@pytest.mark.parametrize(("kind", "last"), MOVES)
def test_a_moved_query_at_a_sink(kind, last):
    effect = effect_of_move(marker(kind, last), AT)
    assert effect.effect == MOVES[kind, last]
    assert effect.effect == "exact" or effect.remedy


@pytest.mark.parametrize(("kind", "last"), FORKS)
def test_a_fork_at_a_sink(kind, last):
    effect = effect_of_fork(marker(kind, last), AT)
    assert effect.effect == FORKS[kind, last]
    assert effect.effect == "exact" or effect.remedy


@pytest.mark.parametrize("last", [None, AT - 1])
def test_a_file_sink_whose_log_ends_before_the_fork_stops_it_unless_the_restore_begins_the_log(last):
    """Readers and the compaction stop at the entries that are missing; nothing is said of what the original would do."""
    effect = effect_of_fork(marker("file", last), AT)
    assert effect.effect == "stops" and "new, empty directory" in effect.remedy
    begun = effect_of_fork(marker("file", None), AT, begun=True)
    assert (begun.effect, begun.remedy) == ("exact", "")
    assert "drops" not in begun.reason


def test_a_directory_that_is_the_originals_is_a_danger_to_it():
    shared = effect_of_fork(marker("file", AT), AT)
    assert "each query loses the batches that the other one has written" in shared.reason
    assert "If the original query continues to write here, give the fork a new, empty directory" in shared.remedy


def test_a_fork_whose_writer_has_a_name_of_its_own_is_the_same_to_the_table():
    effect = effect_of_fork(marker("delta", AT + 2), AT, own_writer=True)
    assert effect.effect == "skipped" and "give the fork another" in effect.remedy
