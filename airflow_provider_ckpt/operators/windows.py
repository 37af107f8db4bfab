"""The operator that makes asset partitions of the event time that a stream has completed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow.providers.common.compat.sdk import AirflowFailException, Asset

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.lineage.facts import asset_extra
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.report.table import facts
from airflow_provider_ckpt.times import parse_time_ms, time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.progress import Progress
    from airflow_provider_ckpt.documents.tasks import WindowsResultDocument
    from airflow_provider_ckpt.waiting.windows import Window, Windows

#: What the extra of an event of the ledger says, and the key in the asset's state store: the end of the newest window.
MARK = "windows_until_ms"
#: So many events of the ledger are read: the clocks of API servers differ, so the newest may not be the last.
PAGE = 100
#: Keys that the returned value names; a few say enough.
SHOWN = 10


class Emitted(NamedTuple):
    """Windows that the ledger records."""

    until_ms: int
    window: str | None = None
    timezone: str | None = None


class CheckpointWindowsOperator(CheckpointOperator):
    """Adds a partition key to an asset for every window of event time that the committed watermark has passed.

    Exactly once for each window, over retries, clears, restarts and concurrent runs, and none is skipped when the
    watermark jumps. What was emitted is read from the events of a second asset, the *ledger*, which is named after the
    first one with ``_ledger`` behind it. Its events get into the database together with the partitions, in the one
    transaction that makes this task a success, so no memory can disagree with them. (The asset's own events would do,
    but Airflow up to 3.3.2 cannot read them while a run that they have started is queued, apache/airflow#71360.)

    Give each asset one task: two DAGs that read at the same moment would both emit. The state store of the ledger is
    asked only when ``airflow db clean`` has removed all events of a quiet stream. It knows what the last run had found,
    so nothing is skipped; but the events of that run may be emitted again. And mind that SQLite locks no rows: there a
    success that takes longer to report than ``[workers] execution_api_timeout`` may count twice.

    Airflow gives all events of one run the same extra, so that of the asset says what is true of each: the length and
    zone of its window, which begins at its partition key, and the batch and watermark that were read. How far the
    run came is in the ledger alone.

    A run without new windows succeeds, and leaves no event. Keys are the starts of windows, in the form that Airflow's
    ``StartOfHourMapper`` and ``StartOfDayMapper`` read; see :mod:`airflow_provider_ckpt.waiting.windows`. As ever in
    Airflow, a DAG that is paused gets no partitions, not even later. Needs Airflow 3.3.

    Returns the newest keys, their ``count``, ``windows_until_ms``, and the ``batch_id`` and ``watermark_ms`` read.

    :param asset: The asset that gets the partitions. It and its ledger become outlets of the task.
    :param window: Length of the windows: ``PT1H``, ``P1D``, ``P1W``, ``P1M``, or a duration. An asset keeps its length.
    :param timezone: The zone whose days, weeks and months the windows are.
    :param start: The time that the first run begins with; None is the newest window that is closed then.
    :param max_windows: Refuse to emit more than so many at once: a row with a wrong event time starts no flood of runs.
    """

    does = "windows"
    has_done = "Windows are complete of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "start")

    def __init__(
        self,
        *,
        asset: Asset,
        window: str | timedelta,
        timezone: str = "UTC",
        start: str | datetime | None = None,
        max_windows: int = 1000,
        **kwargs: Any,
    ) -> None:
        from airflow_provider_ckpt.waiting.windows import Windows

        ledger = Asset(f"{asset.name}_ledger", group=asset.group)
        kwargs["inlets"] = [*(kwargs.get("inlets") or ()), ledger]
        kwargs["outlets"] = [*(kwargs.get("outlets") or ()), asset, ledger]
        super().__init__(**{"max_active_tis_per_dag": 1, **kwargs})
        self.asset = asset
        self.ledger = ledger
        self.window = Windows(window, timezone).length  # a typing error is found when the DAG is read
        self.timezone = timezone
        self.start = start
        self.max_windows = max_windows

    def execute(self, context: Any) -> WindowsResultDocument:
        """Read the watermark, and emit what is new."""
        from airflow_provider_ckpt.waiting.poll import poll_progress
        from airflow_provider_ckpt.waiting.windows import Windows

        outlet = context["outlet_events"][self.asset]
        if not hasattr(outlet, "add_partitions"):
            raise AirflowFailException("CheckpointWindowsOperator needs Airflow 3.3 or later, for add_partitions")
        with self.running(context):
            windows = Windows(self.window, self.timezone)
            emitted = self._emitted(context)
            progress = poll_progress(self.store())
            found = self._new(windows, emitted, progress)
        until_ms = found[-1].end_ms if found else emitted and emitted.until_ms
        if found:
            outlet.add_partitions([item.key for item in found])
            position = {"batch_id": progress.batch_id, "watermark_ms": progress.watermark_ms}
            outlet.extra = {
                "window": windows.length,
                "timezone": windows.timezone,
                **position,
                **asset_extra(self.has_done, self.store().location, position),
            }
            context["outlet_events"][self.ledger].extra = {MARK: until_ms, **outlet.extra}
        else:
            self._leave_no_event()
        self._say(progress, found)
        result: WindowsResultDocument = {
            "format_version": FORMAT_VERSION,
            "windows": [item.key for item in found[-SHOWN:]],
            "count": len(found),
            "windows_until_ms": until_ms,
            "batch_id": progress.batch_id,
            "watermark_ms": progress.watermark_ms,
        }
        return self.tell(context, result)

    def assets_told(self) -> Iterator[Any]:
        """The other outlets: what is said of the windows and in the ledger is said above."""
        yield from (item for item in super().assets_told() if item not in (self.asset, self.ledger))

    def _new(self, windows: Windows, emitted: Emitted | None, progress: Progress) -> list[Window]:
        """The windows to emit."""
        if not progress.watermark_ms:  # 0 is Spark's word for none
            return []
        if emitted is not None:
            self._check_same_windows(windows, emitted)
            after_ms = emitted.until_ms
        elif self.start:
            after_ms = self._start_ms(self.start)
        else:
            after_ms = windows.boundary(progress.watermark_ms) - 1
        found = list(islice(windows.closed(after_ms, progress.watermark_ms), self.max_windows + 1))
        if len(found) > self.max_windows:
            raise CheckpointError(
                f"more than max_windows={self.max_windows} windows of {windows.length} are complete between "
                f"{time_text(after_ms)} and the watermark, {time_text(progress.watermark_ms)}",
                location=self.store().location,
                batch_id=progress.batch_id,
                hint="If that watermark is right, raise max_windows. Else a row of the stream has a wrong event time.",
            )
        return found

    @staticmethod
    def _start_ms(start: str | datetime) -> int:
        try:
            return parse_time_ms(start)
        except ValueError as error:
            raise CheckpointError(f"start: {error}") from error

    def _check_same_windows(self, windows: Windows, emitted: Emitted) -> None:
        """Keys of one asset mean one kind of window: a day and its first hour would share a key."""
        if emitted.window is None or (emitted.window, emitted.timezone) == (windows.length, windows.timezone):
            return
        raise CheckpointError(
            f"the asset {self.asset.name!r} already has windows of {emitted.window} in {emitted.timezone}, so it "
            f"cannot get windows of {windows.length} in {windows.timezone}",
            hint=f"Use another asset for the new windows, with start={time_text(emitted.until_ms)!r} to continue from "
            "there.",
        )

    def _emitted(self, context: Any) -> Emitted | None:
        """Windows that were emitted so far, as the ledger records; None before the first."""
        memory = context["asset_state_store"][self.ledger]
        events = context["inlet_events"][self.ledger].ascending(False).limit(PAGE)
        marks = [event.extra for event in events if MARK in (event.extra or {})]
        if not marks:
            until_ms = memory.get(MARK)
            return None if until_ms is None else Emitted(int(until_ms))
        newest = max(marks, key=lambda extra: int(extra[MARK]))
        memory.set(MARK, newest[MARK])
        return Emitted(int(newest[MARK]), newest.get("window"), newest.get("timezone"))

    def _leave_no_event(self) -> None:
        """Airflow makes an event for every outlet of a successful task: for this run these two are none."""
        ours = (self.asset, self.ledger)
        self.outlets: list[Any] = [item for item in self.outlets if item not in ours]

    def _say(self, progress: Progress, found: list[Window]) -> None:
        if not progress.watermark_ms:
            self.log.info("%s: no batch with a watermark is committed", self.shown_checkpoint)
            return
        rows: list[tuple[str, object]] = [
            ("newest committed batch", progress.batch_id),
            ("watermark", time_text(progress.watermark_ms)),
            ("windows", len(found)),
        ]
        if found:
            rows += [("from", found[0].key), ("to", found[-1].key)]
        self.report(facts(self.store().location, rows))
