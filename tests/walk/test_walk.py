"""``make walk``: random changes of queries of real Spark lose nothing, and what goes wrong is found."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from random import Random

import pytest

from tests.changes.sources.real_query import Spark
from tests.walk import command
from tests.walk.changes import home_of, roll_back
from tests.walk.run import SCRIPT, run
from tests.walk.tally import ENOUGH_WALKS, EVERY_KIND, UNDOABLE, Tally
from tests.walk.walk import Walk, WrongError
from tests.walk.ways import REFUSED, WAYS_OF

Run = Callable[[list[str]], int]
Fault = Callable[[Run, list[str]], int]


# --- what was never done is told -----------------------------------------------------------------------------------


def whole() -> Tally:
    """Of enough walks, in which everything has happened."""
    tally = Tally(walks=ENOUGH_WALKS)
    for change, ways in WAYS_OF.items():
        for way in ways:
            for end in ("done", "started", "undone"):
                tally.cells[change, way, end] = 1
    tally.drawn.update(EVERY_KIND)
    return tally


def test_a_run_in_which_everything_has_happened_has_no_hole():
    assert whole().holes() == []


@pytest.mark.parametrize(("change", "way"), [(change, way) for change, ways in WAYS_OF.items() for way in ways])
def test_a_change_that_was_never_made_in_one_way_is_a_hole(change: str, way: str):
    tally = whole()
    tally.cells[change, way, "done"] = 0
    tally.cells[change, way, "refused"] = 7
    assert tally.holes() == [f"{change}, {way}: never done"]


@pytest.mark.parametrize("change", UNDOABLE)
def test_a_change_that_was_never_undone_is_a_hole(change: str):
    tally = whole()
    for way in WAYS_OF[change]:
        tally.cells[change, way, "undone"] = 0
    assert tally.holes() == [f"{change}: never undone"]


def test_a_source_that_was_never_drawn_is_a_hole():
    tally = whole()
    del tally.drawn["kafka"]
    assert tally.holes() == ["kafka: never drawn"]


def test_few_walks_have_no_holes():
    assert Tally(walks=ENOUGH_WALKS - 1).holes() == []


def test_the_table_has_a_line_for_each_change_and_a_dash_for_what_it_has_no_way_for():
    rows = {words[0]: words[1:] for words in map(str.split, whole().table().splitlines()[2:])}
    assert set(rows) == set(WAYS_OF)
    assert rows["fence"] == ["1/0", "-", "1/0", "1/0", "1/0", "4", "4"]
    assert rows["backup"] == ["1/0", "-", "1/0", "1/0", "1/0", "4", "-"]


# --- what goes wrong is found --------------------------------------------------------------------------------------


def keeps_a_commit(run: Run, words: list[str]) -> int:
    """A rollback that leaves one commit too many."""
    if words[0] != "rollback":
        return run(words)
    commit = Path(words[1]) / "commits" / str(int(words[words.index("--to-batch") + 1]) + 1)
    data, code = commit.read_bytes(), run(words)
    commit.write_bytes(data)
    return code


def reads_again(run: Run, words: list[str]) -> int:
    """A rollback to one batch before the one that was asked for."""
    if words[0] != "rollback":
        return run(words)
    place = words.index("--to-batch") + 1
    return run([*words[:place], str(int(words[place]) - 1), *words[place + 1 :]])


def changes_a_byte(run: Run, words: list[str]) -> int:
    """An undo after which one byte of an offset entry is another one."""
    code = run(words)
    if words[0] == "undo":
        entry = Path(words[1]) / "offsets" / "0"
        entry.write_bytes(entry.read_bytes()[:-1] + b" ")
    return code


def writes_though_refused(run: Run, words: list[str]) -> int:
    """A change that is refused and has written."""
    code = run(words)
    if code == REFUSED:
        (Path(words[1]) / "left").write_bytes(b"")
    return code


def lets_pass(run: Run, words: list[str]) -> int:
    """A gate that says of every start that it will be fine."""
    if words[0] != "gate":
        return run(words)
    with redirect_stdout(io.StringIO()) as said:
        run(words)
    print(json.dumps({**json.loads(said.getvalue()), "spark_error": None, "decision": "pass"}))
    return 0


def to(walk: Walk, batch_id: int) -> None:
    """Roll back."""
    roll_back(walk, "rollback", batch_id, ("--to-batch", str(batch_id)))


def to_start_and_run(walk: Walk) -> None:
    """A rollback, and the query again."""
    to(walk, 1)
    walk.run()


def back_and_forth(walk: Walk) -> None:
    """A rollback and its undo."""
    to(walk, 1)
    walk.undo()


def to_nowhere(walk: Walk) -> None:
    """A rollback to a batch that there is not."""
    to(walk, 99)


def torn(walk: Walk) -> None:
    """A start of what Spark does not start."""
    (walk.checkpoint / "offsets" / str(walk.committed())).write_bytes(b"")
    walk.probe()


@pytest.fixture(scope="module")
def spark() -> Iterator[Spark]:
    """A process of Spark."""
    started = Spark(script=SCRIPT)
    yield started
    started.stop()


@pytest.fixture
def walk(spark: Spark, tmp_path: Path) -> Walk:
    """A walk whose query, a sum over files, has run twice; its next change of each kind is made in the plain way."""
    begun = Walk(-1, Random("1"), spark, home_of(tmp_path, 0), "", Tally(), shape="sum")
    for files in (2, 3):
        begun.write(files)
        begun.run()
    return begun


CASES = [
    (keeps_a_commit, to_start_and_run, "batch 2 is committed, and should be 1"),
    (reads_again, to_start_and_run, "batch 0 is committed, and should be 1"),
    (changes_a_byte, back_and_forth, r"the undo of rollback left .*'other': \['offsets/0'\]"),
    (writes_though_refused, to_nowhere, r"rollback was refused and has changed .*'new': \['left'\]"),
    (lets_pass, torn, "a copy: the gate said None, Spark "),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fault", "steps", "message"), CASES, ids=[fault.__name__ for fault, _, _ in CASES])
def test_a_walk_finds_a_fault(
    fault: Fault, steps: Callable[[Walk], None], message: str, walk: Walk, monkeypatch: pytest.MonkeyPatch
):
    right = command.run

    def wrong(arguments: Sequence[str], shown: Sequence[str] | None = None) -> int:
        return fault(lambda words: right(words, shown), list(arguments))

    monkeypatch.setattr(command, "run", wrong)
    with pytest.raises(WrongError, match=message):
        steps(walk)


@pytest.mark.exhaustive
@pytest.mark.parametrize("steps", [to_start_and_run, back_and_forth, to_nowhere, torn])
def test_a_walk_finds_nothing_where_nothing_is_wrong(steps: Callable[[Walk], None], walk: Walk):
    steps(walk)


@pytest.mark.exhaustive
def test_ten_minutes_of_random_walks():
    assert run(600, seed=11).wrong == []
