"""One grammar for durations and one for times, on the command line and in DAGs; no number is too large for it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.times import (
    FIRST_MS,
    LAST_MS,
    LONGEST_MS,
    duration_text,
    parse_duration_ms,
    parse_months,
    parse_time_ms,
    time_text,
)
from airflow_provider_ckpt.waiting.combined import condition_from_dict
from tests.package import PACKAGE

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
        (400, "0.4 s"),
        (1_999, "2 s"),
        (119 * SECOND, "119 s"),
        (2 * MINUTE, "2 min"),
        (2 * HOUR - SECOND, "119 min"),
        (2 * HOUR, "2 h"),
        (2 * DAY, "2 d"),
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
#: A wait that ends although there is nothing, and that could ask a source where its data ends.
AT_ONCE = ("--fail-fast", "--source", "0=file:/nope")


def options_of(kind: str) -> set[tuple[str, str]]:
    """Each option of the command that takes a duration or a time: its command, its longest name."""
    params = ((name, option) for name, command in cli.commands.items() for option in command.params)
    return {(name, max(option.opts, key=len)) for name, option in params if option.type.name == kind}


def test_every_option_that_takes_a_duration_takes_both_spellings():
    found = options_of("duration")
    listed = {(arguments[0], arguments[-1]) for arguments in DURATION_OPTIONS}
    assert listed <= found | {("wait", "--lag")}, "which takes a number of rows as well"
    for name, opt in found:
        (option,) = (option for option in cli.commands[name].params if opt in option.opts)
        read = {option.type.convert(text, option, None) for text in ("36h", "PT36H", "P1DT12H", "36 hours", "129600")}
        assert len(read) == 1 and read <= {36 * HOUR, 36 * HOUR / 1000}, (name, opt)


def test_every_option_that_takes_a_time_takes_every_spelling():
    found = options_of("time")
    assert {(arguments[0], arguments[-1]) for arguments in TIME_OPTIONS} <= found
    for name, opt in found:
        (option,) = (option for option in cli.commands[name].params if opt in option.opts)
        for text in ("2026-11-21T05:00Z", "2026-11-21T06:00+01:00", "1795237200000"):
            assert option.type.convert(text, option, None) == 1795237200000, (name, opt)


def test_no_option_takes_a_length_of_time_in_another_way():
    """An option in whose help a number of seconds, hours or days is asked for is a duration."""
    for name, command in cli.commands.items():
        for option in command.params:
            if getattr(option, "help", None) and "seconds" in option.help:
                assert option.type.name == "duration", (name, option.name)


CONDITIONS = {
    "idle": ({"condition": "idle"}, "for_ms"), "stalled": ({"condition": "stalled"}, "for_ms"),
    "lag": ({"condition": "lag"}, "lag_ms"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_of_a_dag_takes_both_spellings(name):
    fields, key = CONDITIONS[name]
    read = {condition_from_dict({**fields, key: text}).to_dict()[key] for text in ("36h", "PT36H", 36 * HOUR)}
    assert read == {36 * HOUR}


@pytest.mark.parametrize(
    ("text", "months"),
    [
        *(("P1M", 1), ("P1Y", 12), ("P1Y2M", 14), ("p3m", 3), ("P0M", 0)),
        *((text, None) for text in ("P", "P1D", "PT1M", "1m", "P1M3D", "P1M1Y", "P1.5M", "P-1M", "P999999M", "")),
    ],
)
def test_months_are_a_period_of_the_calendar(text, months):
    assert parse_months(text) == months


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        *(
            (0, "0 s"),
            (50, "0.1 s"),
            (200, "0.2 s"),
            (1_999, "2 s"),
            (2_100, "2 s"),
            (90_000, "90 s"),
            (600_000, "10 min"),
        ),
        *((5 * HOUR + 10 * MINUTE, "5 h 10 min"), (2 * HOUR, "2 h"), (51 * HOUR, "2 d 3 h"), (3 * DAY, "3 d")),
    ],
)
def test_people_see_a_duration_in_one_form(duration_ms, text):
    assert duration_text(duration_ms) == text
    assert 0 <= abs(parse_duration_ms(text) - duration_ms) <= max(duration_ms / 10, 50)


def test_people_see_a_time_as_iso_8601_in_utc_and_can_give_it_back():
    assert time_text(1795237200000) == "2026-11-21T05:00:00.000Z"
    for at_ms in (0, -1, FIRST_MS, LAST_MS, NOW_MS + 1):
        assert parse_time_ms(time_text(at_ms)) == at_ms


#: What may take apart or write a time beside times.py, and why: the names of backups; buckets of a retention; keys of
#: windows, as Airflow spells them; an argument of Airflow, as it is rendered; the short labels below a chart.
ALSO = {
    *("backup/declare.py", "backup/retention.py", "waiting/windows.py", "sensors/checkpoint.py"),
    "report/charts.py",
}
#: What does; a library that a text for people names is no use of it.
OWN = re.compile(
    r"\b(strftime|strptime|isoformat|fromisoformat|fromtimestamp|from_timestamp|import pendulum|pendulum\.\w)"
)


def test_no_other_module_reads_or_writes_times_in_its_own_way():
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if OWN.search(path.read_text())}
    assert found - {"times.py"} <= ALSO
    assert not [
        path for path in PACKAGE.rglob("*.py") if "pendulum.parse" in path.read_text() and path.name != "times.py"
    ]


@pytest.mark.parametrize("arguments", DURATION_OPTIONS, ids=lambda arguments: f"{arguments[0]} {arguments[-1]}")
def test_every_option_that_takes_a_duration_reads_the_same(capsys, arguments):
    for wrong in ("soon", "9e99h", "-5m", "P1M"):
        assert run([*arguments, wrong]) == 2, wrong
    capsys.readouterr()
    for right in ("36h", "PT36H", "1h30m", "2d", "90"):
        assert run([*arguments, right, *(AT_ONCE if arguments[0] == "wait" else ())]) != 2, right


@pytest.mark.parametrize("arguments", TIME_OPTIONS, ids=lambda arguments: f"{arguments[0]} {arguments[-1]}")
def test_every_option_that_takes_a_time_reads_the_same(capsys, arguments):
    for wrong in ("soon", "99999-01-01", "9" * 25, "now-9e99h"):
        assert run([*arguments, wrong]) == 2, wrong
    capsys.readouterr()
    for right in ("2026-01-01", "now-2h", "2 hours ago", "1767225600000"):
        assert run([*arguments, right, *(AT_ONCE if arguments[0] == "wait" else ())]) != 2, right


def test_every_help_with_a_time_says_that_it_is_utc(capsys):
    for name, command in cli.commands.items():
        if any(option.type.name == "time" for option in command.params):
            run([name, "--help"])
            assert "UTC" in capsys.readouterr().out, name
