"""What real Spark 3.5 and 4.3 printed is explained: each recorded log and traceback by its page and its cause."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE, SHUFFLE_PARTITIONS
from airflow_provider_ckpt.explain.explain import MOST_OF_ONE, MOST_UNKNOWN, explain, explain_condition
from airflow_provider_ckpt.explain.judge_cause import judge_causes
from airflow_provider_ckpt.explain.read_index import read_index
from airflow_provider_ckpt.storage.store import Store
from tests.explain.traces import TRACED, TRACES
from tests.oracle.corpus import CASES
from tests.oracle.prepared import prepare

RECORDED = sorted(path for path in TRACES.glob("*/*") if path.suffix in (".log", ".traceback"))
NUMBERS: dict[str, int | str] = {page.name: page.number for page in read_index().pages}
#: Number of the symptom that a case is; where it has no page, the beginning of the catalogue's example.
EXPECTED: dict[str, int | str] = {
    "sources-changed": 1,
    "source-evolution-switched-on": 2,
    "predecessor-missing": 4,
    "predecessor-missing-uncommitted": 4,
    "async-progress-switched-off": 4,
    "source-log-short": 4,
    "source-log-hole": 20,
    "incomplete-offset-entry": 5,
    "truncated-offset-entry": 5,
    "commit-ahead": 6,
    "checksum-left": 6,
    "directory-in-the-way": 6,
    "state-delta-missing": 7,
    "state-missing": 7,
    "commit-without-state-ids": 7,
    "value-schema": 8,
    "key-schema": 8,
    "operators-changed": 8,
    "metadata-missing": 25,
    "later-log-version": 27,
    "malformed-log": 5,
    "query-id": 25,
    "other-source-type": "Did not find value",
    "sink-log-hole": 11,
    "unfinished-repartition": 10,
}


def test_every_recorded_case_is_expected():
    assert set(EXPECTED) == set(TRACED)
    assert {path.stem for path in RECORDED} == set(EXPECTED)
    assert {path.parent.name for path in RECORDED} == {"3.5", "4.3"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_text(path):
    with path.open() as file:
        explained = explain(file)
    (title, *others) = {NUMBERS.get(item.page or "", item.title) for item in explained.explanations if item.cause}
    expected = EXPECTED[path.stem]
    assert title == expected if isinstance(expected, int) else expected in str(title)
    assert others == []
    assert explained.unknown == ()


@pytest.mark.parametrize("case", ["predecessor-missing", "source-log-short"])
def test_the_log_tells_one_text_with_two_causes_apart(case):
    lines = (TRACES / "4.3" / f"{case}.log").read_text().splitlines()
    if case == "predecessor-missing":
        lines = lines[1:]  # Spark says it in words before, without a stack trace
    headings = [item.cause.heading for item in explain(lines).explanations if item.cause]
    assert len(headings) == 1
    assert ("file source" in headings[0]) == (case == "source-log-short")


@pytest.mark.parametrize(
    ("case", "result", "codes"),
    [
        ("predecessor-missing", "confirmed", {"CKPT110"}),
        ("source-log-short", "confirmed", {"CKPT123"}),
        ("commit-ahead", "confirmed", {"CKPT112"}),
        ("checksum-left", "confirmed", {"CKPT120"}),
        ("directory-in-the-way", "confirmed", {"CKPT115"}),
        ("sources-changed", "confirmed", {"CKPT210"}),
        ("source-evolution-switched-on", "confirmed", {"CKPT213"}),
        ("async-progress-switched-off", "confirmed", {"CKPT110", "CKPT231"}),
        ("state-delta-missing", "confirmed", {"CKPT130"}),
        ("incomplete-offset-entry", "confirmed", {"CKPT101"}),
        ("metadata-missing", "confirmed", {"CKPT104"}),
    ],
)
def test_the_checkpoint_shows_the_cause(case, result, codes, tmp_path):
    """Of several causes of a text the one that its files have, and no other."""
    checkpoint = prepare(CASES[TRACED[case]], tmp_path)
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    lines = next(TRACES.glob(f"4.3/{case}.*")).read_text().splitlines()
    found = explain(lines, Store.open(str(checkpoint))).explanations
    assert [item.evidence.result for item in found if item.evidence] == [result] * len(found)
    assert {finding.code for item in found if item.evidence for finding in item.evidence.findings} <= codes
    assert all(command.startswith("ckpt ") for item in found for command in item.commands)
    assert {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()} == before


def test_a_checkpoint_that_is_whole_contradicts_the_cause(tmp_path):
    checkpoint = prepare(CASES["file"], tmp_path)
    found = explain(["[MALFORMED_LOG_FILE] Log file was malformed"], Store.open(str(checkpoint)))
    (item,) = found.explanations
    assert item.evidence is not None and item.evidence.result == "contradicted"


def test_several_failures_of_one_log_are_explained_each_once():
    log = [line for name in ("source-log-short", "commit-ahead", "source-log-short") for line in lines_of(name)]
    explained = explain(log)
    assert {item.match.page.number: item.met.times for item in explained.explanations if item.match.page} == {
        4: 2,
        6: 1,
    }
    assert explained.explanations[0].match.page is not None
    assert explained.explanations[0].match.page.number == 4  # it came first


def lines_of(case: str) -> list[str]:
    return (TRACES / "4.3" / f"{case}.log").read_text().splitlines()


def test_the_location_that_a_log_names_is_suggested():
    start = "26/11/23 02:00:00 INFO MicroBatchExecution: Starting [id = a, runId = b]. Use s3://lake/ck to store the query checkpoint."
    assert explain([start, *lines_of("source-log-short")]).location == "s3://lake/ck"
    assert explain(lines_of("incomplete-offset-entry")).location == "/data/case/checkpoint"
    assert explain(lines_of("source-log-short")).location is None


def test_a_condition_by_its_name():
    (item, *_) = explain_condition("CONCURRENT_STREAM_LOG_UPDATE").explanations
    assert item.match.page is not None and item.match.page.number == 6
    assert explain_condition("NO_SUCH_CONDITION").explanations == ()


def test_unknown_exceptions_are_counted_and_not_guessed():
    log = [f"java.lang.OutOfMemoryError: heap {number}\n\tat a.B.c(D.java:1)\n" for number in range(MOST_UNKNOWN + 5)]
    lines = [line for text in (*log, log[0]) for line in text.splitlines()]
    explained = explain(lines)
    assert explained.explanations == ()
    assert len(explained.unknown) == MOST_UNKNOWN
    assert (explained.unknown[0].met.times, explained.unknown[0].met.last_line) == (2, len(lines) - 1)


def test_what_a_long_log_leaves_behind_has_a_bound():
    lines = (f"26/11/23 02:00:00 WARN Foo: {'x' * number}" for number in repeat(7, 5_000))
    assert explain(lines).explanations == ()


def test_no_file_is_written_beside_a_log(tmp_path):
    log = Path(tmp_path, "driver.log")
    log.write_text("\n".join(lines_of("commit-ahead")))
    with log.open() as file:
        explain(file)
    assert [path.name for path in tmp_path.iterdir()] == ["driver.log"]


SOURCE_LOG = "".join(
    f"\tat org.apache.spark.sql.execution.streaming.{frame}(F.scala:1)\n"
    for frame in (
        "HDFSMetadataLog$.verifyBatchIds",
        "FileStreamSource.getBatch",
        "MicroBatchExecution.populateStartOffsets",
    )
)
STOPPED = "java.lang.IllegalStateException: batch 4 doesn't exist\n" + SOURCE_LOG
WANTED = "There are [1] sources in the checkpoint offsets and now there are [2] sources requested by the query."


@pytest.mark.parametrize(
    ("text", "number", "times"),
    [
        (
            f"24/05/01 12:00:00 ERROR MicroBatchExecution: [queryId = abc] [batchId = 7] Query orders terminated\n{STOPPED}",
            4,
            1,
        ),
        (
            f"LogType:stderr\nLog Contents:\n26/11/23 02:14:23 ERROR ApplicationMaster: User class threw: x\n{STOPPED}",
            4,
            1,
        ),
        (
            "Traceback (most recent call last):\n"
            "pyspark.errors.exceptions.connect.StreamingQueryException: [STREAM_FAILED] Query [id = 1] terminated with "
            f"exception: assertion failed: {WANTED} Cannot continue. SQLSTATE: XXKST\n\nJVM stacktrace:\n"
            "org.apache.spark.sql.streaming.StreamingQueryException\n\tat org.apache.spark.sql.X.y(X.scala:3)\n"
            f"Caused by: java.lang.AssertionError: assertion failed: {WANTED}\n\tat scala.Predef$.assert(Predef.scala:279)",
            1,
            2,
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Lost task 3.3 in stage 8.0: "
            "org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred.\n"
            "\tat org.apache.spark.sql.B.c(B.scala:3)\nCaused by: java.io.IOException: x\n\nDriver stacktrace:\n\tat org.x.Y.z(Y.scala:1)",
            7,
            1,
        ),
    ],
    ids=["databricks", "yarn", "connect", "task"],
)
def test_other_forms_of_logs(text, number, times):
    items = explain(text.splitlines(keepends=True)).explanations
    assert {(NUMBERS[item.page or ""], item.met.times) for item in items} == {(number, times)}


@given(
    st.lists(
        st.sampled_from(
            [*STOPPED.splitlines(), WANTED, "", "26/11/23 02:14:23 INFO A: b", "{", "[A_B]", "\x1b[0m", ": x"]
        )
    )
)
def test_whatever_is_cut_and_mixed_is_read(lines):
    for item in explain(lines).explanations:
        assert 1 <= item.met.line <= item.met.last_line <= len(lines)
        assert all(item.commands)


OF_PY4J = (
    "Traceback (most recent call last):\n"
    "py4j.protocol.Py4JJavaError: An error occurred while calling o70.awaitTermination.\n"
    f": org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] {WANTED}\n"
    "\tat org.apache.spark.sql.streaming.X.y(X.scala:3)\n"
    f"Caused by: java.lang.AssertionError: assertion failed: {WANTED}\n\tat scala.Predef$.assert(Predef.scala:279)"
)


def test_what_py4j_prints_is_one_exception():
    explained = explain(OF_PY4J.splitlines())
    told = {(NUMBERS[item.page or ""], item.met.line) for item in explained.explanations}
    assert (told, explained.unknown) == ({(1, 2)}, ())
    unknown = explain(
        [": ".join(["py4j.protocol.Py4JJavaError", "An error occurred"]), ": java.lang.Foo: heap", GET_BATCH]
    )
    assert [(item.message, item.met.line) for item in unknown.unknown] == [("Foo: heap", 1)]


@pytest.mark.parametrize("before", ["", "Hello,\nour query stops with\n", "\n\n"])
def test_the_line_of_a_message_is_the_one_that_is_known(before):
    found = explain(f"{before}batch 3 doesn't exist\nWhat shall we do?".splitlines()).explanations
    assert {item.met.line for item in found} == {before.count("\n") + 1}


@pytest.mark.parametrize("part", ["key", "value"])
def test_the_schemas_that_do_not_fit_are_facts(part):
    with (TRACES.parent.parent / "data/symptoms/4.3" / f"08-{part}.log").open() as log:
        (item,) = explain(log).explanations
    field = {"key": "StructField(key,StringType,true)", "value": "StructField(sum,LongType,true)"}[part]
    assert (item.facts["part"], item.facts["existing"]) == (part, f"StructType({field})")
    assert item.facts["new"].startswith("StructType(") and item.facts["new"].endswith(")")


GET_BATCH = "\tat org.apache.spark.sql.execution.streaming.FileStreamSource.getBatch(F.scala:3)"
START_OFFSETS = "\tat org.apache.spark.sql.execution.streaming.MicroBatchExecution.populateStartOffsets(M.scala:3)"
CONCURRENT = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"java.lang.IllegalStateException: batch 3 doesn't exist\n{START_OFFSETS}\n"
            f"java.lang.IllegalStateException: batch 7 doesn't exist\n{GET_BATCH}",
            [(4, "3", 1, 1), (4, "7", 3, 1)],
        ),
        (
            f"java.lang.IllegalStateException: batch 3 doesn't exist\n{START_OFFSETS}\n" * 2,
            [(4, "3", 1, 2)],
        ),
        (
            f"{CONCURRENT} 9.\njava.lang.IllegalStateException: batch 3 doesn't exist\n{GET_BATCH}",
            [(6, "9", 1, 1), (4, "3", 2, 1)],
        ),
        (
            f"batch 3 doesn't exist\n\nbatch 9 doesn't exist\n{CONCURRENT} 4.",
            [(4, "3", 1, 1), (4, "9", 3, 1), (6, "4", 4, 1)],
        ),
        (
            "26/11/23 02:00:00 WARN FileStreamSinkLog: Compacting took 9000 ms for compact batch 9\n"
            "26/11/23 03:00:00 WARN FileStreamSinkLog: Compacting took 9000 ms for compact batch 19",
            [(13, "9", 1, 2)],
        ),
    ],
    ids=["other batch", "same batch", "exception below a message", "messages", "warnings"],
)
def test_failures_with_other_facts_are_explained_each(text, expected):
    found = {
        (NUMBERS[i.page or ""], i.facts["batch"], i.met.line, i.met.times): i
        for i in explain(text.splitlines()).explanations
    }
    assert list(found) == expected


def test_each_of_two_failures_has_its_own_cause():
    text = (
        f"java.lang.IllegalStateException: batch 3 doesn't exist\n{START_OFFSETS}\n"
        f"java.lang.IllegalStateException: batch 7 doesn't exist\n{GET_BATCH}"
    )
    causes = [
        (item.facts["batch"], item.cause and item.cause.frames[0]) for item in explain(text.splitlines()).explanations
    ]
    assert causes == [("3", "MicroBatchExecution.populateStartOffsets"), ("7", "FileStreamSource.getBatch")]


def test_failures_without_an_end_are_counted_in_the_last():
    lines = [f"java.lang.IllegalStateException: batch {number} doesn't exist\n{GET_BATCH}" for number in range(50)]
    found = explain("\n".join(lines).splitlines()).explanations
    assert len(found) == MOST_OF_ONE
    assert sum(item.met.times for item in found) == len(lines)


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred during loading state of the UI component",
        "The directory /home/united states/reports does not exist",
        "Cannot find latest snapshot of EBS volume",
        "java.io.FileNotFoundException: File /home/x/app/state/1/2/foo.json does not exist",
        "com.acme.ShipException: order batch 3 doesn't exist\n\tat com.acme.Foo.bar(Foo.java:1)",
        "The file or folder /etc/app/config.yml does not exist\n\tat com.acme.Foo",
        "Cannot change something to other between restarts",
        "org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Offsets out of range with no configured reset "
        "policy for partitions: {orders-0=3}\n\tat org.apache.kafka.clients.consumer.internals.Fetcher.x(F.java:1)\n"
        "\tat org.apache.flink.streaming.Foo",
        "please restart the consumer from the latest offset",
        "Lifecycle rule for checkpoint bucket was created",
        "Updating the value of conf 'spark.sql.ansi.enabled' in current session from 'true' to 'false'.",
    ],
)
def test_what_others_say_in_like_words_is_not_known(text):
    assert explain(text.splitlines()).explanations == ()


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (
            "java.lang.IllegalStateException: file:/data/ck/sources/0/9.compact doesn't exist when compacting batch 19 "
            "(compactInterval: 10)\n\tat org.apache.spark.sql.execution.streaming.FileStreamSourceLog.x(F.scala:1)",
            "files-deleted-by-age",
        ),
        (
            "java.lang.IllegalStateException: file:/data/out/_spark_metadata/9.compact doesn't exist when compacting "
            "batch 19 (compactInterval: 10)",
            "batch-metadata-not-found",
        ),
        (
            "Updating the value of conf 'spark.sql.shuffle.partitions' in current session from '4' to '2'.",
            "shuffle-partitions-ignored",
        ),
    ],
    ids=["source log", "sink log", "partitions"],
)
def test_like_words_of_spark_have_their_own_page(text, page):
    assert {item.page for item in explain(text.splitlines()).explanations} == {page}


@pytest.mark.parametrize("conf", [conf.key for conf in CATALOGUE])
def test_a_once_only_conf_whose_value_is_ignored(conf):
    (item,) = explain([f"Updating the value of conf '{conf}' in current session from '7' to '8'."]).explanations
    if conf == SHUFFLE_PARTITIONS:
        assert item.page == "shuffle-partitions-ignored"
    else:
        assert item.page is None and "Spark ignores the new value of this conf" in item.cause_text


def test_an_empty_line_is_told_from_another_number_of_sources(golden):
    checkpoint = golden("file-to-parquet-5")
    text = ["assertion failed: There are [2] sources in the checkpoint offsets and now there are [1] sources requested"]
    assert len(explain(text).explanations) == 2
    entry = checkpoint / "offsets/4"
    entry.write_bytes(entry.read_bytes() + b"\n\n")
    (item,) = judge_causes(explain(text).explanations, Store.open(str(checkpoint)))
    assert item.cause is not None and item.cause.rules == ("CKPT107",)


def test_a_stray_copy_of_an_entry_is_told_from_a_gap_of_async_progress_tracking(golden):
    checkpoint = golden("file-to-parquet-5")
    (checkpoint / "offsets/6").write_bytes((checkpoint / "offsets/3").read_bytes())
    text = ["IllegalArgumentException: requirement failed: Previous batch 5 not found in offset log"]
    (item,) = judge_causes(explain(text).explanations, Store.open(str(checkpoint)))
    assert item.evidence is not None and item.evidence.result == "confirmed"
    assert [finding.code for finding in item.evidence.findings] == ["CKPT146"]
