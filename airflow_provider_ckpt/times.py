"""Times and durations as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

#: No duration is longer, milliseconds: 100,000 days.
LONGEST_MS = 100_000 * 86_400_000
#: Times that a calendar reaches, epoch milliseconds: the years 1 to 9999.
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Clocks of two machines differ by so much, milliseconds, and nothing is wrong with either.
SKEW_MS = 60_000
#: Why an age is not known, where the time is later than that.
AHEAD = "the clock of the storage is ahead of this machine's"

DURATIONS = "write 36h, 1h30m, 2d, ISO 8601 such as PT5M or P1D, or seconds"
TIMES = "write ISO 8601 such as 2026-11-21T05:00Z, epoch milliseconds, 2 hours ago, now-2h or now+2h"

_NUMBER = r"([0-9]{1,12}(?:[.,][0-9]{1,9})?)"
_ISO = re.compile(
    rf"P(?!$)(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?!$)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.IGNORECASE
)
_ISO_MS = (7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1_000)
_CALENDAR = re.compile(r"P(?:[0-9.,]+[YMWD])*(?:T[0-9.,HMS]*)?", re.IGNORECASE)
_MONTHS = re.compile(r"P(?!$)(?:([0-9]{1,4})Y)?(?:([0-9]{1,5})M)?", re.IGNORECASE)
_PART = re.compile(rf"\s*{_NUMBER}\s*([a-z]+)", re.IGNORECASE)
_UNITS_MS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400_000),
}
_AGO = re.compile(r"(.+?)\s+ago", re.IGNORECASE)
_NOW = re.compile(r"now\s*(?:([+-])\s*(.+))?", re.IGNORECASE)


def parse_time_ms(value: str | datetime, *, now_ms: int | None = None) -> int:
    """A point in time as epoch milliseconds.

    Args:
        value: A datetime with a zone, ISO 8601 (UTC when it names no zone), or epoch milliseconds as text; where
            ``now_ms`` is given also ``now``, ``now-2h``, ``now+30m`` and ``2 hours ago``.
        now_ms: The time of *now*, epoch milliseconds.

    Raises:
        ValueError: The value is none of these, or is not in the years 1 to 9999.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return int(value.timestamp() * 1000)
    text = value.strip()
    relative = _relative_ms(text)
    if relative is not None:
        if now_ms is None:
            raise ValueError(f"{value!r} is relative to now, which only the command line accepts")
        return _within_calendar(now_ms + relative, value)
    if re.fullmatch(r"-?[0-9]{1,20}", text):
        return _within_calendar(int(text), value)
    return _within_calendar(_calendar_ms(text, value), value)


def _relative_ms(text: str) -> int | None:
    """How far from now, milliseconds; None for a text that does not speak of now."""
    if ago := _AGO.fullmatch(text):
        return -parse_duration_ms(ago[1])
    if now := _NOW.fullmatch(text):
        return 0 if now[2] is None else parse_duration_ms(now[2]) * (-1 if now[1] == "-" else 1)
    return None


def _calendar_ms(text: str, value: str) -> int:
    import pendulum

    try:
        parsed = pendulum.parse(text, exact=True)
    except (ValueError, OverflowError, TypeError) as error:  # TypeError: intervals of times of day
        raise ValueError(f"{_short(value)} is not a time; {TIMES}") from error
    if isinstance(parsed, pendulum.Date) and not isinstance(parsed, pendulum.DateTime):
        parsed = pendulum.datetime(parsed.year, parsed.month, parsed.day)
    if not isinstance(parsed, pendulum.DateTime):
        raise ValueError(f"{_short(value)} is not a point in time; {TIMES}")
    return int(parsed.timestamp() * 1000)


def _within_calendar(at_ms: int, value: str) -> int:
    if not FIRST_MS <= at_ms <= LAST_MS:
        raise ValueError(f"{_short(value)} is not in the years 1 to 9999; {TIMES}")
    return at_ms


def parse_duration_ms(value: str | timedelta) -> int:
    """A duration as milliseconds, not negative, at most LONGEST_MS.

    Args:
        value: A timedelta; numbers with units (``36h``, ``1h30m``, ``2 days``, ``500ms``); ISO 8601 (``PT5M``,
            ``P1DT12H``); or seconds as text.

    Raises:
        ValueError: The value is none of these; or it has months or years, whose length varies.
    """
    if isinstance(value, timedelta):
        return _bounded(value.total_seconds() * 1000, str(value))
    text = value.strip()
    if re.fullmatch(_NUMBER, text):
        return _bounded(float(text.replace(",", ".")) * 1000, value)
    if match := _ISO.fullmatch(text):
        numbers = zip(match.groups(), _ISO_MS, strict=True)
        return _bounded(sum(float(number.replace(",", ".")) * unit for number, unit in numbers if number), value)
    if _CALENDAR.fullmatch(text) and re.search(r"[YM]", text.upper().partition("T")[0]):
        raise ValueError(f"{_short(value)} has months or years, whose length varies; give days")
    return _bounded(_in_units_ms(text, value), value)


def parse_months(value: str) -> int | None:
    """A period of the calendar in months: 3 for ``P3M``, 14 for ``P1Y2M``; None for what is none, as every duration."""
    match = _MONTHS.fullmatch(value.strip())
    return None if match is None else int(match[1] or 0) * 12 + int(match[2] or 0)


def _in_units_ms(text: str, value: str) -> float:
    total_ms, at, units = 0.0, 0, list[str]()
    while at < len(text) and (part := _PART.match(text, at)) and part[2].lower() in _UNITS_MS:
        units.append(part[2])
        total_ms += float(part[1].replace(",", ".")) * _UNITS_MS[part[2].lower()]
        at = part.end()
    if not units or at < len(text):
        raise ValueError(f"{_short(value)} is not a duration; {DURATIONS}")
    return total_ms


def _bounded(duration_ms: float, value: str) -> int:
    if not 0 <= duration_ms <= LONGEST_MS:
        raise ValueError(f"{_short(value)} is not between 0 and {LONGEST_MS // 86_400_000:,} days")
    return int(duration_ms)


def _short(value: str) -> str:
    return repr(value if len(value) <= 60 else f"{value[:57]}...")


def calendar_time(at_ms: int) -> datetime:
    """Epoch milliseconds in UTC; a time outside the calendar becomes its first or its last moment."""
    return _EPOCH + timedelta(milliseconds=min(max(at_ms, FIRST_MS), LAST_MS))


def time_text(at_ms: int) -> str:
    """Epoch milliseconds for people: ISO 8601 in UTC; as a number where no calendar reaches."""
    if not FIRST_MS <= at_ms <= LAST_MS:
        return f"{at_ms} ms"
    return calendar_time(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration_text(duration_ms: float) -> str:
    """Milliseconds for people, rounded: ``0.2 s``, ``42 s``, ``3 min``, ``5 h 10 min``, ``2 d 3 h``."""
    if duration_ms < 2_000:
        return f"{round(duration_ms / 1000, 1):g} s"
    seconds = round(duration_ms / 1000)
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 120:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min".removesuffix(" 0 min")
    return f"{days} d {hours % 24} h".removesuffix(" 0 h")


def age_ms(at_ms: int, seen_ms: int) -> int | None:
    """How long before ``seen_ms`` something was written; None for what is written later, but for a small skew."""
    return max(0, seen_ms - at_ms) if at_ms <= seen_ms + SKEW_MS else None
