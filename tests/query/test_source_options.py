"""Options of a Kafka source, as ``readStream.option`` takes them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.source_options import (
    Limits,
    SourceOptions,
    option_texts,
    parse_assigned,
    parse_options,
)


def test_options_are_by_source_and_their_case_does_not_matter():
    options = parse_options(
        [
            ("0.maxOffsetsPerTrigger", "25"),
            ("0.MINOFFSETSPERTRIGGER", "20"),
            ("0.maxTriggerDelay", "90s"),
            ("orders.v2.failOnDataLoss", "False"),
            ("orders.v2.subscribePattern", "orders-.*"),
            ("orders.v2.Kafka.Group.Id", "mine"),
        ],
        "availableNow",
    )
    assert options.by_source == {
        "0": SourceOptions(Limits(25, 20, 90_000, "availableNow")),
        "orders.v2": SourceOptions(
            Limits(trigger="availableNow"), fails_on_data_loss=False, is_pattern=True, has_group_id=True
        ),
    }


def test_the_trigger_counts_for_a_source_without_options():
    options = parse_options([("0.maxOffsetsPerTrigger", "25")], "once")
    assert options.of("1") == SourceOptions(Limits(trigger="once"))
    assert parse_options([], "once").of("0").limits.trigger == "once"


def test_real_time_mode_allows_no_limit():
    with pytest.raises(ValueError, match="maxOffsetsPerTrigger is 5, which Spark refuses in real-time mode"):
        parse_options([("0.maxOffsetsPerTrigger", "5")], "realTime")


@pytest.mark.parametrize(
    ("text", "ms"), [("15m", 900_000), ("1min", 60_000), ("7", 7), ("2 h", 7_200_000), ("1d", 86_400_000)]
)
def test_a_delay_has_the_units_of_spark(text, ms):
    assert (
        parse_options(
            [("0.maxTriggerDelay", text)],
        )
        .of("0")
        .limits.delay_ms
        == ms
    )


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("maxOffsetsPerTrigger", "5"), "no option of a source"),
        (("0.maxFilesPerBatch", "5"), "no option of a source"),
        ((".failOnDataLoss", "true"), "no option of a source"),
        (("0.maxOffsetsPerTrigger", "abc"), "no whole number"),
        (("0.maxOffsetsPerTrigger", "-1"), "negative"),
        (("0.maxTriggerDelay", "15 parsecs"), "no duration"),
        (("0.failOnDataLoss", "yes"), "neither true nor false"),
        (("0.assign", "orders"), "not like"),
        (("0.assign", "{}"), "not like"),
        (("0.assign", '{"orders":["0"]}'), "not like"),
        (("0.assign", '{"orders":[-1]}'), "not like"),
        (("0.assign", '{"orders":[true]}'), "not like"),
    ],
)
def test_what_spark_would_not_take_is_refused(option, says):
    with pytest.raises(ValueError, match=says):
        parse_options([option])


def test_booleans_and_numbers_become_the_texts_that_spark_has():
    assert option_texts({"0.failOnDataLoss": False, "1.maxOffsetsPerTrigger": 5}) == {
        "0.failOnDataLoss": "false",
        "1.maxOffsetsPerTrigger": "5",
    }


@pytest.mark.parametrize("options", ["0.failOnDataLoss", ["0.failOnDataLoss"], {"0.maxOffsets": "1"}, {7: 1}])
def test_what_is_no_mapping_of_options_is_refused(options):
    with pytest.raises(ValueError, match="source_options is not a mapping|is no option of a source"):
        option_texts(options)


def test_assigned_partitions():
    assigned = frozenset({("orders", 0), ("orders", 2), ("clicks", 0)})
    assert parse_assigned('{"orders":[0,2],"clicks":[0]}') == assigned
    assert parse_options([("0.assign", '{"orders":[0,2],"clicks":[0]}')]).of("0") == SourceOptions(assigned=assigned)
