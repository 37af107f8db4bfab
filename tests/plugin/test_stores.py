"""What is opened for a page: never anything outside of the roots, whatever links a writer of checkpoints makes."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.record.journal import survey
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.plugin import stores
from airflow_provider_ckpt.plugin.stores import connected, open_below, open_connected, open_root
from airflow_provider_ckpt.storage.roots import OutsideRootsError, parse_roots
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def place(tmp_path):
    for name in ("roots/q/offsets", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret" / "0").write_text("s3cret")
    (tmp_path / "roots" / "q" / "offsets" / "0").write_text("v1")
    return tmp_path


def test_what_is_below_is_read(place):
    store = open_below(parse_roots(str(place / "roots")), f"file://{place}/roots/q")
    assert store.read("offsets/0") == b"v1"
    assert store.ls("offsets")[0].keys() == {"offsets/0"}


def test_outside_nothing_is_opened(place, monkeypatch):
    monkeypatch.setattr(stores, "CheckpointHook", None)
    roots = parse_roots(f"{place}/roots")
    for location in (f"{place}/secret", f"{place}/not-there", "s3://lake/q"):
        with pytest.raises(OutsideRootsError):
            open_below(roots, location)


@pytest.mark.parametrize("way", ["commits", "offsets/1", "sources/0"])
def test_a_link_that_leads_out_is_not_followed(place, way):
    q = place / "roots" / "q"
    (q / way).parent.mkdir(exist_ok=True)
    (q / way).symlink_to(place / "secret" / "0" if way == "offsets/1" else place / "secret")
    store = open_below(parse_roots(str(place / "roots")), str(q))
    name = way if way == "offsets/1" else f"{way}/0"
    for read in (store.read, store.stat, lambda name: list(store.chunks(name)), lambda name: store.read_up_to(name, 9)):
        with pytest.raises(StoreError, match="this is a link that points outside of the root"):
            read(name)
    if way != "offsets/1":
        with pytest.raises(StoreError, match="this is a link"):
            store.ls(way)
        with pytest.raises(StoreError, match="this is a link"):
            store.child(way)


def test_a_link_to_another_root_is_followed(place):
    (place / "more").mkdir()
    (place / "more" / "0").write_text("v1")
    (place / "roots" / "q" / "commits").symlink_to(place / "more")
    store = open_below(parse_roots(f"{place}/roots, {place}/more"), str(place / "roots" / "q"))
    assert store.read("commits/0") == b"v1"


def test_a_root_is_opened_with_its_connection(monkeypatch):
    opened = []

    class Hook:
        def __init__(self, conn_id, options):
            self.conn_id = conn_id

        def store(self, location):
            opened.append((self.conn_id, location))
            return Store.open("memory://lake")

    monkeypatch.setattr(stores, "CheckpointHook", Hook)
    open_below(parse_roots("s3a://lake/x conn=lake"), "s3n://lake/x/q")
    assert opened == [("lake", "s3://lake/x/q")]


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        (None, "the Airflow connection 'lake' cannot open this: The conn_id `lake` isn't defined"),
        (
            '{"conn_type": "checkpoint", "extra": {"storage_options": "["}}',
            "the storage_options of the connection lake",
        ),
    ],
)
def test_a_connection_that_is_missing_or_wrong_is_named(monkeypatch, connection, said):
    if connection:
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", connection)
    roots = parse_roots("s3://lake/x conn=lake")
    for opened in (
        lambda: open_below(roots, "s3://lake/x/q"),
        lambda: open_root(next(iter(roots))),
        lambda: open_connected("s3://lake/index", "lake"),
    ):
        with pytest.raises(StoreError) as caught:
            opened()
        assert said in str(caught.value)


def test_what_a_connection_says_has_no_secrets():
    with pytest.raises(StoreError) as caught, connected("lake", "s3://key:secret@lake/x?token=abc"):
        raise RuntimeError("no answer from https://ann:s3cret@vault/x?token=abc" + "!" * 1_000)
    text = str(caught.value)
    assert "s3://key@lake/x?token=***: the Airflow connection 'lake' cannot open this: no answer from" in text
    assert (
        "secret" not in text.replace("secrets", "") and "s3cret" not in text and "abc" not in text and len(text) < 700
    )


def test_a_fault_without_a_connection_stays_what_it_is():
    with pytest.raises(ZeroDivisionError), connected(None, "s3://lake/x"):
        raise ZeroDivisionError


def test_the_records_of_a_root_that_is_a_checkpoint_are_beside_it(tmp_path):
    checkpoint = tmp_path / "orders"
    (tmp_path / "_ckpt_undo" / "orders" / "record").mkdir(parents=True)
    (tmp_path / "_ckpt_undo" / "orders" / "record" / "begun.json").write_text("{}")
    (tmp_path / "other").mkdir()
    checkpoint.mkdir()
    store = open_below(parse_roots(str(checkpoint)), str(checkpoint))
    assert survey(store) == ((), {})
    with pytest.raises(StoreError, match="outside of the root"):
        store.at(str(tmp_path / "other")).read("metadata")
