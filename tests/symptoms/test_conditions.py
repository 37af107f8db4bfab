"""The catalogue against the Spark that is installed, its Kafka connector, and what the oracle has met.

Which conditions a checkpoint or a deploy can raise is written down here: all of the families below, but those that are
listed as being about something else. A condition that a later Spark adds to a family is seen.
"""

from __future__ import annotations

import json
import re

import pytest

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.symptoms.explain import explain, explain_condition
from airflow_provider_ckpt.symptoms.failure import Failure, Thrown
from airflow_provider_ckpt.symptoms.read_index import read_index
from tests.package import PACKAGE
from tests.symptoms.facts import filled
from tests.symptoms.slow_patterns import too_slow
from tests.symptoms.spark_catalogue import names_in, spark_names

INDEX = read_index()
#: Conditions that begin like this are about a checkpoint, its state, a log or a restart.
ABOUT = re.compile(
    r"BATCH_METADATA|CANNOT_LOAD_(?:STATE_STORE|CHECKPOINT)|CANNOT_WRITE_STATE|CHECKPOINT_FILE|CONCURRENT_STREAM"
    r"|INVALID_LOG_VERSION|INVALID_STREAMING_REAL|MALFORMED_(?:LOG|STATE)|STATE_(?:REPARTITION|REWRITER|STORE)_|STDS_"
    r"|STREAMING_(?:ASYNC|CHECKPOINT|QUERY_EVOLUTION|REAL_TIME|STATEFUL|UNFINISHED)|STREAM_STREAM_JOIN_INCO"
    r"|UNSUPPORTED_FEATURE\.(?:STATE_STORE|STORE_BACKEND)|INVALID_CONF_VALUE|TRANSFORM_WITH_STATE_SCHEMA"
    r"|_LEGACY_ERROR_TEMP_(?:1298|1299|2200|2207|2263)$"
)
#: Of these families, what the code of a query does wrong, whatever its checkpoint.
NOT_ABOUT = {
    "STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS",
    "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME",
    "STATE_STORE_HANDLE_NOT_INITIALIZED",
    "STATE_STORE_INCORRECT_NUM_ORDERING_COLS_FOR_RANGE_SCAN",
    "STATE_STORE_INCORRECT_NUM_PREFIX_COLS_FOR_PREFIX_SCAN",
    "STATE_STORE_NULL_TYPE_ORDERING_COLS_NOT_SUPPORTED",
    "STATE_STORE_VARIABLE_SIZE_ORDERING_COLS_NOT_SUPPORTED",
}
#: What the issue counted in Spark 4.3 at least.
AT_LEAST = 102
DELTA = [
    "DELTA_CONCURRENT_TRANSACTION",
    "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
    "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    "DELTA_METADATA_MISMATCH",
    "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE",
    "DELTA_SCHEMA_CHANGED",
    "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS",
    "DELTA_SCHEMA_CHANGED_WITH_VERSION",
    "DELTA_SOURCE_IGNORE_DELETE",
    "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
    "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
    "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT",
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
    "DELTA_STREAMING_INITIAL_SNAPSHOT_TOO_LARGE",
    "DELTA_STREAMING_METADATA_EVOLUTION",
    "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT",
    "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT",
    "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED",
    "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID",
    "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_PARTITION_SCHEMA",
    "DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA",
    "DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED",
    "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART",
    "DELTA_STREAMING_TRAILING_COMMIT_MISSING",
    "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
]
KAFKA = [
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW",
    "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED",
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED",
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT",
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
    "KAFKA_DATA_LOSS.START_OFFSET_RESET",
    "KAFKA_MALFORMED_RECORD_TIMESTAMP",
    "KAFKA_NULL_TOPIC_IN_DATA",
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
    "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
    "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
    "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET",
    "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
    "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
]
ORACLE = PACKAGE.parent / "tests/oracle"


def about() -> list[str]:
    return [name for name in spark_names() or sorted(INDEX.others) if ABOUT.match(name) and name not in NOT_ABOUT]


def is_explained(name: str) -> bool:
    return any(item.cause is not None for item in explain_condition(name).explanations)


