"""What the operators have in common that write a new checkpoint: what is asked for, and the approval."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.changes.new_place import CheckpointNewPlaceOperator
from airflow_provider_ckpt.operators.checkpoint import CheckpointRestoreOperator, CheckpointSeedOperator
from tests.operators.each_change import restore, seed, tree
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

both = pytest.mark.parametrize("change", [restore, seed], ids=str)


@pytest.mark.parametrize("operator", [CheckpointRestoreOperator, CheckpointSeedOperator])
def test_what_they_share_is_rendered_in_each(operator):
    assert set(CheckpointNewPlaceOperator.template_fields) < set(operator.template_fields)


@both
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"accept_sink": None}, "--accept-sink unknown"),
        ({"accept_sink": 5}, "accept_sink must be a list of texts or one text"),
        ({"sinks": 5}, "sinks must be a list of texts"),
        ({"plan": {"kind": "rollback"}}, "plan"),
        ({"approved_at": "2020-01-01"}, "before plan .* was made at"),
        ({"plan_only": "yes"}, "plan_only must be True or False"),
    ],
    ids=str,
)
def test_what_is_refused_writes_nothing(tmp_path, change, arguments, said):
    change.before(tmp_path, tmp_path)
    task = change.kind(task_id="t", **{**change.arguments(str(tmp_path)), **arguments})
    with pytest.raises(AirflowFailException, match=said):
        task.execute({"ti": Task()})
    assert tree(tmp_path) == {}


@both
def test_what_was_asked_for_is_the_same_however_it_is_accepted(tmp_path, change):
    given = change.arguments(str(tmp_path))
    one, other = change.kind(task_id="t", **given), change.kind(task_id="u", **{**given, "accept_sink": ["unknown"]})
    assert one.asked == other.asked != change.kind(task_id="t", **given, sinks="kafka").asked
