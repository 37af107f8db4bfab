"""The confs of tasks that submit to clusters: classes of the names and with the fields of Airflow's providers.

``test_real_operators.py`` holds the fields against the real classes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, BaseOperator, task

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.checkpoint import CheckpointGateOperator
from airflow_provider_ckpt.operators.task_confs import READERS, confs_of, require_known
from tests.operators.submitting import FIELDS, operator

A, B = "spark.sql.shuffle.partitions", "spark.sql.streaming.noDataMicroBatches.enabled"
SUBMIT = ["spark-submit", "--conf", f"{A}=8", "s3://jobs/orders.py", "--conf", "own=1"]


@pytest.fixture
def dag():
    with DAG("streams", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
        yield dag


def step(*args: str) -> dict[str, Any]:
    return {"Name": "orders", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": list(args)}}


def cluster(**confs: object) -> dict[str, Any]:
    return {"num_workers": 2, "spark_conf": {A: "8", **confs}}


def application(**spec: object) -> dict[str, Any]:
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "spec": {"type": "Python", "sparkConf": {A: "8"}, **spec}}


SPARK = {"spark_python_task": {"python_file": "orders.py"}}
DEFAULTS = {"applicationConfiguration": [
    {"classification": "spark-defaults", "properties": {A: "4", B: "false"}},
    {"classification": "spark-log4j", "properties": {"rootLogger.level": "WARN"}},
]}  # fmt: skip

#: Command lines as people write them for tasks of Airflow, with what is read.
LINES = {
    "one line": (f"spark-submit --master yarn --conf {A}=8 orders.py --conf own=1", {A: "8"}),
    "no conf": ("spark-submit --master local[*] /jobs/orders.py {}", {}),
    "a path": (f"/opt/spark/bin/spark-submit --packages a:b:1,c:d:2 --conf {A}=8 /jobs/orders.py", {A: "8"}),
    "behind other commands": (
        f"source /etc/env.sh && cd /jobs &&\n\n$SPARK_HOME/bin/spark-submit \\\n  --conf {A}=8 \\\n  orders.py > log 2>&1\n",
        {A: "8"},
    ),
    "quotes": (
        f"spark-submit --conf '{A}=8' --conf=\"spark.x=a b\" -c {B}=false o.py",
        {A: "8", "spark.x": "a b", B: "false"},
    ),
    "in another shell": (f'docker exec spark bash -c "spark-submit --conf {A}=8 orders.py"', {A: "8"}),
    "a word about it": (
        f'spark-submit --total-executor-cores 2 --conf {A}=8 o.py || echo "spark-submit failed"',
        {A: "8"},
    ),
    "as somebody": (f"sudo -u spark spark3-submit --conf {A}=8 orders.py", {A: "8"}),
    "a flag": (f"spark-submit --load-spark-defaults --verbose --conf {A}=8 orders.py", {A: "8"}),
    "variables elsewhere": (f"spark-submit --master $MASTER --conf {A}=8 $JOBS/orders.py $DAY", {A: "8"}),
    "the run before is killed": (f"spark-submit --kill driver-1; spark-submit --conf {A}=8 orders.py", {A: "8"}),
    "a comment": (f"# spark-submit --conf {A}=4 old.py\nspark-submit --conf {A}=8 --archives e.zip#e o.py", {A: "8"}),
}
LINES_NOT_KNOWN = {
    "none": ("./run.sh", "it has no spark-submit in its command"),
    "two": (
        f"spark-submit a.py; spark-submit --conf {A}=8 b.py",
        "more than one spark-submit in its command, with diff",
    ),
    "a conf of the shell": (f"spark-submit --conf {A}=$PARTITIONS orders.py", "is known to the shell alone"),
    "a conf that is printed": (f"spark-submit --conf {A}=`nproc` orders.py", "is known to the shell alone"),
    "options of the shell": ("spark-submit $OPTS orders.py", r"'\$OPTS' is known to the shell alone"),
    "options of an array": ('spark-submit "${CONFS[@]}" orders.py', "is known to the shell alone"),
    "a file": (
        "spark-submit --properties-file /etc/x orders.py",
        "--properties-file is a file that only the cluster has",
    ),
    "another file": ("spark-submit --extra-properties-file x orders.py", "is a file that only the cluster has"),
    "java": (f"spark-submit --driver-java-options -D{A}=8 orders.py", "--driver-java-options has -Dspark"),
    "no option": ("spark-submit --spark.sql.extensions 'x' orders.py", "is no option of spark-submit"),
    "a quote": ("spark-submit --conf 'a=b orders.py", "cannot be split into words"),
    "a document": ("bash <<END\nspark-submit orders.py\nEND", "a document for another program"),
}

KNOWN = {
    "databricks-new-cluster": ("DatabricksSubmitRunOperator", {"new_cluster": cluster(), **SPARK}, {A: "8"}),
    "databricks-json": ("DatabricksSubmitRunOperator", {"json": {"new_cluster": cluster(), **SPARK}}, {A: "8"}),
    "databricks-named-over-json": (
        "DatabricksSubmitRunOperator",
        {"json": {"new_cluster": {}, **SPARK}, "new_cluster": cluster()},
        {A: "8"},
    ),
    "databricks-submit": (
        "DatabricksSubmitRunOperator",
        {"new_cluster": {}, "spark_submit_task": {"parameters": SUBMIT[1:]}},
        {A: "8"},
    ),
    "databricks-tasks": (
        "DatabricksSubmitRunOperator",
        {"tasks": [{"task_key": "q", "new_cluster": cluster(), **SPARK}, {"task_key": "s", "sql_task": {}}]},
        {A: "8"},
    ),
    "databricks-job-clusters": (
        "DatabricksCreateJobsOperator",
        {
            "tasks": [{"task_key": "q", "job_cluster_key": "c", **SPARK}],
            "job_clusters": [{"job_cluster_key": "c", "new_cluster": cluster(**{B: True})}],
        },
        {A: "8", B: "true"},
    ),
    "databricks-notebook": ("DatabricksTaskBaseOperator", {"new_cluster": cluster()}, {A: "8"}),
    "databricks-no-confs": ("DatabricksSubmitRunOperator", {"new_cluster": {"num_workers": 1}, **SPARK}, {}),
    "kubernetes-mapping": ("SparkKubernetesOperator", {"template_spec": {"spark": application()}}, {A: "8"}),
    "kubernetes-bare-mapping": ("SparkKubernetesOperator", {"template_spec": application()}, {A: "8"}),
    "kubernetes-text": (
        "SparkKubernetesOperator",
        {"application_file": f"apiVersion: v1\nspec:\n  sparkConf:\n    {A}: '8'\n"},
        {A: "8"},
    ),
    "emr-steps": ("EmrAddStepsOperator", {"steps": [step("s3-dist-cp", "--src"), step(*SUBMIT)]}, {A: "8"}),
    "emr-steps-text": ("EmrAddStepsOperator", {"steps": str([step(*SUBMIT)])}, {A: "8"}),
    "emr-steps-alike": ("EmrAddStepsOperator", {"steps": [step(*SUBMIT), step(*SUBMIT)]}, {A: "8"}),
    "emr-serverless": (
        "EmrServerlessStartJobOperator",
        {
            "job_driver": {"sparkSubmit": {"entryPoint": "x", "sparkSubmitParameters": f"--conf {A}=8 --conf x='a b'"}},
            "configuration_overrides": DEFAULTS,
        },
        {A: "8", B: "false", "x": "a b"},
    ),
    "emr-serverless-bare": ("EmrServerlessStartJobOperator", {"job_driver": {"sparkSubmit": {"entryPoint": "x"}}}, {}),
    "emr-container": (
        "EmrContainerOperator",
        {"job_driver": {"sparkSubmitJobDriver": {"sparkSubmitParameters": f"--conf {A}=8"}}, "configuration_overrides": {}},
        {A: "8"},
    ),
    "kubernetes-scheduled": (
        "SparkKubernetesOperator",
        {"template_spec": {"kind": "ScheduledSparkApplication", "spec": {"template": {"sparkConf": {A: "8"}}}}},
        {A: "8"},
    ),
    "pod": (
        "KubernetesPodOperator",
        {"cmds": ["/opt/spark/bin/spark-submit"], "arguments": ["--conf", f"{A}=8", "local:///orders.py"]},
        {A: "8"},
    ),
    "pod-shell": (
        "KubernetesPodOperator",
        {"cmds": ["bash", "-c"], "arguments": [f"cd /jobs && spark-submit --conf {A}=8 orders.py"]},
        {A: "8"},
    ),
    "docker-words": ("DockerOperator", {"command": ["spark-submit", "--conf", f"{A}=8", "o.py"]}, {A: "8"}),
    **{f"line-{name}": ("SSHOperator", {"command": line}, confs) for name, (line, confs) in LINES.items()},
    "livy": ("LivyOperator", {"spark_params": {"file": "x", "conf": {A: 8}}}, {A: "8"}),
    "livy-bare": ("LivyOperator", {"spark_params": {"file": "x", "conf": None}}, {}),
    "dataproc-job": ("DataprocSubmitJobOperator", {"job": {"pyspark_job": {"properties": {A: "8"}}}}, {A: "8"}),
    "dataproc-camel": ("DataprocSubmitJobOperator", {"job": {"pysparkJob": {"main": "x"}, "sparkJob": None}}, {}),
    "dataproc-batch": ("DataprocCreateBatchOperator", {"batch": {"runtimeConfig": {"properties": {A: "8"}}}}, {A: "8"}),
    "dataproc-message": (
        "DataprocCreateBatchOperator",
        {"batch": SimpleNamespace(runtime_config=SimpleNamespace(properties={A: "8"}))},
        {A: "8"},
    ),
    "glue-run": ("GlueJobOperator", {"script_args": {"--conf": f"{A}=8 --conf {B}=false"}}, {A: "8", B: "false"}),
    "glue-job": (
        "GlueJobOperator",
        {"create_job_kwargs": {"DefaultArguments": {"--conf": f"{A}=8"}}, "update_config": True},
        {A: "8"},
    ),
    "glue-run-over-job": (
        "GlueJobOperator",
        {"script_args": {"--conf": f"{B}=false"}, "create_job_kwargs": {"DefaultArguments": {"--conf": f"{A}=8"}}},
        {B: "false"},
    ),
}  # fmt: skip

NOT_KNOWN = {
    "databricks-job": ("DatabricksRunNowOperator", {"job_id": "42"}, "starts a job whose confs are in Databricks"),
    "databricks-job-template": ("DatabricksRunNowOperator", {"job_id": "{{ params.job }}"}, "are in Databricks"),
    "databricks-existing": ("DatabricksSubmitRunOperator", {"existing_cluster_id": "c-1", **SPARK}, "existing cluster"),
    "databricks-existing-template": (
        "DatabricksSubmitRunOperator",
        {"existing_cluster_id": "{{ var.value.cluster }}", **SPARK},
        "existing cluster",
    ),
    "databricks-pipeline": ("DatabricksSubmitRunOperator", {"pipeline_task": {"pipeline_id": "p"}}, "a pipeline"),
    "databricks-serverless": ("DatabricksSubmitRunOperator", {"tasks": [SPARK]}, "names no new cluster"),
    "databricks-two": (
        "DatabricksSubmitRunOperator",
        {"tasks": [{"new_cluster": cluster(), **SPARK}, {"new_cluster": {}, **SPARK}]},
        "more than one task that runs Spark",
    ),
    "databricks-nothing": ("DatabricksSubmitRunOperator", {}, "has no task that runs Spark"),
    "databricks-workflow": ("DatabricksTaskBaseOperator", {"job_cluster_key": "c"}, "that of a workflow"),
    "databricks-task-existing": ("DatabricksTaskBaseOperator", {"existing_cluster_id": "c"}, "existing cluster"),
    "kubernetes-nothing": ("SparkKubernetesOperator", {}, "neither application_file nor template_spec"),
    "kubernetes-config-map": (
        "SparkKubernetesOperator",
        {"template_spec": application(sparkConfigMap="m")},
        "sparkConfigMap",
    ),
    "kubernetes-no-spec": ("SparkKubernetesOperator", {"template_spec": {"kind": "Pod"}}, "has no spec"),
    "kubernetes-odd": ("SparkKubernetesOperator", {"application_file": "[1]\n"}, "is not a mapping"),
    "emr-bash": ("EmrAddStepsOperator", {"steps": [step("bash", "-c", "spark-submit x")]}, "begins with spark-submit"),
    "emr-two": ("EmrAddStepsOperator", {"steps": [step(*SUBMIT), step("spark-submit", "x")]}, "more than one step"),
    "emr-file": (
        "EmrAddStepsOperator",
        {"steps": [step("spark-submit", "--properties-file", "/etc/x", "a.py")]},
        "--properties-file is a file that only the cluster has",
    ),
    "emr-one-word": (
        "EmrAddStepsOperator",
        {"steps": [step("spark-submit", f"--conf {A}=8", "a.py")]},
        "is no option of spark-submit",
    ),
    "databricks-option": (
        "DatabricksSubmitRunOperator",
        {"new_cluster": {"spark_conf": {"--conf": f"{A}=8"}}, **SPARK},
        "'--conf' among its confs",
    ),
    "pod-template": ("KubernetesPodOperator", {}, "has no spark-submit in its command"),
    "pod-words": (
        "KubernetesPodOperator",
        {"cmds": ["spark-submit"], "arguments": [f"--conf {A}=8", "local:///orders.py"]},
        "is no option of spark-submit",
    ),
    **{f"line-{name}": ("SSHOperator", {"command": line}, why) for name, (line, why) in LINES_NOT_KNOWN.items()},
    "emr-hive": ("EmrServerlessStartJobOperator", {"job_driver": {"hive": {}}}, "has no sparkSubmit"),
    "emr-sql": ("EmrContainerOperator", {"job_driver": {"sparkSqlJobDriver": {}}}, "has no sparkSubmitJobDriver"),
    "emr-quote": (
        "EmrContainerOperator",
        {"job_driver": {"sparkSubmitJobDriver": {"sparkSubmitParameters": "--conf 'a"}}},
        "cannot be split",
    ),
    "emr-conf": ("EmrAddStepsOperator", {"steps": [step("spark-submit", "--conf", "a", "x")]}, "is not KEY=VALUE"),
    "dataproc-hive": ("DataprocSubmitJobOperator", {"job": {"hive_job": {}}}, "has no job of Spark"),
    "glue-nothing": ("GlueJobOperator", {}, "script_args has no --conf"),
    "glue-job-of-before": (
        "GlueJobOperator",
        {"create_job_kwargs": {"DefaultArguments": {"--conf": f"{A}=8"}}},
        "update_config=True",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), KNOWN.values(), ids=KNOWN)
def test_known(dag, name, arguments, expected):
    made = operator(name, "restart", **arguments)
    require_known(made)
    assert confs_of(dag, "restart", {"params": {}}) == expected


@pytest.mark.parametrize(("name", "arguments", "why"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_not_known_is_refused_while_the_dag_is_parsed_and_when_it_runs(dag, name, arguments, why):
    made = operator(name, "restart", **arguments)
    with pytest.raises(ValueError, match=why) as parsed:
        CheckpointGateOperator(task_id="gate", checkpoint="/ck", spark_task=made)
    assert "restart" in str(parsed.value) and "confs=" in str(parsed.value)
    assert "\n" not in str(parsed.value)
    with pytest.raises(CheckpointError, match=why):
        confs_of(dag, "restart", {"params": {"job": 1}, "var": {"value": {"cluster": "c"}}})


TEMPLATES = {
    "json": ("DatabricksSubmitRunOperator", {"json": "{{ params.given }}"}, {"new_cluster": cluster(), **SPARK}),
    "spark_conf": ("DatabricksSubmitRunOperator", {"new_cluster": {"spark_conf": {A: "{{ params.given }}"}}, **SPARK}, "8"),
    "steps": ("EmrAddStepsOperator", {"steps": "{{ params.given }}"}, [step(*SUBMIT)]),
    "parameters": (
        "EmrServerlessStartJobOperator",
        {"job_driver": {"sparkSubmit": {"sparkSubmitParameters": "{{ params.given }}"}}},
        f"--conf {A}=8",
    ),
    "args": ("EmrAddStepsOperator", {"steps": [step("spark-submit", "--conf", A + "={{ params.given }}", "x")]}, "8"),
    "spec": ("SparkKubernetesOperator", {"application_file": "{{ params.given }}"}, str(application())),
    "job": ("DataprocSubmitJobOperator", {"job": "{{ params.given }}"}, {"spark_job": {"properties": {A: "8"}}}),
    "conf": ("LivyOperator", {"spark_params": {"conf": {A: "{{ params.given }}"}}}, "8"),
    "glue": ("GlueJobOperator", {"script_args": {"--conf": "{{ params.given }}"}}, f"{A}=8"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "given"), TEMPLATES.values(), ids=TEMPLATES)
def test_templates_are_rendered_when_the_gate_runs(dag, name, arguments, given):
    made = operator(name, "restart", **arguments)
    before = {key: getattr(made, key) for key in arguments}
    require_known(made)
    assert confs_of(dag, "restart", {"params": {"given": given}}) == {A: "8"}
    assert {key: getattr(made, key) for key in arguments} == before


def test_a_template_that_cannot_be_rendered_is_said(dag):
    operator("EmrAddStepsOperator", "restart", steps="{{ nobody.has.this }}")
    with pytest.raises(CheckpointError, match="ckpt cannot read the confs of task restart"):
        confs_of(dag, "restart", {})


def test_an_application_in_a_file(dag, tmp_path):
    """A path, and one that a template makes; a file that is missing is named."""
    path = tmp_path / "orders.yaml"
    path.write_text(f"spec:\n  sparkConf:\n    {A}: 8\n")
    for number, given in enumerate((str(path), "{{ params.home }}/orders.yaml")):
        made = operator("SparkKubernetesOperator", f"restart{number}", template_ext=(), application_file=given)
        require_known(made)
        assert confs_of(dag, f"restart{number}", {"params": {"home": str(tmp_path)}}) == {A: "8"}
    operator("SparkKubernetesOperator", "lost", template_ext=(), application_file=str(tmp_path / "lost.yaml"))
    with pytest.raises(CheckpointError, match=r"lost\.yaml"):
        confs_of(dag, "lost", {})


def test_a_file_that_is_a_template_is_found_beside_the_dag(tmp_path):
    (tmp_path / "orders.yaml").write_text(f"spec:\n  sparkConf:\n    {A}: '{{{{ params.partitions }}}}'\n")
    with DAG("d", schedule=None, template_searchpath=str(tmp_path)) as dag:
        made = operator(
            "SparkKubernetesOperator", "restart", template_ext=("yaml", "yml", "json"), application_file="orders.yaml"
        )
    require_known(made)
    assert confs_of(dag, "restart", {"params": {"partitions": 8}}) == {A: "8"}


def test_what_another_task_returns_is_known_when_the_gate_runs(dag):
    @task
    def made() -> None:
        """Makes the steps."""

    require_known(operator("EmrAddStepsOperator", "restart", steps=made()))
    nested = {"new_cluster": {"spark_conf": made()}, **SPARK}
    require_known(operator("DatabricksSubmitRunOperator", "again", json=nested))


def test_a_subclass_of_a_user_is_read(dag):
    kind = type(operator("LivyOperator", "one", spark_params={}))
    own = type("OrdersOperator", (kind,), {})
    own(task_id="restart", spark_params={"conf": {A: "8"}})
    assert confs_of(dag, "restart", {}) == {A: "8"}


def test_a_script_of_bash_is_read_when_the_gate_runs(tmp_path):
    (tmp_path / "orders.sh").write_text(f"cd /jobs\nspark-submit --conf {A}={{{{ params.partitions }}}} orders.py\n")
    with DAG(
        "scripts", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), template_searchpath=str(tmp_path)
    ) as dag:
        BashOperator(task_id="file", bash_command="orders.sh")
        BashOperator(task_id="line", bash_command=f"spark-submit --conf {A}=8 orders.py")
        of_bash = task.bash(task_id="made")(lambda: "spark-submit orders.py")()
    require_known(dag.get_task("file"))
    assert confs_of(dag, "file", {"params": {"partitions": 8}}) == {A: "8"}
    assert confs_of(dag, "line", {}) == {A: "8"}
    with pytest.raises(ValueError, match="has no spark-submit in its command; give the gate confs= or conf_file="):
        require_known(of_bash)


def test_an_operator_of_the_same_name_without_the_confs_is_refused(dag):
    own = type("SparkSubmitOperator", (BaseOperator,), {})(task_id="own")
    with pytest.raises(ValueError, match="it has no conf as Airflow's own has"):
        require_known(own)


def test_other_tasks_and_mapped_ones_are_refused_while_the_dag_is_parsed(dag):
    bash = BashOperator(task_id="bash", bash_command="./run")
    mapped = BashOperator.partial(task_id="mapped").expand(bash_command=["a", "b"])
    for number, given in enumerate((bash, mapped, "bash")):
        with pytest.raises(ValueError, match="ckpt cannot read the confs of task") as error:
            CheckpointGateOperator(task_id=f"gate{number}", checkpoint="/ck", spark_task=given)
        assert "give the gate confs= or conf_file= instead" in str(error.value)
    CheckpointGateOperator(task_id="gate", checkpoint="/ck", spark_task="later")  # judged when the gate runs


def test_each_reader_has_its_fields():
    own = {"SparkSubmitOperator", "PySparkOperator", "_PySparkDecoratedOperator", "BashOperator"}
    assert set(FIELDS) == set(READERS) - own
    assert all(issubclass(type(operator(name, f"task-{name}")), BaseOperator) for name in FIELDS)
