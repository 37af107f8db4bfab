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


@pytest.mark.parametrize(
    ("change", "arguments", "refused"),
    [
        (restore, {"new_query_id": True, "query_id": "zzz"}, "query_id, new_query_id"),
        (restore, {"rewrite_paths": {"/a": "/b"}, "sinks": "['kafka']"}, "rewrite_paths, sinks"),
        (seed, {"offsets": {"0": {"t": {"0": 7}}}}, "offsets"),
        (seed, {"after_batch": "7"}, "after_batch"),
    ],
    ids=str,
)
def test_an_argument_that_says_otherwise_than_its_plan_is_refused(tmp_path, change, arguments, refused):
    change.before(tmp_path, tmp_path)
    given, planned = change.arguments(str(tmp_path)), Task()
    change.kind(task_id="plan", **given, plan_only=True).execute({"ti": planned})
    needed = {name: given[name] for name in given if name in ("checkpoint", "backup_root", "accept_sink")}
    task = change.kind(task_id="t", **needed, plan=planned.pushed["plan"], **arguments)
    with pytest.raises(AirflowFailException, match=f"plan gives the whole plan, so leave out {refused}"):
        task.execute({"ti": Task()})
    assert tree(tmp_path) == {}
    done = change.kind(task_id="t", **needed, plan=planned.pushed["plan"], sinks="None").execute({"ti": Task()})
    assert done["receipt"]["status"] == "applied"


@both
def test_its_lineage_names_the_sinks_of_a_list_that_a_template_has_made_text(tmp_path, change):
    given = change.arguments(str(tmp_path))
    (sink,) = change.kind(task_id="t", **given, sinks=f"['file:{tmp_path}/out', 'kafka']").lineage_sinks()
    assert sink.name == f"{tmp_path}/out"
    assert list(change.kind(task_id="t", **given, sinks=5).lineage_sinks()) == []
