"""Times and durations as people write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def parse_time_ms(value: str | datetime) -> int:
    """A time as epoch milliseconds: a datetime with a zone, ISO 8601 (UTC when it names no zone), or a number as text.

    Raises ValueError.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return int(value.timestamp() * 1000)
    if value.strip().lstrip("-").isdecimal():
        return int(value)
    import pendulum

    try:
        parsed = pendulum.parse(value, exact=True)
    except ValueError as error:
        raise ValueError(f"no time: {value!r}") from error
    if isinstance(parsed, pendulum.Date) and not isinstance(parsed, pendulum.DateTime):
        parsed = pendulum.datetime(parsed.year, parsed.month, parsed.day)
    if not isinstance(parsed, pendulum.DateTime):
        raise ValueError(f"{value!r} is no point in time; give a date, or a date and a time")
    return int(parsed.timestamp() * 1000)


def parse_duration_ms(value: str | timedelta) -> int:
    """A duration as milliseconds: a timedelta, ISO 8601 such as ``PT5M`` or ``P1D``, or seconds as text.

    Raises ValueError; also for months and years, which have no length of their own.
    """
    if isinstance(value, timedelta):
        return int(value.total_seconds() * 1000)
    import pendulum

    try:
        return int(float(value) * 1000)
    except ValueError:
        pass
    try:
        parsed = pendulum.parse(value)
    except ValueError as error:
        raise ValueError(f"no duration: {value!r}; write PT5M, PT1H30M, P1D or seconds") from error
    if not isinstance(parsed, pendulum.Duration):
        raise ValueError(f"{value!r} is no duration; write PT5M, PT1H30M, P1D or seconds")
    if parsed.years or parsed.months:
        raise ValueError(f"{value!r} has months or years, which have no length of their own; give days")
    return int(parsed.total_seconds() * 1000)


def time_text(at_ms: int) -> str:
    """Epoch milliseconds for people: ISO 8601 in UTC; as a number where no calendar reaches."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms"


def duration_text(duration_ms: float) -> str:
    """Milliseconds for people, rounded: ``42 s``, ``3 min``, ``5 h 10 min``, ``2 d 3 h``."""
    seconds = round(duration_ms / 1000)
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 120:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"
