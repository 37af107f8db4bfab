"""The options of both reads, as Spark passes them: texts, and keys in small letters."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.selection import Selection
from airflow_provider_ckpt.spark.options import Places, StreamOptions, TableOptions


def test_defaults():
    options = TableOptions.parse({"path": "s3://lake"})
    assert options == TableOptions(Places(("s3://lake",)))
    assert (options.places.depth, options.rows, options.fails_fast, options.partitions) == (5, "batches", False, None)
    assert StreamOptions.parse({"path": "s3://lake"}) == StreamOptions(Places(("s3://lake",)))


def test_every_option_of_a_table():
    options = TableOptions.parse(
        {
            "paths": '["s3://a", "s3://b"]',
            "depth": "0",
            "rows": "CHECKPOINTS",
            "firstbatch": "3",
            "lastbatch": "9",
            "lastbatches": "5",
            "startingtime": "1970-01-01T00:00:01Z",
            "endingtime": "2000",
            "sourcetypes": '{"0": "kafka"}',
            "mode": "FAILFAST",
            "deep": "true",
            "partitions": "7",
            "storage.anon": "true",
            "storage.client_kwargs": '{"region_name": "eu-west-1"}',
            "storage.key": "secret",
        }
    )
    assert options.places.roots == ("s3://a", "s3://b")
    assert options.places.storage_options == {
        "anon": True,
        "client_kwargs": {"region_name": "eu-west-1"},
        "key": "secret",
    }
    assert options.selection == Selection(3, 9, 5, 1_000, 2_000)
    assert options.declared.of("s3://a") == {"0": "kafka"}
    assert (options.places.depth, options.rows, options.fails_fast, options.deep, options.partitions) == (
        *(0, "checkpoints", True, True),
        7,
    )
    assert "secret" not in repr(options)


def test_every_option_of_a_stream():
    options = StreamOptions.parse(
        {
            "path": "s3://a",
            "maxBatchesPerTrigger": "100",
            "failOnDataLoss": "false",
            "discoverInterval": "PT1H",
            "pollInterval": "5s",
            "maxPollInterval": "20m",
        }
    )
    assert (options.max_batches, options.fails_on_data_loss) == (100, False)
    assert (options.discover_ms, options.poll_ms, options.quiet_ms) == (3_600_000, 5_000, 1_200_000)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({}, "no location is given"),
        ({"path": "a", "firstbach": "1"}, "there is no option 'firstbach'"),
        ({"path": "a", "failondataloss": "true"}, "there is no option 'failondataloss'"),
        (
            {"path": "a", "firstbatch": "-1"},
            "the option firstBatch is not valid: '-1' is no whole number; it must be 0 or more",
        ),
        (
            {"path": "a", "partitions": "0"},
            "the option partitions is not valid: '0' is no whole number; it must be 1 or more",
        ),
        ({"path": "a", "rows": "files"}, "the option rows must be batches, checkpoints, not 'files'"),
        ({"path": "a", "mode": "dropmalformed"}, "the option mode must be permissive, failfast, not 'dropmalformed'"),
        ({"path": "a", "startingtime": "yesterday"}, "the option startingTime is not valid: 'yesterday' is not a time"),
        ({"path": "a", "sourcetypes": "kafka"}, "the option sourceTypes is not valid: "),
        ({"path": "a", "sourcetypes": '["kafka"]'}, 'the option sourceTypes is not valid: give {"0": "kafka"}'),
        (
            {"path": "a", "sourcetypes": '{"0": "kafak"}'},
            "the option sourceTypes is not valid: unknown source type 'kafak'",
        ),
        ({"path": "a", "sourcetypes": '{"a":' * 100_000}, "the option sourceTypes is not valid: "),
        ({"path": ""}, "no location is given"),
        ({"paths": '{"a": 1}'}, "the option paths is not valid: give a JSON list of locations"),
        ({"paths": '["a", ""]'}, "the option paths is not valid: give a JSON list of locations"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(texts, message):
    with pytest.raises(ValueError) as error:
        TableOptions.parse(texts)
    assert message in str(error.value)
