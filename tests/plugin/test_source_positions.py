"""Where sources are: partitions that were read most first, bounded, and the offset as text where nothing is known."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.progress import SourceAdvance
from airflow_provider_ckpt.codec.typed_offset import PartitionAdvance
from airflow_provider_ckpt.plugin.source_positions import MOST_PARTITIONS, MOST_TEXT, Tally, cut, numbers_of, source_of


def read(**partitions: int) -> SourceAdvance:
    return SourceAdvance(
        "0", "kafka", partitions=tuple(PartitionAdvance(name, 0, n, n) for name, n in partitions.items())
    )


def tally_of(*reads: SourceAdvance) -> Tally:
    tally = Tally()
    for at_ms, item in enumerate(reads):
        tally.add(item, at_ms * 1_000)
    return tally


def test_partitions_that_were_read_most_come_first():
    tally = tally_of(read(a=1, b=5), read(a=1, b=5, c=0))
    source = source_of("0", "kafka", "records", ("{}", "{}"), {"a": 10, "b": 20, "d-10": 1, "d-2": 1}, tally)
    assert [(part.name, part.committed, part.read) for part in source.partitions] == [
        ("b", 20, 10),
        ("a", 10, 2),
        ("c", None, 0),
        ("d-2", 1, None),
        ("d-10", 1, None),
    ]
    assert "records read by each batch, source 0" in source.chart and source.planned_offset is None


def test_ten_thousand_partitions_are_listed_in_part_and_drawn_in_part():
    many = {f"orders-{number}": number for number in range(10_000)}
    source = source_of("0", "kafka", "records", (None, None), many, tally_of(read(**many), read(**many)))
    assert (len(source.partitions), source.others) == (MOST_PARTITIONS, 10_000 - MOST_PARTITIONS)
    assert source.partitions[0].name == "orders-9999"
    assert "the 5 busiest of 10000 partitions" in source.chart and len(source.chart) < 5_000


def test_a_source_of_unknown_type_shows_its_offset_as_text():
    source = source_of("0", None, None, ("x" * 5_000, None), {}, Tally())
    assert source.problem == "its type is not known, so its offset is shown as text"
    assert source.committed_offset == "x" * MOST_TEXT + "… (5,000 characters)"
    assert source.chart == ""


def test_names_in_a_chart_are_escaped():
    tally = tally_of(read(**{"<b>\u202e": 1, "c": 2}), read(**{"<b>\u202e": 1, "c": 2}))
    chart = source_of("<0>", "kafka", "records", (None, None), {}, tally).chart
    assert "<b>" not in chart and "<0>" not in chart and "\u202e" not in chart
    assert "&lt;b&gt;\\u202e" in chart


def test_positions_that_are_no_numbers_are_known_by_name_alone():
    assert numbers_of([("a", (5, 1)), ("b", 7), ("c", ()), ("d", "x")]) == {"a": 5, "b": 7, "c": None, "d": None}


def test_long_values_are_cut_and_say_so():
    assert cut("x" * 500, 500) == "x" * 500
    assert cut("x" * 1_000, 500) == "x" * 500 + "… (1,000 characters)"
    assert cut(None, 500) is None
