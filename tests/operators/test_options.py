"""The arguments of each operator that changes a checkpoint, held against the options of its command."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import pytest

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.undo.request import UndoRequest
from airflow_provider_ckpt.changes.fence.request import FenceRequest
from airflow_provider_ckpt.changes.repair.request import RepairRequest
from airflow_provider_ckpt.changes.repartition.request import RepartitionRequest
from airflow_provider_ckpt.changes.reset.request import ResetRequest
from airflow_provider_ckpt.changes.restore.request import RestoreRequest
from airflow_provider_ckpt.changes.rollback.request import RollbackRequest
from airflow_provider_ckpt.changes.salvage.request import SalvageRequest
from airflow_provider_ckpt.changes.seed.request import SeedRequest
from airflow_provider_ckpt.changes.sources.request import SourcesRequest
from airflow_provider_ckpt.operators import checkpoint as operators
from tests.operators.parameters import parameters
from tests.option_names import options_of

pytestmark = pytest.mark.airflow

#: Each operator of a change with its command, and what an option is called there when it has another name.
COMMANDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Rollback": ("rollback", {"--source": "sources", "--backups": "backup_root"}),
    "Undo": ("undo", {"--plan-id": "undoes"}),
    "Repartition": ("repartition", {"--conf": "confs"}),
    "ResetOffsets": (
        "reset-offsets",
        {
            "--from-file": "from_csv",
            "--topic": "topics",
            "--kafka-config": "kafka_conn_id",
        },
    ),
    "Sources": ("sources", {"--as": "continued", "--drop": "dropped", "--operator": "operators"}),
    "Salvage": ("salvage", {}),
    "Repair": ("repair", {}),
    "Fence": ("fence", {}),
    "Restore": ("restore", {"--sink": "sinks", "--to": "checkpoint"}),
    "Seed": ("seed", {"--from": "origin", "--source": "sources", "--sink": "sinks"}),
}
#: Of every command.
NAMED = {"--undo-to": "undo_root", "--i-know-it-is-stopped": "query_is_stopped", "--wait-for-batch": "wait_for_batch"}
#: Options for a shell alone; a task has a connection, XComs, and carries out unless it only plans.
OF_A_SHELL = {"--json", "--help", "--storage-option", "--plan-out", "--execute", "--export"}
#: Arguments for a DAG alone, and arguments of the command that are no options.
OF_A_DAG = {"checkpoint", "checkpoint_conn_id", "plan_only", "approved_at", "expected_plan", "backup_root", "backup_id"}


@pytest.mark.parametrize(("name", "command", "renamed"), [(name, *said) for name, said in COMMANDS.items()])
def test_an_operator_takes_what_its_command_takes(name, command, renamed):
    kind = getattr(operators, f"Checkpoint{name}Operator")
    called = {**NAMED, **renamed}
    options = {called.get(option, option[2:].replace("-", "_")) for option in options_of(command) - OF_A_SHELL}
    assert options - parameters(kind).keys() == set()
    own = {taken for taken in parameters(kind) if taken not in ("self", "kwargs")}
    assert own - options - OF_A_DAG == set()


def test_every_operator_that_changes_a_checkpoint_is_held():
    kinds = {name for name in operators.__all__ if hasattr(getattr(operators, name), "kind")}
    assert kinds - {f"Checkpoint{name}Operator" for name in COMMANDS} == set()


#: Arguments that say how a change is carried out, or where it is.
NOT_ASKED = {
    *("self", "kwargs", "checkpoint", "checkpoint_conn_id", "plan", "plan_only", "expected_plan", "query_is_stopped"),
    *("accept_sink", "approved_by", "approved_at", "undo_root", "quiet_period", "break_lock", "backup_root"),
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


@pytest.mark.parametrize("name", REQUESTS)
def test_a_constructor_has_the_fields_of_the_request(name):
    """Each field, and no other; what says nothing is None, or an empty tuple or mapping."""
    taken = parameters(getattr(operators, f"Checkpoint{name}Operator"))
    asked = {name: parameter.default for name, parameter in taken.items() if name not in NOT_ASKED}
    assert {name: value or None for name, value in asked.items()} == {
        name: field.default or None for name, field in fields_of(REQUESTS[name]).items()
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_by_name_and_has_a_default_but_for_the_place(name):
    kind = getattr(operators, f"Checkpoint{name}Operator")
    for taken, parameter in parameters(kind).items():
        if taken not in ("self", "kwargs", "checkpoint", "backup_root"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, taken
            assert parameter.default is not inspect.Parameter.empty, taken
