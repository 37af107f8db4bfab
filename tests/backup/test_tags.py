"""What people say of a backup is checked before a backup is taken, or dropped."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.tags import message_of, tags_of
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ("release", ("release",)),
        (["release", "keep"], ("release", "keep")),
        (("release",), ("release",)),
        ([], ()),
        ((), ()),
        (None, ()),
        ("", ()),
    ],
)
def test_one_text_is_one_tag(given, tags):
    assert tags_of(given) == tags
    assert RetentionPolicy(keep_last=1, keep_tags=given).keep_tags == tags


@pytest.mark.parametrize("given", [5, [5], [""], ["release", None], b"release", 2.5, True, [["release"]]])
def test_what_is_no_tag_is_refused(given):
    with pytest.raises(ValueError, match="the tags of a backup must be a list"):
        tags_of(given)
    with pytest.raises(ValueError, match="the tags of a backup must be a list"):
        RetentionPolicy(keep_last=1, keep_tags=given)


def test_a_message_is_a_text_or_none():
    assert (message_of(None), message_of(""), message_of("before the release")) == ("", "", "before the release")
    with pytest.raises(ValueError, match="must be a text, not 5"):
        message_of(5)


@pytest.mark.parametrize("count", ["3", 2.5, True, None])
def test_numbers_to_keep_are_whole_numbers(count):
    with pytest.raises(ValueError, match="whole number"):
        RetentionPolicy(keep_last=count)


@pytest.mark.parametrize("words", [{"message": 5}, {"tags": [5]}, {"tags": 5}], ids=str)
def test_a_backup_that_could_not_be_read_again_is_not_taken(goldens, tmp_path, words):
    """A template that is rendered natively makes a number of a text; the manifest was refused by every later command."""
    root = Store.open(str(tmp_path / "backups"))
    with pytest.raises(PlanError, match="No backup was taken"):
        take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-5"] / "checkpoint")), root, **words)
    assert root.find() == {}
