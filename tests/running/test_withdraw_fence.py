"""What a stop has put into a checkpoint is taken back before a start, or nothing that Spark stops at is started."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.running import withdraw_fence as module
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from airflow_provider_ckpt.running.withdraw_fence import withdraw_fence
from tests.running.simulated import patience


@pytest.fixture
def stopped(run):
    def begin(*, hold: bool = False):
        unit, engine = run()
        stop_query(unit, engine, StopRequest(hold=hold), by="ann", settle_s=0.1, patience=patience(engine))
        return unit.members[0]

    return begin


def withdraw(member, tell=print) -> None:
    withdraw_fence(member, word=True, by="ann", break_lock=False, tell=tell)


@pytest.mark.parametrize("hold", [False, True])
def test_what_was_put_there_is_taken_back_once(stopped, hold):
    member = stopped(hold=hold)
    withdraw(member)
    assert find_fence(member.stores) is None
    withdraw(member)


@pytest.mark.parametrize("hold", [False, True])
def test_what_cannot_be_taken_back_is_told_and_a_hold_lets_nothing_start(stopped, monkeypatch, hold):
    def refuse(*_, **__):
        raise PlanError("the sink does not fit the query.")

    member, told = stopped(hold=hold), list[str]()
    monkeypatch.setattr(module, "make_undo", refuse)
    if hold:
        with pytest.raises(PlanError, match="the entry that holds orders0 cannot be taken back: the sink does not fit"):
            withdraw(member)
    else:
        withdraw(member, told.append)
        assert told[0].startswith("The fence of orders0 stays, and the next batch is that of the fence")
