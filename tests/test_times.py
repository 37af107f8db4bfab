"""One grammar for durations and one for times, on the command line and in DAGs; no number is too large for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.times import (
    FIRST_MS,
    LAST_MS,
    LONGEST_MS,
    duration_text,
    parse_duration_ms,
    parse_time_ms,
    time_text,
)

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
NOW_MS = 1_800_000_000_000

DURATIONS = {
    "36h": 36 * HOUR, "90m": 90 * MINUTE, "2d": 2 * DAY, "1h30m": HOUR + 30 * MINUTE, "1d 2h": DAY + 2 * HOUR,
    "45s": 45 * SECOND, "1w": 7 * DAY, "500ms": 500, "2 hours": 2 * HOUR, "1.5h": HOUR + 30 * MINUTE, "1 Minute": MINUTE,
    "PT36H": 36 * HOUR, "PT5M": 5 * MINUTE, "P1D": DAY, "P1DT12H": 36 * HOUR, "P2W": 14 * DAY, "PT1.5S": 1500, "pt5m": 5 * MINUTE,
    "300": 300 * SECOND, "0": 0, "0.05": 50, " 5m ": 5 * MINUTE, "P100000D": LONGEST_MS,
}  # fmt: skip
NO_DURATIONS = [
    "", " ", "soon", "P", "PT", "P1M", "P1Y", "P1Y2M3D", "5 parsecs", "h", "-5m", "-1", "PT-5M", "1h30", "h1", "nan", "inf",
    "1e999", "9e99h", "9" * 13 + "h", "9" * 5000, "P100001D", "P999999999999D", "1h\x00", "٣x", "PT5M PT5M", "\udcff",
]  # fmt: skip


@pytest.mark.parametrize(("text", "duration_ms"), DURATIONS.items())
def test_a_duration(text, duration_ms):
    assert parse_duration_ms(text) == duration_ms


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_no_duration_is_one_short_sentence(text):
    with pytest.raises(ValueError) as error:
        parse_duration_ms(text)
    assert len(str(error.value)) < 240


def test_a_timedelta_is_a_duration():
    assert parse_duration_ms(timedelta(hours=36)) == 36 * HOUR
    for wrong in (timedelta(seconds=-1), timedelta.max):
        with pytest.raises(ValueError):
            parse_duration_ms(wrong)


TIMES = {
    "2026-11-21": 1795219200000, "2026-11-21T05:00": 1795237200000, "2026-11-21T05:00Z": 1795237200000,
    "2026-11-21T06:00+01:00": 1795237200000, "1795237200000": 1795237200000, "-1": -1, "0": 0,
    "now": NOW_MS, "now-2h": NOW_MS - 2 * HOUR, "now - 2h": NOW_MS - 2 * HOUR, "now+30m": NOW_MS + 30 * MINUTE,
    "2 hours ago": NOW_MS - 2 * HOUR, "1h30m ago": NOW_MS - 90 * MINUTE, "PT2H ago": NOW_MS - 2 * HOUR,
    str(LAST_MS): LAST_MS, str(FIRST_MS): FIRST_MS,
}  # fmt: skip
NO_TIMES = [
    "", "yesterday-ish", "99999-01-01", "2026-13-01", "PT5M", "9" * 19, "9" * 5000, "now-", "now-soon", "ago", "9e99h ago",
    "-99999999999999999", "2026-11-21T05:00\x00", "\udcff", "10:00/11:00", "999999 weeks ago",
]  # fmt: skip


@pytest.mark.parametrize(("text", "at_ms"), TIMES.items())
def test_a_time(text, at_ms):
    assert parse_time_ms(text, now_ms=NOW_MS) == at_ms


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_time_is_one_short_sentence(text):
    with pytest.raises(ValueError) as error:
        parse_time_ms(text, now_ms=NOW_MS)
    assert len(str(error.value)) < 240


def test_now_is_for_the_command_line_alone():
    """A sensor reads its arguments at every look, and then now is another time each."""
    with pytest.raises(ValueError, match="command line"):
        parse_time_ms("now-2h")


def test_a_datetime_is_a_time_when_it_has_a_zone():
    assert parse_time_ms(datetime(2026, 11, 21, 5, tzinfo=UTC)) == 1795237200000
    with pytest.raises(ValueError, match="no time zone"):
        parse_time_ms(datetime(2026, 11, 21, 5))


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 s"),
        (400, "0 s"),
        (119 * SECOND, "119 s"),
        (2 * MINUTE, "2 min"),
        (2 * HOUR - SECOND, "119 min"),
        (2 * HOUR, "2 h 0 min"),
        (5 * HOUR + 10 * MINUTE, "5 h 10 min"),
        (2 * DAY - MINUTE, "47 h 59 min"),
        (2 * DAY + 3 * HOUR + 59 * MINUTE, "2 d 3 h"),
    ],
)
def test_a_duration_for_people(duration_ms, text):
    assert duration_text(duration_ms) == text


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (FIRST_MS, "0001-01-01T00:00:00.000Z"),
        (FIRST_MS - 1, f"{FIRST_MS - 1} ms"),
        (LAST_MS, "9999-12-31T23:59:59.999Z"),
        (LAST_MS + 1, f"{LAST_MS + 1} ms"),
    ],
)
def test_a_time_for_people_is_a_number_where_no_calendar_reaches(at_ms, text):
    assert time_text(at_ms) == text


DURATION_OPTIONS = [
    ("wait", "/nope", "--batch", "1", "--timeout"), ("wait", "/nope", "--idle"), ("wait", "/nope", "--stalled"),
    ("wait", "/nope", "--lag"), ("wait", "/nope", "--batch", "1", "--poll-interval"),
    ("prune", "/nope", "--keep-last", "1", "--grace"), ("rollback", "/nope", "--to-batch", "1", "--quiet-period"),
]  # fmt: skip
TIME_OPTIONS = [
    ("wait", "/nope", "--watermark"), ("wait", "/nope", "--until"), ("wait", "/nope", "--batch", "1", "--deadline"),
    ("rollback", "/nope", "--to-timestamp"), ("rollback", "/nope", "--to-watermark"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", DURATION_OPTIONS, ids=lambda arguments: f"{arguments[0]} {arguments[-1]}")
def test_every_option_that_takes_a_duration_reads_the_same(capsys, arguments):
    for wrong in ("soon", "9e99h", "-5m", "P1M"):
        assert run([*arguments, wrong]) == 2, wrong
    capsys.readouterr()
    for right in ("36h", "PT36H", "1h30m", "2d", "90"):
        assert run([*arguments, right, *(("--fail-fast",) if arguments[0] == "wait" else ())]) != 2, right


@pytest.mark.parametrize("arguments", TIME_OPTIONS, ids=lambda arguments: f"{arguments[0]} {arguments[-1]}")
def test_every_option_that_takes_a_time_reads_the_same(capsys, arguments):
    for wrong in ("soon", "99999-01-01", "9" * 25, "now-9e99h"):
        assert run([*arguments, wrong]) == 2, wrong
    capsys.readouterr()
    for right in ("2026-01-01", "now-2h", "2 hours ago", "1767225600000"):
        assert run([*arguments, right, *(("--fail-fast",) if arguments[0] == "wait" else ())]) != 2, right


def test_every_help_with_a_time_says_that_it_is_utc(capsys):
    for name, command in cli.commands.items():
        if any(option.type.name == "time" for option in command.params):
            run([name, "--help"])
            assert "UTC" in capsys.readouterr().out, name
