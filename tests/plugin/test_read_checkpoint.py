"""Reading a checkpoint for its page: whatever is wrong with it, there is a page, and the page says what."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.goal import ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.listing import list_tree
from airflow_provider_ckpt.errors import CheckpointError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.plugin import read_checkpoint
from airflow_provider_ckpt.plugin.checkpoint_page import CheckpointPage
from airflow_provider_ckpt.plugin.read_checkpoint import PATIENCE_S, declared_types, read_page
from airflow_provider_ckpt.storage.store import Store
from tests.damages import DAMAGES
from tests.plugin.kafka_checkpoints import write_checkpoint

KAFKA = {"0": "kafka"}


def page_of(place: Path, *backups: Path, **more) -> CheckpointPage:
    return read_page(Store.open(str(place)), [partial(Store.open, str(root)) for root in backups], **more)


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    return write_checkpoint(tmp_path / "orders", 6, in_flight=True)


def test_a_checkpoint_of_a_kafka_query(checkpoint):
    page = page_of(checkpoint, declared=KAFKA)
    assert page.latest is not None
    assert (page.latest.latest_committed, page.latest.in_flight, page.entries) == (4, 5, 11)
    (source,) = page.sources
    assert [(part.name, part.committed, part.read) for part in source.partitions] == [
        ("orders-0", 50, 50),
        ("orders-1", 50, 50),
    ]
    assert (page.problem, page.missing, page.status) == ("", {}, 200)
    assert len(page.charts) == 3 and source.chart


def test_rollbacks_and_backups_are_shown(checkpoint, tmp_path):
    store = Store.open(str(checkpoint))
    take_backup(store, Store.open(str(tmp_path / "backups")))
    stores = Stores.of(str(checkpoint), Store.open)
    plan = make_rollback(stores, ToBatch(2))
    apply(plan, stores, by="dag/run", query_is_stopped=True, quiet_s=0, accept_sink="unknown", approved_by="ann")
    page = page_of(checkpoint, tmp_path / "backups")
    assert [(change.plan.plan_id, change.by, change.approved_by) for change in page.changes] == [
        (plan.plan_id, "dag/run", "ann")
    ]
    assert page.lines[0].change == page.changes[0], "above the newest batch that is left"
    assert [line.batch.batch_id for line in page.lines[1:] if line.batch] == [2, 1, 0]
    assert [(item.batch_id, item.root) for item in page.backups] == [(4, str(tmp_path / "backups"))]


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


HOSTILE: dict[str, Callable[[Path], object]] = {
    **DAMAGES,
    "a directory": _directory,
    "foreign": lambda path: path.write_bytes(os.urandom(0) + b"\xff\xfe<script>alert(1)</script>" * 50),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link to nowhere": lambda path: (path.unlink(), path.symlink_to("/nothing/there")),
    "numbers of a billion digits": lambda path: path.write_bytes(b"v1\n{}\n" + b"9" * 100_000),
    "deep": lambda path: path.write_bytes(b"v1\n" + b"[" * 100_000),
    "much too large": lambda path: os.truncate(path, 10 << 30),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", ["metadata", "offsets/5", "offsets/3", "commits/4"])
def test_whatever_is_in_the_place_of_a_file_there_is_a_page(checkpoint, name, what):
    HOSTILE[what](checkpoint / name)
    page = page_of(checkpoint, declared=KAFKA)
    assert page.problem == "" and (page.batches or "log" in page.missing), page
    if what != "flipped" and (name, what) != (
        "offsets/5",
        "missing",
    ):  # which is another number, and no batch in flight
        said = [*page.missing.values(), *(note.text for batch in page.batches for note in batch.notes)]
        assert page.findings or said


GONE: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "nothing": (shutil.rmtree, 404, "the location does not exist."),
    "an empty directory": (lambda path: (shutil.rmtree(path), path.mkdir()), 404, "the location is empty."),
    "a file": (lambda path: (shutil.rmtree(path), path.write_text("")), 200, "this is a file, not a directory"),
    "a Delta table": (
        lambda path: (shutil.rmtree(path), (path / "_delta_log").mkdir(parents=True)),
        404,
        "this is not a checkpoint",
    ),
}


@pytest.mark.parametrize("what", GONE)
def test_where_there_is_no_checkpoint_the_page_says_so(checkpoint, what):
    make, status, said = GONE[what]
    make(checkpoint)
    page = page_of(checkpoint)
    assert page.status == status and said in page.problem
    assert str(checkpoint) in page.problem


@pytest.mark.parametrize("failing", ["ls", "names", "read", "read_up_to", "stat"])
def test_a_storage_that_does_not_answer_is_a_sentence(checkpoint, monkeypatch, failing):
    def fail(self, *_, **__):
        raise StoreUnavailableError("the storage does not answer", location=self.location)

    monkeypatch.setattr(Store, failing, fail)
    page = page_of(checkpoint)
    if failing != "stat":  # which an ordinary checkpoint does not need
        assert "the storage does not answer" in " ".join([page.problem, *page.missing.values()])


class Clock:
    """Seconds that go on only when a part takes some."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def slow(self, read: Callable) -> Callable:
        """The same reading, which takes longer than a page waits."""

        def wrapped(*args, **more):
            self.now_s += PATIENCE_S + 1
            return read(*args, **more)

        return wrapped


