"""A look at a checkpoint that a query writes to: whatever the moment, what the look shows can be read."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery
from tests.faults import Fault, FaultyStore

BATCHES = 3


class Planning(Fault):
    """Lets a query plan and commit its next batch right before one call."""

    def __init__(self, query: FakeQuery, at: int | None = None) -> None:
        super().__init__()
        self.query, self.begins_at = query, at

    def hits(self, call: str, store: Store) -> bool:
        super().hits(call, store)
        if self.calls == self.begins_at:
            self.query.commit(BATCHES)
        return False


def test_a_batch_that_comes_at_any_call_of_a_look_is_read_with_it(tmp_path):
    seen = set()
    calls, at = 1, 0
    while at < calls:
        query = FakeQuery(Store.open(str(tmp_path / f"{at}")))
        for batch_id in range(BATCHES):
            query.commit(batch_id)
        fault = Planning(query, at or None)
        view = observe(FaultyStore.of(query.store, fault), deep=True)
        assert view.latest_offset_seq is not None
        assert view.commit(view.latest_committed) is not None
        seen.add(view.latest_planned)
        calls, at = max(calls, fault.calls), at + 1
    assert calls > 5
    assert seen == {BATCHES - 1, BATCHES}
