"""Each operator and sensor takes the name of a query, and gets what the query file declares of it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.query_file import queries
from airflow_provider_ckpt.operators import checkpoint as operators
from airflow_provider_ckpt.query.declared import DECLARED
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.triggers.positions import CheckpointLagTrigger
from airflow_provider_ckpt.waiting import BatchCommitted
from tests.hooks.named_tasks import BESIDE, KINDS, ONE, events, task
from tests.operators.parameters import parameters
from tests.operators.task import Task, carry_out

pytestmark = pytest.mark.airflow

#: Of these an argument has no declaration, or one that another test has.
ANOTHER = {("CheckpointCheckOperator", "sources"), ("CheckpointGateOperator", "confs")}

FILE = """\
format_version: 1
kafka:
  main: {bootstrap.servers: "b1:9092", conn_id: kafka_main}
storage: {options: {endpoint_url: "http://s3:9000"}}
queries:
  orders:
    checkpoint: lake/orders
    sources: [{from: "kafka:main/orders", options: {maxOffsetsPerTrigger: 10}}]
    sink: kafka
    trigger: processingTime
    spark_version: "4.3"
    confs: {spark.sql.shuffle.partitions: 8}
    operators: [stateStoreSave]
    classes: [com.acme.Provider]
    backups: backups/{query}
    undo: undo/{query}
    keep: {last: 2, hourly: 3, daily: 4, weekly: 5, monthly: 6, tag: [before]}
  totals: {checkpoint: lake/totals}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The query file that ``[ckpt] file`` names."""
    path = tmp_path / "ckpt.yaml"
    path.write_text(FILE)
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(path))
    return path


def said(made: Any) -> dict[str, Any]:
    """What a task does its work with: every argument but those that name the query."""
    names = parameters(type(made)).keys() - {"query", "query_file"}
    return {name: getattr(made, name) for name in names if hasattr(made, name)}


@pytest.mark.parametrize("name", ONE)
def test_a_name_brings_all_that_the_file_declares(name, file):
    made = task(name, query="orders")
    made.declare()
    query = queries()[0]
    given = BESIDE.get(name, {})
    for argument in (DECLARED.keys() & parameters(type(made)).keys()) - given.keys():
        if (name, argument) not in ANOTHER:
            assert getattr(made, argument) == DECLARED[argument].of(query), argument
            assert made.origins[argument].startswith(f"{file} line "), argument
    if "checkpoint" in parameters(type(made)) and name != "CheckpointVerifyOperator":
        assert made.checkpoint == str(file.parent / "lake/orders")
    assert made.hook.storage_options == {"endpoint_url": "http://s3:9000"}


@pytest.mark.parametrize("name", ONE)
def test_a_name_its_location_and_both_are_one_query(name, file):
    location = str(file.parent / "lake/orders")
    if KINDS[name].needs[0] != "checkpoint":
        return  # the location of its backups is no location of the query
    forms = [{"query": "orders"}, {"checkpoint": location}, {"query": "orders", "checkpoint": location}]
    made = [task(name, **form) for form in forms]
    for each in made:
        each.declare()
    assert said(made[0]) == said(made[1]) == said(made[2])
    assert made[0].query_name == made[1].query_name == "orders"


@pytest.mark.parametrize("name", ONE)
def test_an_argument_that_is_given_wins(name, file):
    given = {"trigger": "availableNow", "undo_root": "/own/undo", "backup_root": "/own/backups", "sink": "kafka"}
    own = {key: value for key, value in given.items() if key in parameters(KINDS[name])}
    made = task(name, query="orders", **own)
    made.declare()
    assert {key: getattr(made, key) for key in own} == own
    assert not own.keys() & made.origins.keys()


@pytest.mark.parametrize("name", ONE)
def test_neither_is_refused_when_the_dag_is_read(name, file):
    with pytest.raises(AirflowFailException, match=f"t: neither query nor {KINDS[name].needs[0]} is given"):
        task(name)


@pytest.mark.parametrize("name", [name for name in ONE if KINDS[name].needs[0] == "checkpoint"])
def test_both_that_disagree_are_refused(name, file):
    made = task(name, query="orders", checkpoint="/elsewhere")
    if made.has_own_checkpoint:
        made.declare()
        assert made.checkpoint == "/elsewhere"
        return
    told = pytest.raises(AirflowFailException, match=r"ckpt\.yaml line 7 says, and checkpoint is '/elsewhere'")
    with told, made.running({"ti": Task()}):
        pass


@pytest.mark.parametrize("name", ONE)
def test_a_location_alone_works_without_a_file(name):
    """And counts for nothing but itself."""
    given = {"checkpoint": "/c", "backup_root": "/b", "sink": "kafka", "sources": {"0": "rate"}}
    needed = {key: given[key] for key in KINDS[name].needs}
    made = task(name, **needed)
    before = said(made)
    made.declare()
    assert (said(made), made.origins, made.query_name) == (before, {}, None)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("sink: kafka", "sinc: kafka"),
            r"ckpt\.yaml line 9, queries\.orders\.sinc: it is unknown here",
        ),
        (("orders:\n", "order:\n"), r"orders is no query of .*ckpt\.yaml; did you mean order\?"),
    ],
)
def test_what_is_wrong_in_the_file_is_one_sentence(name, change, told, file):
    made = task(name, query="orders")  # the file is read when the task runs
    file.write_text(FILE.replace(*change))
    with pytest.raises(AirflowFailException, match=told) as raised, made.running({"ti": Task()}):
        pass
    assert "\n" not in str(raised.value)


def test_a_task_says_what_the_file_lacks(file):
    for name, lacking in (("Backup", "backup_root"), ("Compare", "sink"), ("Verify", "backup_root")):
        made = task(f"Checkpoint{name}Operator", query="totals")
        with pytest.raises(
            AirflowFailException, match=f"{lacking} is not given, and the query totals in .* has no key"
        ):
            made.execute({"ti": Task()})


def test_without_a_known_file_a_name_is_refused(tmp_path, monkeypatch):
    made = task("CheckpointCheckOperator", query="orders")
    with pytest.raises(AirflowFailException, match=r"no query file is known\. Set the option file of the section"):
        made.execute({"ti": Task()})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(FILE)
    own = task("CheckpointCheckOperator", query="orders", query_file="own.yaml")
    own.declare()
    assert own.checkpoint == str(tmp_path / "lake/orders")


def test_a_template_that_gave_nothing_gives_the_file_its_turn(file):
    made = task("CheckpointRollbackOperator", query="orders", checkpoint="", sink="", trigger="None")
    made.declare()
    assert (made.sink, made.trigger) == ("kafka", "processingTime")


def test_a_second_try_has_what_the_file_says_by_then(file):
    made = task("CheckpointRollbackOperator", query="orders")
    made.declare()
    asked = made.asked
    file.write_text(FILE.replace("sink: kafka", "sink: foreachBatch").replace("processingTime", "availableNow"))
    made.declare()
    assert (made.sink, made.trigger) == ("foreachBatch", "availableNow")
    assert made.asked == asked, "a task that is tried again asks for the same"


def test_beside_a_plan_only_how_it_is_carried_out_is_declared(file):
    for name in ("CheckpointRollbackOperator", "CheckpointRestoreOperator"):
        made = task(name, query="orders", plan={"some": "plan"})
        made.declare()
        declared = made.origins.keys() - {"checkpoint"}
        assert declared == ({"undo_root"} if "Rollback" in name else {"backup_root"})


def test_names_and_files_are_templates():
    for name in ONE:
        assert {"query", "query_file"} <= {*KINDS[name].template_fields}, name
        kinds = parameters(KINDS[name])
        assert all(kinds[key].kind is inspect.Parameter.KEYWORD_ONLY for key in ("query", "query_file")), name


def test_a_check_compares_the_sources_that_are_stored(file, golden):
    text = FILE.replace('"kafka:main/orders"', '"file:/lake/in"').replace("lake/orders", str(golden("agg-hdfs")))
    for said_of, expected in ((FILE, None), (text, {"0": "file:/lake/in"})):
        file.write_text(said_of)
        made = task("CheckpointCheckOperator", query="orders")
        made.declare()
        assert made.sources == expected


def test_a_gate_has_the_confs_and_the_file_of_confs(file, golden):
    (file.parent / "spark.conf").write_text("spark.sql.shuffle.partitions 2\nspark.app.name orders\n")
    checkpoint = golden("agg-hdfs")
    file.write_text(
        f"format_version: 1\nqueries:\n  orders:\n    checkpoint: {checkpoint}\n    confs_file: spark.conf\n"
        "    confs: {spark.sql.shuffle.partitions: 3}\n"
    )
    made = task("CheckpointGateOperator", query="orders")
    with pytest.raises(AirflowFailException, match=r"spark\.sql\.shuffle\.partitions = 3 will be ignored"):
        made.execute({"ti": Task()})
    assert made.origins["confs"] == f"{file} line 6"
    assert made.declared_deploy().confs["spark.app.name"] == "orders"


def test_a_rollback_by_name(file, golden):
    checkpoint = golden("agg-hdfs")
    file.write_text(
        f"format_version: 1\nqueries:\n  orders: {{checkpoint: {checkpoint}, sink: kafka, undo: 'undo/{{query}}'}}\n"
    )
    told = carry_out(
        operators.CheckpointRollbackOperator,
        query="orders",
        to_batch=3,
        query_is_stopped=True,
        quiet_period=0,
        accept_sink=["duplicated", "unknown"],
    )
    assert told["receipt"]["status"] == "applied"
    assert (file.parent / "undo/orders").is_dir()


@pytest.fixture
def planned(file, golden):
    """A rollback of the query, as one task has planned it: its plan, how another one carries it out, and the file."""
    checkpoint = golden("agg-hdfs")

    def declare(more: str = "sink: kafka") -> None:
        file.write_text(
            f"format_version: 1\nqueries:\n  orders:\n    checkpoint: {checkpoint}\n    undo: undo\n    {more}\n"
        )

    def plan(**given: Any) -> Any:
        pushed = Task()
        made = task("CheckpointRollbackOperator", query="orders", to_batch=3, plan_only=True, **given)
        made.execute({"ti": pushed})
        return pushed.pushed["plan"]

    def carried_out(plan: Any, **given: Any) -> Any:
        how = {"query_is_stopped": True, "quiet_period": 0, "accept_sink": ["duplicated", "unknown"]}
        return carry_out(operators.CheckpointRollbackOperator, plan=plan, **{"query": "orders", **how, **given})

    declare()
    plan.declare, plan.carried_out, plan.checkpoint = declare, carried_out, str(checkpoint)
    return plan


@pytest.mark.parametrize("named", ["query", "checkpoint"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("sink: foreachBatch", "sink was kafka, and .* line 6 says foreachBatch"),
        ("{sink: kafka, trigger: availableNow}", "trigger was nothing, and .* line 6 says availableNow"),
    ],
)
def test_a_plan_of_other_declarations_is_stale(planned, named, change, told, file):
    plan = planned()
    planned.declare(change.strip("{}").replace(", ", "\n    ").replace("trigger", "trigger"))
    name = {"checkpoint": planned.checkpoint, "query": None} if named == "checkpoint" else {}
    with pytest.raises(AirflowFailException, match=f"STALE_PLAN: .*{told.replace('line 6', 'line [67]')}"):
        planned.carried_out(plan, **name)


@pytest.mark.parametrize("lost", ["the query", "the file"])
def test_a_plan_whose_query_no_file_declares_any_more_is_stale(planned, file, monkeypatch, lost):
    plan = planned()
    if lost == "the query":
        file.write_text("format_version: 1\n")
    else:
        monkeypatch.delenv("AIRFLOW__CKPT__FILE")
    now = "ckpt.yaml does not declare it now" if lost == "the query" else "there is no query file now that can be read"
    with pytest.raises(AirflowFailException, match=rf"STALE_PLAN: .*\(sink, undo\), and .*{now}"):
        planned.carried_out(plan, query=None, checkpoint=planned.checkpoint)


def test_a_plan_of_the_same_declarations_is_carried_out(planned):
    done = planned.carried_out(planned())
    assert (done["receipt"]["status"], done["query"]) == ("applied", "orders")
    assert done["declared"].keys() == {"checkpoint", "undo_root"}


def test_what_was_given_to_the_plan_is_held_against_no_file(planned):
    plan = planned(sink="foreachBatch")
    planned.declare("sink: console")
    assert planned.carried_out(plan)["receipt"]["status"] == "applied"


def test_a_result_says_where_each_declaration_is(planned, file):
    pushed = Task()
    made = task("CheckpointRollbackOperator", query="orders", to_batch=3, plan_only=True)
    told = made.execute({"ti": pushed})
    assert told["query"] == "orders"
    assert told["declared"] == {
        "checkpoint": f"{file} line 4",
        "undo_root": f"{file} line 5",
        "sink": f"{file} line 6",
    }


@pytest.mark.parametrize("given", ["query", "checkpoint"])
def test_a_wait_that_begins_in_the_triggerer_reads_the_file_there(planned, file, given):
    place = {"query": "orders"} if given == "query" else {"checkpoint": planned.checkpoint}
    made = task("CheckpointProgressSensor", batch_id=1, start_from_trigger=True, **place)
    (event,) = events(CheckpointProgressTrigger(**made.start_trigger_args.trigger_kwargs))
    assert (event["status"], event["batch_id"]) == ("reached", 7)
    assert made.execute_complete({"ti": Task()}, event)["batch_id"] == 7
    file.write_text("format_version: 1\nqueries: {order: {checkpoint: a}}\n")
    (event,) = events(CheckpointProgressTrigger(condition=BatchCommitted(1).to_dict(), query="orders"))
    assert event["status"] == "error" and "did you mean order?" in event["message"]
    (event,) = events(CheckpointLagTrigger(query="orders", most=1))
    assert event["status"] == "error" and "did you mean order?" in event["message"]


def test_a_wait_that_defers_has_read_the_file(planned, file):
    planned.declare("sources: [rate]")
    made = task("CheckpointProgressSensor", query="orders", batch_id=99, deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        made.execute({"ti": Task()})
    trigger = deferred.value.trigger
    assert (trigger.checkpoint, trigger.query, trigger.sources) == (planned.checkpoint, None, {"0": "rate"})


@pytest.mark.parametrize("name", KINDS)
def test_a_list_without_a_name_is_no_query_and_not_all_of_them(name, file):
    with pytest.raises(CheckpointError, match="query is a list without a name"):
        task(name, query=[], **({"index": "/index"} if name == "CheckpointIndexOperator" else {})).declare()


def test_several_queries_are_named_at_once(file):
    for name in ("CheckpointLagSensor", "CheckpointDataLossSensor", "CheckpointPublishOffsetsOperator"):
        made = task(name, query=["orders", "totals"])
        made.declare()
        places = [str(file.parent / "lake" / each) for each in ("orders", "totals")]
        assert made.checkpoint == places
        if hasattr(made, "sources"):
            assert made.sources == {places[0]: {"0": "kafka:b1:9092/orders"}, places[1]: {}}


def test_an_index_is_of_the_queries_that_are_named_or_of_all(file):
    for query, expected in (
        ("orders", ["orders"]),
        (["orders", "totals"], ["orders", "totals"]),
        (None, ["orders", "totals"]),
    ):
        made = task("CheckpointIndexOperator", index="/index", query=query)
        made.declare()
        assert made.checkpoint_roots == [str(file.parent / "lake" / name) for name in expected]
        assert made.backup_roots == [str(file.parent / "backups/orders")]
    with pytest.raises(AirflowFailException, match="give one of them"):
        task("CheckpointIndexOperator", index="/index", query="orders", checkpoint_roots="/a").execute({"ti": Task()})


def test_a_cluster_configures_the_client(file, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_MAIN", '{"conn_type": "kafka", "extra": {"sasl.username": "me"}}')
    file.write_text(FILE.replace("conn_id: kafka_main", "conn_id: kafka_main, security.protocol: SSL"))
    for name in ("CheckpointResetOffsetsOperator", "CheckpointGateOperator", "CheckpointLagSensor"):
        made = task(name, query="orders")
        made.declare()
        config = made.hook.access("/c", made.kafka_conn_id).kafka_config
        assert config == {"sasl.username": "me", "security.protocol": "SSL"}
    assert made.options_for_trigger()["kafka_options"] == {"security.protocol": "SSL"}