#: What takes long, and the parts that are not begun after it.
SLOW = {
    "list_both": {"log", "latest", "sources", "findings", "backups", "changes"},
    "read_log": {"latest", "sources", "findings", "backups", "changes"},
    "examine": {"sources", "findings", "backups", "changes"},
    "check": {"backups", "changes"},
    "survey": set(),
}


@pytest.mark.parametrize("slow", SLOW)
def test_after_a_slow_part_no_other_is_begun(checkpoint, tmp_path, monkeypatch, slow):
    take_backup(Store.open(str(checkpoint)), Store.open(str(tmp_path / "backups")))
    clock, begun = Clock(), []
    for name in SLOW:
        read = getattr(read_checkpoint, name)
        noted = lambda *args, name=name, read=read, **more: (begun.append(name), read(*args, **more))[1]  # noqa: E731
        monkeypatch.setattr(read_checkpoint, name, clock.slow(noted) if name == slow else noted)
    page = page_of(checkpoint, tmp_path / "backups", clock=clock)
    assert begun == list(SLOW)[: list(SLOW).index(slow) + 1]
    assert page.missing.keys() == SLOW[slow]
    assert all(said.startswith("The storage is slow, so this part was not read") for said in page.missing.values())
    assert bool(page.backups) == ("backups" not in SLOW[slow])


def test_between_two_backups_the_time_is_looked_at(checkpoint, tmp_path, monkeypatch):
    for _ in range(2):
        take_backup(Store.open(str(checkpoint)), Store.open(str(tmp_path / "backups")))
    clock = Clock()
    monkeypatch.setattr(QueryBackups, "read", clock.slow(QueryBackups.read))
    page = page_of(checkpoint, tmp_path / "backups", clock=clock)
    assert len(page.backups) == 1 and "The storage is slow" in page.missing["backups"]


def test_a_root_of_backups_that_cannot_be_opened_hides_no_other(checkpoint, tmp_path):
    def refuse() -> Store:
        raise StoreError("the Airflow connection 'lake' cannot open this.", location="s3://lake/backups")

    take_backup(Store.open(str(checkpoint)), Store.open(str(tmp_path / "backups")))
    good = partial(Store.open, str(tmp_path / "backups"))
    page = read_page(Store.open(str(checkpoint)), [refuse, good, partial(refuse)])
    assert len(page.backups) == 1 and page.latest is not None
    assert page.missing == {"backups": "s3://lake/backups: the Airflow connection 'lake' cannot open this."}


def test_without_a_query_id_the_backups_of_the_location_are_shown(checkpoint, tmp_path):
    backups = tmp_path / "backups"
    take_backup(Store.open(str(checkpoint)), Store.open(str(backups)))
    other = write_checkpoint(tmp_path / "other")
    take_backup(Store.open(str(other)), Store.open(str(backups)))
    assert len(page_of(checkpoint, backups).backups) == 2, "of the same query"
    (checkpoint / "metadata").unlink()
    (own,) = page_of(checkpoint, backups).backups
    assert own.batch_id == 4


def test_a_damaged_record_hides_no_other_part(checkpoint):
    record = checkpoint.parent / "_ckpt_undo" / checkpoint.name / ("0" * 16)
    record.mkdir(parents=True)
    (record / "plan.json").write_text("{}")
    page = page_of(checkpoint)
    assert page.latest is not None and "is not the plan that was recorded" in " ".join(page.unreadable)


def test_records_are_bounded(checkpoint, monkeypatch):
    """A checkpoint with very many records, or with a huge one, has a page all the same."""
    stores = Stores.of(str(checkpoint), Store.open)
    for batch_id in (3, 2):
        plan = make_rollback(stores, ToBatch(batch_id))
        apply(plan, stores, by="b", query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert len(page_of(checkpoint).changes) == 2
    monkeypatch.setattr(read_checkpoint, "MOST_CHANGES", 1)
    page = page_of(checkpoint)
    assert len(page.changes) == 1 and page.unreadable == ["No more than 1 changes are read for this page."]
    monkeypatch.setattr(read_checkpoint, "MOST_PLAN_BYTES", 10)
    page = page_of(checkpoint)
    assert page.changes == [] and "is larger than" in page.unreadable[0]


def test_reading_changes_nothing(checkpoint, tmp_path):
    before = list_tree(Store.open(str(tmp_path)))
    page_of(checkpoint, tmp_path / "backups", declared=KAFKA)
    assert list_tree(Store.open(str(tmp_path))) == before


@pytest.mark.parametrize(
    ("text", "found"), [("", {}), ("0=kafka", {"0": "kafka"}), (" 0 = kafka ,\n1=delta", {"0": "kafka", "1": "delta"})]
)
def test_types_are_read_as_people_write_them(text, found):
    assert declared_types(text) == found


@pytest.mark.parametrize("text", ["0", "kafka", "0=", "=kafka", "0=<b>", "0=kafka=1"])
def test_what_is_no_type_is_said(text):
    with pytest.raises(CheckpointError, match="is no type of a source: give 0=kafka"):
        declared_types(text)
