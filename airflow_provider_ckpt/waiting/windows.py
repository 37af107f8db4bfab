"""Windows of event time: which of them does a watermark close, and what are they called?

* Every point in time is in exactly one window: they tile time without gap or overlap.
* A window is closed when the watermark has reached its end.
* Lengths below a day count in elapsed time, from the midnight of 1970-01-01 in the zone; their keys are in UTC.
* Days, weeks (from Monday), months and years count in the calendar of the zone, so a day may have 23 hours; their keys
  are local dates. A day begins at its last midnight, or with its first moment when it has no midnight: never early.
* A key is the start of its window as Airflow's ``StartOfHourMapper`` and ``StartOfDayMapper`` read it by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

import pendulum

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.times import parse_duration_ms, parse_months

#: The ``input_format`` of Airflow's temporal partition mappers.
KEY_FORMAT = "%Y-%m-%dT%H:%M:%S"
DAY_SECONDS = 86_400
EPOCH, EPOCH_MONDAY = date(1970, 1, 1), date(1970, 1, 5)
LENGTHS = "Give one unit: PT15M (or 15m), PT1H, P1D, P1W, P1M or P1Y."

Unit = Literal["seconds", "days", "weeks", "months"]


@dataclass(frozen=True, slots=True)
class Window:
    """A span of event time.

    Args:
        start_ms: Its first millisecond, since the epoch.
        end_ms: The first millisecond after it, since the epoch.
        key: Its name: no two windows of one kind share it.
    """

    start_ms: int
    end_ms: int
    key: str


class Windows:
    """All windows of one length, in one time zone.

    Args:
        length: ISO 8601 text such as ``PT1H`` or ``P1D``, or a duration. Whole days count in the calendar: 24 hours are
            a day, 7 days are a week.
        timezone: Name of the zone, such as ``Europe/Berlin``.

    Raises:
        CheckpointError: A length that is no duration, not positive or of mixed units (``P1DT1H``), or an unknown zone.
    """

    def __init__(self, length: str | timedelta, timezone: str = "UTC") -> None:
        self._unit, self._count = _measure(length)
        try:
            self._zone = pendulum.timezone(timezone)
        except ValueError as error:
            raise CheckpointError(
                f"unknown time zone {timezone!r}", hint="Give a name such as Europe/Berlin."
            ) from error
        self._epoch_ms = self._midnight_ms(EPOCH)

    @property
    def length(self) -> str:
        """The length in one spelling: ``PT1H``, however it was given."""
        return _spell(self._unit, self._count)

    @property
    def timezone(self) -> str:
        """Name of the zone."""
        return str(self._zone.name)

    def boundary(self, watermark_ms: int) -> int:
        """The newest end of a window that is not after a watermark, both epoch milliseconds.

        Raises CheckpointError for a watermark that no calendar reaches.
        """
        return self._start_ms(self._index(watermark_ms))

    def closed(self, after_ms: int, watermark_ms: int) -> Iterator[Window]:
        """Windows that end after one time and not after a watermark, both epoch milliseconds; ascending, none skipped.

        Raises CheckpointError for a time that no calendar reaches.
        """
        self._index(watermark_ms)
        index = self._index(after_ms)
        start_ms, end_ms = self._start_ms(index), self._start_ms(index + 1)
        while end_ms <= watermark_ms:
            if start_ms < end_ms:  # a date that a zone has left out is no window
                yield Window(start_ms, end_ms, self._key(index))
            index += 1
            start_ms, end_ms = end_ms, self._start_ms(index + 1)

    def _index(self, at_ms: int) -> int:
        """Number of the window that a time lies in; window 0 begins with the epoch, or its first Monday."""
        try:
            local = pendulum.from_timestamp(at_ms // 1000, tz=self._zone)
        except (ValueError, OverflowError, OSError) as error:
            raise _beyond(at_ms) from error
        if self._unit == "seconds":
            return (at_ms - self._epoch_ms) // (self._count * 1000)
        if self._unit == "months":
            index = ((local.year - EPOCH.year) * 12 + local.month - 1) // self._count
        else:
            anchor, days = self._days
            index = (date(local.year, local.month, local.day) - anchor).days // days
        while self._start_ms(index + 1) <= at_ms:  # where clocks are changed at midnight
            index += 1
        while self._start_ms(index) > at_ms:
            index -= 1
        return index

    @property
    def _days(self) -> tuple[date, int]:
        """Where days or weeks count from, and how many days a window has."""
        return (EPOCH_MONDAY, 7 * self._count) if self._unit == "weeks" else (EPOCH, self._count)

    def _start_ms(self, index: int) -> int:
        if self._unit == "seconds":
            return self._epoch_ms + index * self._count * 1000
        return self._midnight_ms(self._date(index))

    def _date(self, index: int) -> date:
        """The date that a window of the calendar begins with."""
        try:
            if self._unit == "months":
                years, month = divmod(index * self._count, 12)
                return date(EPOCH.year + years, month + 1, 1)
            anchor, days = self._days
            return anchor + timedelta(days=days * index)
        except (ValueError, OverflowError) as error:
            raise CheckpointError(f"the window of {self.length} at that time ends after the year 9999") from error

    def _midnight_ms(self, day: date) -> int:
        # pendulum takes the later of two midnights, and moves one that does not exist forward
        return round(pendulum.datetime(day.year, day.month, day.day, tz=self._zone).timestamp()) * 1000

    def _key(self, index: int) -> str:
        if self._unit == "seconds":
            return pendulum.from_timestamp(self._start_ms(index) // 1000).strftime(KEY_FORMAT)
        return datetime.combine(self._date(index), datetime.min.time()).strftime(KEY_FORMAT)


def _measure(length: str | timedelta) -> tuple[Unit, int]:
    """Unit and count of a length."""
    duration = _parse(length) if isinstance(length, str) else length
    months = getattr(duration, "years", 0) * 12 + getattr(duration, "months", 0)
    nominal_days = getattr(duration, "years", 0) * 365 + getattr(duration, "months", 0) * 30  # pendulum adds them
    rest = timedelta(seconds=duration.total_seconds()) - timedelta(days=nominal_days)
    seconds = rest // timedelta(seconds=1)
    if rest % timedelta(seconds=1):
        raise CheckpointError(f"the window {length} is not a whole number of seconds", hint=LENGTHS)
    if months < 0 or seconds < 0 or months == seconds == 0:
        raise CheckpointError(f"the window {length} has the length 0", hint=LENGTHS)
    if (months and seconds) or (seconds > DAY_SECONDS and seconds % DAY_SECONDS):
        raise CheckpointError(f"the window {length} mixes units", hint=LENGTHS)
    if months:
        return "months", months
    days = seconds // DAY_SECONDS
    if not days:
        return "seconds", seconds
    return ("days", days) if days % 7 else ("weeks", days // 7)


def _parse(length: str) -> timedelta:
    try:
        if (months := parse_months(length)) is not None:
            return pendulum.duration(months=months)
        if not length.strip().isdecimal():  # seconds elsewhere, and here as likely hours
            return timedelta(milliseconds=parse_duration_ms(length))
        raise ValueError("no unit")
    except ValueError as error:
        raise CheckpointError(f"{length!r} is not the length of a window", hint=LENGTHS) from error


def _spell(unit: Unit, count: int) -> str:
    if unit == "months":
        return f"P{count}M" if count % 12 else f"P{count // 12}Y"
    if unit == "seconds":
        if count % 60:
            return f"PT{count}S"
        return f"PT{count // 60}M" if count % 3600 else f"PT{count // 3600}H"
    return f"P{count}{unit[0].upper()}"


def _beyond(at_ms: int) -> CheckpointError:
    return CheckpointError(
        f"{at_ms} ms since the epoch is not in the years 1 to 9999",
        hint="If this is the watermark, a row of the stream has a wrong event time.",
    )
