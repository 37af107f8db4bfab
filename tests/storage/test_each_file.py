"""A file that cannot be opened is told of by itself; what is gone, and a storage that does not answer, are not."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt.errors import ObjectNotFoundError, StoreUnavailableError, UnreadableError
from airflow_provider_ckpt.storage.each_file import EachFile
from airflow_provider_ckpt.storage.store import Store


def test_one_file_that_cannot_be_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/no/such/file")
    (tmp_path / "whole").write_bytes(b"v1")
    files = EachFile(Store.open(str(tmp_path)))
    assert (files.read("whole"), files.head("whole"), list(files.chunks("whole"))) == (b"v1", b"v1", [b"v1"])
    for name, said in (("pipe", "a named pipe"), ("link", "a link that leads nowhere")):
        for read in (files.read, files.head, lambda name: list(files.chunks(name))):
            with pytest.raises(UnreadableError, match=said) as raised:
                read(name)
            assert raised.value.name == name


def test_what_is_gone_is_gone_and_a_silent_storage_is_silent(tmp_path, monkeypatch):
    files = EachFile(Store.open(str(tmp_path)))
    with pytest.raises(ObjectNotFoundError):
        files.read("gone")

    def silent(self: Store, name: str, most: int, start: int = 0) -> bytes:
        raise StoreUnavailableError("no answer", location=self.location, name=name)

    monkeypatch.setattr(Store, "read_up_to", silent)
    with pytest.raises(StoreUnavailableError):
        files.read("any")
