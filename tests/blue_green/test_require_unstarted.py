"""A fork is for one start: what an application has committed, or given to its sink, nobody writes again."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from airflow_provider_ckpt.blue_green.require_unstarted import require_unstarted
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import FORK_ID, Query, fork_of


def check(fork: Query) -> None:
    shadow = parse_sink(f"file:{fork.out}"), Store.open(str(fork.out))
    require_unstarted(Store.open(str(fork.checkpoint)), 3, shadow)


def test_a_fork_that_was_staged_alone(tmp_path):
    fork = fork_of(tmp_path, 2)
    fork.plan(3, {"offset": 12})
    check(fork)
    require_unstarted(Store.open(str(fork.checkpoint)), 3, (parse_sink("kafka"), None))
    require_unstarted(Store.open(str(fork.checkpoint)), 3, None)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda fork: fork.run(3, rows=False), "batch 3 is committed"),
        (lambda fork: fork.write(3, []), "batch 3 is in its output"),
        (lambda fork: fork.run(3, 4), "batch 3 is in its output"),
    ],
    ids=["committed", "written", "both, and more"],
)
def test_a_fork_that_an_application_has_run_on(tmp_path, happens, reason):
    fork = fork_of(tmp_path, 2)
    happens(fork)
    with pytest.raises(PlanError, match=f"an application has run on the fork already: {reason}"):
        check(fork)


@pytest.mark.parametrize(
    ("writer", "batch", "mark", "is_known"),
    [
        (FORK_ID, 3, "", True),
        (FORK_ID, 2, "", False),
        ("somebody else", 3, "", False),
        ("orders", 4, "#txnAppId=orders", True),
    ],
)
def test_a_table_that_the_application_has_written_to(tmp_path, writer, batch, mark, is_known):
    """It died between its table and its commit: the batch is in the table, and not committed."""
    fork, place = Store.open(str(fork_of(tmp_path, 2).checkpoint)), str(tmp_path / "table")
    shadow = parse_sink(f"delta:{place}{mark}"), Store.open(place)
    require_unstarted(fork, 3, shadow)  # the table is not there yet
    marked = CommitProperties(app_transactions=[Transaction(writer, batch)])
    write_deltalake(place, pa.table({"value": [1]}), commit_properties=marked)
    if is_known:
        with pytest.raises(PlanError, match="batch 3 is in its output"):
            require_unstarted(fork, 3, shadow)
    else:
        require_unstarted(fork, 3, shadow)
