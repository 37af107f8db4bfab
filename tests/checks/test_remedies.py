"""What a finding advises: words that fit the checkpoint, and commands that can be typed as they are."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.checks.remedies import (
    NEW_LOCATION,
    back_before,
    back_to,
    from_backup,
    from_backup_or_before,
    or_salvage,
    targets_of,
    whole_batch_before,
)
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import IncompleteLogFileError
from airflow_provider_ckpt.storage.store import Store
from tests.views import view_of

SINK = "--sink TYPE[:URI]"
REPAIR = f"ckpt rollback c --to-backup ROOT/ID {SINK}"
RESTORE = f"ckpt restore ROOT ID --to NEW_LOCATION {SINK}"
WHOLE = ("offsets/0", "commits/0", "offsets/1", "commits/1", "offsets/2", "commits/2")
NO_BATCH = f"{NEW_LOCATION}: there is no batch before it that can be rolled back to."


def back(batch: object) -> str:
    return f"ckpt rollback c --to-batch {batch} {SINK}"


@pytest.mark.parametrize(
    ("files", "damaged", "before", "expected"),
    {
        "the one before": (WHOLE, (), 2, 1),
        "any later one": (WHOLE, (), 9, 2),
        "the first batch has none before it": (WHOLE, (), 0, None),
        "the first batch is one": (WHOLE, (), 1, 0),
        "a damaged entry": (WHOLE, ("commits/1",), 2, 0),
        "a damaged entry beside it": (WHOLE, ("offsets/0",), 2, None),
        "no commit": (("offsets/0", "commits/0", "offsets/1", "offsets/2"), (), 2, 0),
        "no entry in the offset log": (("offsets/0", "commits/0", "commits/1"), (), 2, 0),
        "after a gap": (("offsets/0", "commits/0", "offsets/4", "commits/4"), (), 5, 4),
    }.values(),
)
def test_a_rollback_goes_to_a_batch_that_is_whole(files, damaged, before, expected):
    view = replace(view_of(*files), damaged=dict.fromkeys(damaged, IncompleteLogFileError("cut off")))
    assert whole_batch_before(view, before) == expected
    assert view.whole is view.whole, "found once, as every finding asks"


def test_a_rollback_goes_where_one_was_found_to_be_possible():
    view = replace(view_of(*WHOLE), restorable={1: 0, 0: None})
    assert (whole_batch_before(view, 3), whole_batch_before(view, 2), whole_batch_before(view, 1)) == (2, 0, None)
    assert back_to(view, 1, why="Why.").get("commands") == (back(0),)
    assert "No batch can be rolled back to" in back_to(view, 0, why="Why.")["hint"]


#: Goldens and what is lost of them: every batch that is advised has to be one that ``ckpt rollback`` takes.
LOST = [
    (name, lost)
    for name in (
        "agg-hdfs",
        "agg-rocksdb",
        "agg-rocksdb-changelog-v2",
        "join-hdfs",
        "drop-duplicates",
    )
    for lost in ("half of a partition", "the newest two versions", "all but the newest", "two log entries", "emptied")
]


@pytest.mark.parametrize(("name", "lost"), LOST, ids=map(" ".join, LOST))
def test_every_batch_that_is_advised_can_be_rolled_back_to(name, lost, golden):
    checkpoint = golden(name)
    lose(checkpoint, lost)
    store = Store.open(str(checkpoint))
    found = inspect(store, deep=True)
    for batch_id in targets_of(found):
        assert make_rollback(Stores(store), batch_id).batch_id == batch_id
    state = [finding for finding in found if finding.code in ("CKPT122", "CKPT130")]
    assert len({finding.code for finding in state}) == len(state), "one damage is one finding"


def lose(checkpoint: Path, what: str) -> None:
    """Lose or empty some files of the state, or of the logs."""
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    if what == "two log entries":
        for name in (f"offsets/{newest - 1}", f"commits/{newest - 2}"):
            (checkpoint / name).unlink()
        return
    names = [str(path.relative_to(checkpoint)) for path in sorted((checkpoint / "state/0").rglob("*"))]
    files = {name: place for name in names if isinstance(place := layout.parse(name), layout.StateFile)}
    last = max(place.version for place in files.values())
    for name, place in files.items():
        is_chosen = {
            "half of a partition": place.store_id.partition == 0 and place.version % 2 == last % 2,
            "the newest two versions": place.version >= last - 1,
            "all but the newest": place.version < last,
            "emptied": place.version == last,
        }[what]
        if is_chosen and what == "emptied":
            (checkpoint / name).write_bytes(b"")
        elif is_chosen:
            (checkpoint / name).unlink()


@pytest.mark.parametrize(
    ("remedy", "hint", "commands"),
    {
        "from a backup": (from_backup(view_of(*WHOLE), "it"), "Restore it from a backup (ckpt backups ROOT lists the IDs).", (REPAIR, RESTORE)),
        "or something else": (
            from_backup(view_of(*WHOLE), "it", why="It is lost.", otherwise="wait"),
            "It is lost. Restore it from a backup (ckpt backups ROOT lists the IDs), or wait.",
            (REPAIR, RESTORE),
        ),
        "or back": (
            from_backup_or_before(view_of(*WHOLE), "it", 2),
            "Restore it from a backup (ckpt backups ROOT lists the IDs), or roll back to batch 1.",
            (REPAIR, back(1), RESTORE),
        ),
        "or back to a batch that the rule does not know": (
            from_backup_or_before(view_of(*WHOLE), "it", None),
            "Restore it from a backup (ckpt backups ROOT lists the IDs), or roll back to a batch before it.",
            (REPAIR, back("N"), RESTORE),
        ),
        "no batch to go back to": (
            from_backup_or_before(view_of(*WHOLE), "it", 0),
            f"Restore it from a backup (ckpt backups ROOT lists the IDs), or {NO_BATCH}",
            (REPAIR, RESTORE),
        ),
        "nothing was ever committed": (
            from_backup_or_before(view_of("offsets/0"), "it", None),
            f"Restore it from a backup (ckpt backups ROOT lists the IDs), or {NO_BATCH}",
            (REPAIR, RESTORE),
        ),
        "back alone": (back_before(view_of(*WHOLE), 2), "Roll back to batch 1.", (back(1),)),
        "back alone, and no batch": (
            back_before(view_of(*WHOLE), 0, why="It is odd."),
            f"It is odd. Restore the checkpoint from a backup (ckpt backups ROOT lists the IDs), or {NO_BATCH}",
            (REPAIR, RESTORE),
        ),
        "back to a batch": (
            back_to(view_of(*WHOLE), 2, why="It is odd."),
            "It is odd. Roll back to batch 2.",
            (back(2),),
        ),
    }.values(),
)  # fmt: skip
def test_what_is_advised(remedy, hint, commands):
    assert (remedy["hint"], remedy["commands"]) == (hint, commands)


def test_a_location_is_typed_as_a_shell_takes_it():
    (command,) = back_to(replace(view_of(*WHOLE), location="/my lake/o'neil"), 2, why="")["commands"]
    assert shlex.split(command)[2] == "/my lake/o'neil"


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ((), "Do it."),
        (("a",), "Do it. This command shows its plan, and changes nothing without --execute: a"),
        (("a", "b"), "Do it. Each of these commands shows its plan, and changes nothing without --execute: a; b"),
    ],
)
def test_people_read_the_hint_and_the_commands(commands, expected):
    assert Finding("CKPT102", "error", "it is bad", hint="Do it.", commands=commands).advice == expected
    assert Finding("CKPT102", "error", "it is bad").advice is None


@pytest.mark.parametrize("damaged", ["offsets/7", "metadata", "sources/0/5", "state/0/0/8.delta", "commits/7"])
def test_damage_that_a_backup_mends_names_the_repair_in_place_first(damaged, golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / damaged).write_bytes(b"")
    errors = [item for item in inspect(Store.open(str(checkpoint)), deep=True) if item.severity == "error"]
    assert any("from a backup" in (item.hint or "") for item in errors)
    for item in errors:
        if "from a backup" in (item.hint or ""):
            assert item.commands[0] == f"ckpt rollback {checkpoint} --to-backup ROOT/ID {SINK}"
            assert item.commands[-1] == RESTORE


def test_the_rollback_that_is_advised_can_be_planned(golden, capsys):
    """Without a backup: the command is typed as it is, but for the sink."""
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets/7").write_bytes(b"")
    commands = {command for item in inspect(Store.open(str(checkpoint))) for command in item.commands}
    (rollback,) = (command for command in commands if "--to-batch" in command)
    assert rollback == f"ckpt rollback {checkpoint} --to-batch 6 {SINK}"
    typed = shlex.split(rollback.replace("TYPE[:URI]", "noop"))
    assert run([*typed[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["batch_id"] == 6


def test_a_torn_file_has_the_salvage_beside_the_rollback():
    remedy = or_salvage(view_of(*WHOLE), back_before(view_of(*WHOLE), 2))
    assert remedy["commands"] == (back(1), f"ckpt salvage c {SINK}")
    assert remedy["hint"].endswith("ckpt salvage finds the newest batch that can be saved.")
