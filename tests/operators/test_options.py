"""The arguments of each operator that changes a checkpoint, held against the request from which its command is made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pytest

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.undo.make import UndoRequest
from airflow_provider_ckpt.changes.fence.make import FenceRequest
from airflow_provider_ckpt.changes.repair.make import RepairRequest
from airflow_provider_ckpt.changes.repartition.make import RepartitionRequest
from airflow_provider_ckpt.changes.reset.make import ResetRequest
from airflow_provider_ckpt.changes.restore.make import RestoreRequest
from airflow_provider_ckpt.changes.rollback.make import RollbackRequest
from airflow_provider_ckpt.changes.salvage.make import SalvageRequest
from airflow_provider_ckpt.changes.seed.make import SeedRequest
from airflow_provider_ckpt.changes.sources.make import SourcesRequest
from airflow_provider_ckpt.operators import checkpoint as operators
from tests.operators.parameters import parameters

pytestmark = pytest.mark.airflow

#: Arguments that say how a change is carried out, or where it is.
NOT_ASKED = {
    *("self", "kwargs", "checkpoint", "checkpoint_conn_id", "query", "query_file"),
    *("plan", "plan_only", "expected_plan", "query_is_stopped"),
    *("accept_sink", "approved_by", "approved_at", "undo_root", "quiet_period", "break_lock"),
}
REQUESTS: Mapping[str, type] = {
    "Rollback": RollbackRequest,
    "Undo": UndoRequest,
    "ResetOffsets": ResetRequest,
    "Sources": SourcesRequest,
    "Salvage": SalvageRequest,
    "Repair": RepairRequest,
    "Repartition": RepartitionRequest,
    "Fence": FenceRequest,
    "Seed": SeedRequest,
    "Restore": RestoreRequest,
}


def test_every_operator_that_changes_a_checkpoint_is_held():
    kinds = {name for name in operators.__all__ if hasattr(getattr(operators, name), "kind")}
    assert kinds - {f"Checkpoint{name}Operator" for name in REQUESTS} == set()


@pytest.mark.parametrize("name", REQUESTS)
def test_a_constructor_has_the_fields_of_the_request(name):
    """Each field, and no other; what says nothing, or has to be given, is None or empty."""
    taken = parameters(getattr(operators, f"Checkpoint{name}Operator"))
    asked = {name: parameter.default for name, parameter in taken.items() if name not in NOT_ASKED}
    given = inspect.Parameter.empty
    assert {name: None if value is given else value or None for name, value in asked.items()} == {
        name: field.default or None for name, field in fields_of(REQUESTS[name]).items()
    }


@pytest.mark.parametrize("name", REQUESTS)
def test_every_argument_is_by_name_and_has_a_default(name):
    kind = getattr(operators, f"Checkpoint{name}Operator")
    for taken, parameter in parameters(kind).items():
        if taken not in ("self", "kwargs"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, taken
            assert parameter.default is not inspect.Parameter.empty, taken
