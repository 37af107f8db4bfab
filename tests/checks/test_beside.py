"""Rules about what lies beside the files of Spark; what each of them finds is in ``test_rules.py``."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.beside import unknown
from airflow_provider_ckpt.storage.store import Store


def test_thousands_of_unknown_files_cost_no_more_than_a_listing_of_them(monkeypatch, golden):
    """The links of a view are found by going through all that it lists: once for a rule, not once for each file."""
    asked = []
    links = CheckpointView.links

    def counted(view):
        asked.append(view)
        return links.fget(view)

    monkeypatch.setattr(CheckpointView, "links", property(counted))
    checkpoint = golden("agg-hdfs")
    for number in range(300):
        (checkpoint / f"note-{number}").touch()
    (found,) = unknown(observe(Store.open(str(checkpoint)), deep=True))
    assert found.message.startswith("300 files") and len(asked) == 1
