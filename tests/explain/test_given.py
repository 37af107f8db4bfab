"""Commands have the sources and the sink that the user has given, and no examples in their place."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.query.source import parse_by_id

OURS = Given(parse_by_id({"0": "kafka:b1:9092/orders", "1": "delta:s3://lake/t"}), "file:s3://lake/out")
RESET = "ckpt reset-offsets /ck --source 0=kafka:HOST:PORT --to-current --sink TYPE[:URI]"


@pytest.mark.parametrize(
    ("given", "command", "expected"),
    [
        (OURS, RESET, "ckpt reset-offsets /ck --source 0=kafka:b1:9092/orders --to-current --sink file:s3://lake/out"),
        (OURS, "ckpt gate /ck --source 0=delta:URI", "ckpt gate /ck --source 1=delta:s3://lake/t"),
        (OURS, "ckpt gate /ck --source 0=iceberg:URI", "ckpt gate /ck --source 0=iceberg:URI"),
        (Given(), RESET, RESET),
        (OURS, "ckpt salvage /ck --sink TYPE[:URI]", "ckpt salvage /ck --sink file:s3://lake/out --trim-sink-log"),
        (
            OURS,
            "ckpt rollback /ck --sink file:URI --trim-sink-log",
            "ckpt rollback /ck --sink file:s3://lake/out --trim-sink-log",
        ),
        (OURS, "ckpt restore ROOT ID --sink TYPE[:URI]", "ckpt restore ROOT ID --sink file:s3://lake/out"),
        (Given(sink="kafka"), "ckpt rollback /ck --sink file:URI --trim-sink-log", "ckpt rollback /ck --sink kafka"),
        (Given(parse_by_id({"0": "kafka:a;id"})), "--source 0=kafka", "--source '0=kafka:a;id'"),
    ],
)
def test_a_command(given, command, expected):
    assert given.in_place(command) == expected


def test_an_example_of_the_runbook_becomes_words_in_capitals():
    text = "ckpt reset-offsets /ck --source 0=kafka:broker:9092/orders --to-current --sink kafka"
    assert (
        Given()
        .in_place(text, examples=True)
        .endswith("--source 0=kafka:HOST:PORT/TOPIC --to-current --sink TYPE[:URI]")
    )
    assert "--sink file:s3://lake/out" in OURS.in_place(text, examples=True)


def test_the_sentence_of_kafka_alone_tells_its_cause():
    for text, heading in {
        "Could not read records in offset [47, 57) for topic partition orders-0": "Unread records were deleted",
        "Partition orders-0's offset was changed from 500 to 300, some data may have been missed.": "The topic was",
        "Set(orders-0) are gone. Some data may have been missed.": "A topic or a partition is gone",
        "Added partition orders-1 starts from 7 instead of 0.": "A new partition",
    }.items():
        for form in (text, f"[KAFKA_DATA_LOSS] {text}", f"java.lang.IllegalStateException: {text}"):
            (item,) = explain([form], given=OURS).explanations
            assert item.cause is not None and item.cause.heading.startswith(heading)
            assert item.certainty == "proven"
            assert "HOST:PORT" not in " ".join(item.commands)


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ("ckpt export /ck --as startingOffsets --source 0", True),
        ("ckpt export /ck --as startingOffsets --source 1", False),
        ("ckpt export /ck --as startingVersion --source 1", True),
        ("ckpt export /ck --as startingOffsets", True),
        ("ckpt export /ck --as startingPosition", False),
        ("ckpt log /ck --source 0=eventhubs", False),
        ("ckpt gate /ck --source 0=delta:URI", True),
        ("ckpt check /ck --deep", True),
    ],
)
def test_a_command_that_no_declared_source_has_the_type_for_does_not_fit(command, fits):
    assert OURS.fits(command) is fits
    assert Given().fits(command)


def test_a_query_of_files_is_not_told_to_export_offsets_of_kafka():
    asked = ["How to restart a structured streaming query from last written offset"]
    (of_kafka,) = explain(asked, given=OURS).explanations
    (of_files,) = explain(asked, given=Given(parse_by_id({"0": "file:/in"}))).explanations
    assert [command.split()[1] for command in of_kafka.commands] == ["export", "seed"]
    assert of_files.commands == ()
