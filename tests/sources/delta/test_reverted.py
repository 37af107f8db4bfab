"""What is said of a Delta source whose table was restored; ``test_judge_delta.py`` has real tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.delta.findings import findings_of
from airflow_provider_ckpt.sources.delta.loss import ONLY_DELETES, DeltaTable, Stop
from airflow_provider_ckpt.sources.delta.reverted import concerns
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.delta_commit import RESTORE, DataFile, DeltaCommit
from airflow_provider_ckpt.tables.delta_restores import Reverted
from airflow_provider_ckpt.tables.delta_schema import DeltaSchema

AT = TableAtRestart(
    "/c", "0", parse_source("delta:/t"), 4, SourceOffset(DeltaOffset("t", 3).json), SourceOffset("{}"), now_ms=0
)
FILES = DeltaCommit(added=(DataFile("a", 1), DataFile("b", 1)))
DELETE, RESTORED = DeltaCommit("DELETE", removed={"a": 1}), DeltaCommit(RESTORE, removed={"a": 1})
SKIPPING = {"skipchangecommits": "true"}
RESET = "ckpt reset-offsets /c --source 0=delta:/t --to-version 5 --sink TYPE[:URI]"
BACK = "ckpt rollback /c --to-batch 2 --sink TYPE[:URI]"


def said(found: Reverted, at: TableAtRestart = AT, *, stops: bool = True, third: DeltaCommit = FILES):
    commits = {3: third, 4: FILES, 5: RESTORED}
    table = DeltaTable(DeltaSchema("t", {}), 6, frozenset(range(7)), commits, reverted=found)
    return list(findings_of(at, table, [Stop(ONLY_DELETES, 5, commit=RESTORED)] if stops else []))


ALL, LAST = Reverted((5,), (3, 4), (), 5), Reverted((5,), (4,), (), None, (3,))
WERE_READ = Reverted((5,), (), (1, 2), 5)

#: What RESTOREs mean, the source, whether it stops there: code, severity, condition, a part of the advice, commands.
SAID = {
    "it stops": (ALL, AT, True, ("CKPT267", "error", ONLY_DELETES), "Move the source past version 5", (RESET,)),
    "it goes on": (ALL, replace(AT, options=SKIPPING), False, ("CKPT267", "error", None), "Do not deploy with", (RESET,)),
    "what it keeps": (LAST, AT, True, ("CKPT267", "error", ONLY_DELETES), "maxFilesPerTrigger=2", (RESET,)),
    "what it keeps, in part": (
        LAST, replace(AT, committed=SourceOffset(DeltaOffset("t", 3, 0).json)), True,
        ("CKPT267", "error", ONLY_DELETES), "maxFilesPerTrigger=1", (RESET,),
    ),
    "a batch in flight reads what it keeps": (
        LAST, replace(AT, planned=SourceOffset(DeltaOffset("t", 4).json)), True,
        ("CKPT267", "error", ONLY_DELETES), "it commits the batch in flight", (),
    ),
    "a batch in flight reads more": (
        LAST, replace(AT, planned=SourceOffset(DeltaOffset("t", 5).json)), True,
        ("CKPT267", "error", ONLY_DELETES), "drop it (ckpt rollback /c --to-batch 4)", (),
    ),
    "a first snapshot": (
        replace(LAST, kept=()), replace(AT, committed=SourceOffset(DeltaOffset("t", 3, 0, True).json)), True,
        ("CKPT267", "error", ONLY_DELETES), "Begin anew with a new checkpoint", (),
    ),
    "what came back": (replace(LAST, kept=(2,)), AT, True, ("CKPT267", "error", ONLY_DELETES), "brought back version 2", (RESET,)),
    "nobody knows": (Reverted((5,), known=False), AT, True, ("CKPT267", "error", ONLY_DELETES), "DESCRIBE HISTORY", (RESET,)),
    "it was read": (replace(WERE_READ), replace(AT, back_to=2), True, ("CKPT268", "error", ONLY_DELETES), "Roll the query back to batch 2", (BACK, RESET)),
    "it was read, and no batch is as old": (WERE_READ, AT, True, ("CKPT268", "error", ONLY_DELETES), "No batch that ended before version 1", (RESET,)),
    "it was read, and it goes on": (WERE_READ, replace(AT, options=SKIPPING, back_to=2), False, ("CKPT268", "warning", None), "To keep the rows", (BACK, RESET)),
    "the RESTORE alone": (Reverted((5,), past=5), AT, True, ("CKPT267", "error", ONLY_DELETES), "Move the source past version 5", (RESET,)),
}  # fmt: skip


@pytest.mark.parametrize(("found", "at", "stops", "what", "advice", "commands"), SAID.values(), ids=SAID)
def test_what_is_said_of_a_restore(found, at, stops, what, advice, commands):
    (finding,) = said(found, at, stops=stops)
    assert (finding.code, finding.severity, finding.spark_error) == what
    assert advice in (finding.hint or "")
    assert finding.commands == commands


def test_a_delete_that_stays_is_skipped_first():
    (finding,) = said(LAST, third=DELETE)
    assert "First skip version 3, at which the source stops as well" in (finding.hint or "") and finding.commands == ()


NOTHING = {
    "no RESTORE": (None, AT),
    "reverted rows are in versions that the option leaves out": (Reverted((5,), (5,), (), 5), replace(AT, options=SKIPPING)),
    "a change feed": (ALL, replace(AT, options={"readchangefeed": "true"})),
    "nobody knows, and it goes on": (Reverted((5,), known=False), AT),
}  # fmt: skip


@pytest.mark.parametrize(("found", "at"), NOTHING.values(), ids=NOTHING)
def test_where_nothing_is_said(found, at):
    assert said(found, at, stops=False) == []


def test_a_stop_behind_the_query_is_none_of_these():
    table = DeltaTable(DeltaSchema("t", {}), 6, frozenset(range(7)), reverted=ALL)
    assert concerns(table, Stop(ONLY_DELETES, 5)) and not concerns(table, Stop(ONLY_DELETES, 5, is_past=True))
    assert not concerns(replace(table, reverted=None), Stop(ONLY_DELETES, 5))
