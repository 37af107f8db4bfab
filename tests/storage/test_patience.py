"""A storage that accepts connections and never answers."""

from __future__ import annotations

import socket
from threading import Thread

import pytest

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage import patience
from airflow_provider_ckpt.storage.patience import without_patience
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def silent():
    """The port of a server that never answers, and the connections that it has accepted."""
    accepted = []

    def accept():
        while True:
            try:
                accepted.append(server.accept()[0])
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], accepted
        server.shutdown(socket.SHUT_RDWR)
    for connection in accepted:
        connection.close()


@pytest.mark.s3
def test_it_is_asked_once_and_not_for_long(silent, monkeypatch):
    port, accepted = silent
    monkeypatch.setattr(patience, "READ_S", 0.2)
    options = {"endpoint_url": f"http://127.0.0.1:{port}", "key": "key", "secret": "secret"}
    store = without_patience(Store.open("s3://lake/orders", **options))
    with pytest.raises(StoreUnavailableError):
        store.ls()
    assert len(accepted) == 1


def test_a_disk_is_as_it_was(tmp_path):
    store = Store.open(str(tmp_path))
    assert without_patience(store) is store