def test_every_condition_that_a_checkpoint_can_raise_is_explained():
    names = about()
    explained = [name for name in names if is_explained(name)]
    print(f"{len(explained)} of {len(names)} conditions of Spark that a checkpoint or a deploy can raise are explained")
    assert set(names) - set(explained) == set()
    assert len(names) >= AT_LEAST


@pytest.mark.parametrize("names", [KAFKA, DELTA], ids=["kafka", "delta"])
def test_the_conditions_of_connectors_are_explained(names):
    print(f"{len(names)} conditions")
    assert [name for name in names if not is_explained(name)] == []


def test_the_conditions_of_kafka_are_those_of_its_connector():
    """Where ``make`` has fetched it."""
    jars = sorted((PACKAGE.parent / ".kafka-connector").glob("spark-sql-kafka-*.jar"))
    for jar in jars[:1]:
        assert sorted(names_in(jar, "error/kafka-error-conditions.json")) == sorted(KAFKA)


def test_the_names_of_the_other_conditions_are_those_of_the_newest_spark():
    """Written by ``python -m tests.symptoms.record_conditions``."""
    new = [name for name in spark_names() if name not in INDEX.others]
    assert new == [], "run python -m tests.symptoms.record_conditions with the newest Spark"


def test_what_is_explained_is_still_a_condition_of_something():
    """One that vanished from Spark is seen; earlier versions and other systems are listed."""
    known = {*INDEX.others, *KAFKA, *DELTA, *(name.partition(".")[0] for name in (*INDEX.others, *KAFKA))}
    earlier = {"BATCH_METADATA_FILE_NOT_FOUND", "DELTA_STREAMING_SCHEMA_EVOLUTION"}
    said = {name for entry in INDEX.entries for name in entry.conditions}
    said |= {name for page in INDEX.pages for name in page.conditions}
    said |= {name for page in INDEX.pages for cause in page.causes for name in cause.conditions}
    assert said - known - earlier == set()


def test_a_condition_is_in_one_entry_or_on_one_page():
    names = [name for entry in INDEX.entries for name in entry.conditions]
    names += {name for page in INDEX.pages for name in page.conditions}
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("entry", INDEX.entries, ids=lambda entry: entry.title[:60])
def test_an_entry_is_whole(entry):
    assert [code for code in entry.cause.rules if code not in RULES] == []
    assert {text.pattern: too_slow(text.pattern) for text in entry.texts if too_slow(text.pattern)} == {}
    for text in entry.texts:
        assert any(text.search(example) for example in entry.examples), text.pattern
    for example in entry.examples:
        found = INDEX.match(Failure([Thrown(None, [example])], 1))
        assert found is not None and (found.entry is entry or (found.page and found.page.name == entry.page)), example
    assert 20 < len(entry.cause.text) < 500
    assert entry.cause.text.endswith(".") and entry.repair.endswith(".")
    filled(entry.cause.commands, entry.texts, entry.examples)


def met_by_the_oracle() -> dict[str, tuple[str | None, str]]:
    """Each kind of error that real Spark 3.5 to 4.3 stopped with: its condition or exception, and its message."""
    found = {}
    for file in (*ORACLE.glob("outcomes-*.json"), ORACLE / "sweep-4.3.json"):
        for outcome in json.loads(file.read_text()).values():
            if isinstance(outcome, dict) and outcome.get("error"):
                error, message = outcome["error"], outcome.get("message") or ""
                found.setdefault(f"{error}: {re.sub(r'[0-9a-f-]*[0-9]+', 'N', message)}"[:90], (error, message))
    return found


#: What no text tells: the exception of a damaged file or a bug of Spark, without a message of its own.
UNTOLD = re.compile(r"EOFException|AssertionError: assertion failed$|INTERNAL_ERROR|TimeoutException")


def test_what_the_oracle_met_is_explained():
    """Untyped exceptions as well, by their messages alone."""
    met = met_by_the_oracle()
    unknown = []
    for kind, (error, message) in met.items():
        text = f"[{error}] {message}" if "_" in error else f"java.lang.{error}: {message}"
        if not any(item.cause for item in explain([text]).explanations) and not UNTOLD.match(kind):
            unknown.append(kind)
    print(f"{len(met) - len(unknown)} of {len(met)} kinds of errors that the oracle met are explained")
    assert unknown == []
