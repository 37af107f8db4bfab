"""Windows of event time tile time, whatever the zone does with its clocks, and no history of a watermark skips one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.waiting.windows import Windows

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",  # midnight comes twice
    "America/Sao_Paulo",  # midnight was left out, and 23 o'clock came twice
    "America/St_Johns",  # clocks changed at 00:01
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Pacific/Apia",  # left out a whole day
    "Africa/Casablanca",
)
LENGTHS = ("PT1S", "PT10M", "PT1H", "PT7H", "P1D", "P3D", "P1W", "P2W", "P1M", "P5M", "P1Y")

windows = st.builds(Windows, st.sampled_from(LENGTHS), st.sampled_from(ZONES))
#: Around changes of clocks as well as anywhere.
times_ms = st.one_of(
    st.integers(631_152_000_000, 1_893_456_000_000),  # 1990 to 2030
    st.builds(
        lambda day, minutes: int(day.timestamp() * 1000) + minutes * 60_000,
        st.sampled_from(
            [
                datetime(2026, 3, 29, tzinfo=UTC),
                datetime(2026, 10, 25, tzinfo=UTC),
                datetime(2026, 11, 1, tzinfo=UTC),
                datetime(2018, 11, 4, tzinfo=UTC),
                datetime(2010, 11, 7, tzinfo=UTC),
                datetime(2011, 12, 30, tzinfo=UTC),
            ]
        ),
        st.integers(-2880, 2880),
    ),
)


def at_ms(text: str, zone: str = "UTC") -> int:
    return int(pendulum.parse(text, tz=zone).timestamp() * 1000)


def length_ms(every: Windows) -> int:
    first = next(every.closed(0, 10**12))
    return first.end_ms - first.start_ms


def spans(length: str, zone: str, after: str, until: str) -> list[tuple[str, float]]:
    """Key and length in hours of the windows between two local times."""
    found = Windows(length, zone).closed(at_ms(after, zone), at_ms(until, zone))
    return [(item.key, (item.end_ms - item.start_ms) / 3_600_000) for item in found]


@given(windows, times_ms)
def test_windows_tile_time_and_no_two_share_a_key(every, from_ms):
    found = list(islice(every.closed(from_ms, from_ms + 10**12), 25))
    assert found, "no window ends in thirty years"
    assert found[0].start_ms <= from_ms < found[0].end_ms
    for this, following in pairwise(found):
        assert this.start_ms < this.end_ms == following.start_ms
        assert this.key < following.key, "keys are in the order of time, so no two are the same"


@given(windows, times_ms)
def test_a_boundary_is_the_end_of_the_newest_closed_window(every, watermark_ms):
    end_ms = every.boundary(watermark_ms)
    assert end_ms <= watermark_ms and every.boundary(end_ms) == end_ms
    assert [item.end_ms for item in every.closed(end_ms - 1, watermark_ms)] == [end_ms]
    assert not list(every.closed(end_ms, watermark_ms))


@given(windows, times_ms, st.lists(st.sampled_from([0, 0.1, 0.5, 1, 1.5, 7]), max_size=5))
def test_however_a_watermark_gets_there_every_window_closes_once(every, from_ms, steps):
    until_ms, one_by_one = from_ms, []
    for step in steps:
        step_ms = int(step * length_ms(every))
        one_by_one += every.closed(until_ms, until_ms + step_ms)
        until_ms += step_ms
    assert one_by_one == list(every.closed(from_ms, until_ms))


@given(windows, times_ms, st.integers(0, 10**10))
def test_a_watermark_that_goes_back_closes_nothing(every, until_ms, back_ms):
    assert not list(every.closed(until_ms, until_ms - back_ms))


@given(st.sampled_from(ZONES), times_ms)
def test_a_day_is_never_over_while_its_date_can_come_again(zone, from_ms):
    day = next(Windows("P1D", zone).closed(from_ms, from_ms + 10**9))
    moments = [pendulum.from_timestamp(day.end_ms / 1000 + minutes * 60, tz=zone) for minutes in range(0, 24 * 60, 29)]
    assert all(moment.to_date_string() > day.key[:10] for moment in moments)


def test_days_follow_the_clocks_of_the_zone():
    assert spans("P1D", "Europe/Berlin", "2026-03-28T00:00", "2026-03-31T00:00") == [
        ("2026-03-28T00:00:00", 24),
        ("2026-03-29T00:00:00", 23),
        ("2026-03-30T00:00:00", 24),
    ]
    assert spans("P1D", "Europe/Berlin", "2026-10-25T00:00", "2026-10-26T00:00") == [("2026-10-25T00:00:00", 25)]


def test_hours_count_in_elapsed_time_and_are_named_in_utc():
    keys = [key for key, _ in spans("PT1H", "Europe/Berlin", "2026-10-25T00:00", "2026-10-26T00:00")]
    assert len(keys) == 25 and keys[0] == "2026-10-24T22:00:00"


def test_a_date_that_a_zone_left_out_is_no_window():
    assert spans("P1D", "Pacific/Apia", "2011-12-29T00:00", "2012-01-01T00:00") == [
        ("2011-12-29T00:00:00", 24),
        ("2011-12-31T00:00:00", 24),
    ]


def test_weeks_begin_on_monday_and_months_on_their_first():
    assert spans("P1W", "UTC", "2026-01-07", "2026-01-19") == [
        ("2026-01-05T00:00:00", 168),
        ("2026-01-12T00:00:00", 168),
    ]
    assert [key for key, _ in spans("P1M", "UTC", "2026-01-20", "2026-03-01")] == [
        "2026-01-01T00:00:00",
        "2026-02-01T00:00:00",
    ]


@pytest.mark.parametrize(
    ("given_as", "spelled"),
    [
        ("PT60M", "PT1H"),
        ("PT90S", "PT90S"),
        ("PT24H", "P1D"),
        ("P7D", "P1W"),
        ("P12M", "P1Y"),
        (timedelta(minutes=15), "PT15M"),
        (pendulum.duration(months=1), "P1M"),
    ],
)
def test_a_length_has_one_spelling(given_as, spelled):
    assert Windows(given_as).length == spelled


@pytest.mark.parametrize(
    "length", ["P1DT1H", "PT36H", "P1M3D", "PT0S", timedelta(hours=-1), "PT0.5S", "an hour", "2026-01-01", "", "3600"]
)
def test_a_length_that_makes_no_windows_is_refused(length):
    with pytest.raises(CheckpointError, match="Give one unit: PT15M"):
        Windows(length)


def test_an_unknown_zone_is_refused():
    with pytest.raises(CheckpointError, match="unknown time zone 'Berlin'"):
        Windows("P1D", "Berlin")


@pytest.mark.parametrize("watermark_ms", [2**62, -(2**62), 253_402_300_800_000])
@pytest.mark.parametrize("length", ["PT1H", "P1D", "P1M"])
def test_a_watermark_beyond_all_calendars_is_an_error(watermark_ms, length):
    with pytest.raises(CheckpointError, match=".*year"):
        Windows(length).boundary(watermark_ms)
    with pytest.raises(CheckpointError, match=".*year"):
        list(islice(Windows(length).closed(0, watermark_ms), 2))


def test_a_watermark_far_ahead_is_walked_one_window_at_a_time():
    first = next(Windows("PT1S").closed(0, at_ms("9000-01-01")))
    assert first.key == "1970-01-01T00:00:00"
