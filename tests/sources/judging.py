"""Whether a condition says what the counted rows say."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.waiting import Condition


class Judged(Enum):
    """What came of a comparison."""

    RIGHT = "right"
    EARLY = "early"
    LATE = "late"


def judge(condition: Condition, batch: dict[str, Any], rows: int) -> Judged:
    """Compare a condition with a batch: it has to be reached when so many rows were read, and not before.

    A query that still reads the first snapshot of a Delta table reads in no order; there late is right.
    """
    offset = batch["offset"]
    reached = condition.reached(Progress(0, OffsetSeq(1, None, (("0", SourceOffset(offset)),))))
    has_read = batch["rows"] >= rows
    if reached == has_read:
        return Judged.RIGHT
    if reached:
        return Judged.EARLY
    return Judged.RIGHT if json.loads(offset).get("isStartingVersion") else Judged.LATE
