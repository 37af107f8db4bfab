"""The confs that a task of a DAG gives to Spark, out of the arguments of its operator: a reader for each class.

Operators are known by the names of their classes, so none of their providers has to be installed. Where an operator
does not hold the confs, nothing is guessed: the reader says why.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.extra import extra_of
from airflow_provider_ckpt.operators.task_arguments import ConfsNotKnown, NotYet, TaskArguments, written

SUPPORTED = (
    "a SparkSubmitOperator or a @task.pyspark task, one that submits to Databricks, EMR, Dataproc, Glue, Livy or "
    "Spark's operator for Kubernetes, or one whose command has a spark-submit"
)
_HINT = f"spark_task must be {SUPPORTED} that is not mapped; for other tasks give confs or conf_file."
#: Tasks of Databricks that run an application on a cluster.
_ON_CLUSTERS = ("spark_jar_task", "notebook_task", "spark_python_task", "spark_submit_task", "python_wheel_task")


def task_id_of(task: Any) -> str | None:
    """The task id of a task that is given as an operator, as the result of a ``@task`` call, or by its id."""
    if task is None or isinstance(task, str):
        return task
    return str(getattr(task, "operator", task).task_id)


def confs_of(dag: Any, task_id: str, context: Any) -> dict[str, str]:
    """The confs that a task of a DAG gives to Spark; its templates are rendered in ``context``.

    Raises CheckpointError when there is no such task, or its confs are not known.
    """
    from airflow_provider_ckpt.query.spark_version import conf_text

    if task_id not in dag.task_ids:
        raise CheckpointError(
            f"the DAG {dag.dag_id} has no task {task_id!r}",
            hint=f"spark_task must be a task of the same DAG: {SUPPORTED}.",
        )
    operator = dag.get_task(task_id)
    try:
        confs = _read(operator, context)
    except ConfsNotKnown as error:
        raise CheckpointError(_sentence(operator, error), hint=_HINT) from None
    except CheckpointError:
        raise
    except Exception as error:  # templates, connections and callables of others
        raise CheckpointError(f"{_sentence(operator, None)}: {type(error).__name__}: {error}", hint=_HINT) from error
    return {str(key): conf_text(value) for key, value in confs.items()}


def require_known(task: Any, dag: Any = None) -> None:
    """While the DAG is parsed, refuse a task whose confs can never be read. Nothing is read or rendered.

    Args:
        task: The operator, the result of a ``@task`` call, or the id of a task.
        dag: The DAG, in which an id is searched; a task that comes later is judged when the gate runs.

    Raises:
        ValueError: With one sentence about what to give instead.
    """
    if isinstance(task, str):
        if dag is None or task not in dag.task_ids:
            return
        task = dag.get_task(task)
    operator = getattr(task, "operator", task)
    if operator is None:
        return
    try:
        _read(operator)
    except NotYet:
        return
    except ConfsNotKnown as error:
        raise ValueError(f"{_sentence(operator, error)}; give the gate confs= or conf_file= instead") from None


def can_read(task: Any) -> bool:
    """Whether the confs of a task are known, or may be when a gate runs; as :func:`require_known` sees it."""
    try:
        require_known(task)
    except ValueError:
        return False
    return True


def read_text(location: str) -> str:
    """A small file: a path of this machine, or a URL. Raises CheckpointError when it cannot be read as UTF-8."""
    from airflow_provider_ckpt.storage.store import Store

    directory, name = posixpath.split(location)
    try:
        return Store.open(directory or ".").read(name).decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"not a text file: {error}", location=location) from error


def _sentence(operator: Any, error: ConfsNotKnown | None) -> str:
    said = f"ckpt cannot read the confs of task {operator.task_id} ({type(operator).__name__})"
    why = "" if error is None else str(error)
    return f"{said}: {why}" if why else said


Confs = Mapping[str, Any]
Reader = Callable[[TaskArguments], Confs]


def _read(operator: Any, context: Any = None) -> Confs:
    """The confs, none of whose keys is an option, which Spark would not take for a conf. Raises ConfsNotKnown."""
    confs = _reader_of(operator)(TaskArguments(operator, context))
    if odd := next((key for key in confs if str(key).startswith("-")), None):
        raise ConfsNotKnown(f"it has {odd!r:.60} among its confs, which is no key of one")
    return confs


def _reader_of(operator: Any) -> Reader:
    """The reader of the nearest class that has one. Raises ConfsNotKnown."""
    for kind in type(operator).__mro__:
        if (reader := READERS.get(kind.__name__)) is not None:
            return reader
    raise ConfsNotKnown("")


# --- Spark's own provider ---------------------------------------------------------------------------------------------


def _submitted(task: TaskArguments) -> Confs:
    """``--properties-file`` and over it ``--conf``, as spark-submit has it. The connection sets no SQL conf."""
    from airflow_provider_ckpt.query.deploy import parse_conf_file

    if not hasattr(task.operator, "conf"):  # of another provider, or of the user
        raise ConfsNotKnown("it has no conf as Airflow's own has")
    task.reads()
    properties = task.value("properties_file")
    return {**(parse_conf_file(read_text(properties)) if properties else {}), **(task.value("conf") or {})}


def _of_session(task: TaskArguments) -> Confs:
    """The extra fields of the connection that are confs, and over them ``config_kwargs``."""
    task.reads()
    conn_id = task.value("conn_id")
    extra = extra_of(BaseHook.get_connection(conn_id)) if conn_id else {}
    confs = {key: value for key, value in extra.items() if key.startswith("spark.")}
    return {**confs, **(task.value("config_kwargs") or {})}


# --- command lines of spark-submit ------------------------------------------------------------------------------------


def _of_words(words: Iterable[str]) -> Confs:
    """The confs of the arguments of ``spark-submit``. Raises ConfsNotKnown."""
    from airflow_provider_ckpt.query.spark_submit import confs_of_words

    try:
        return confs_of_words(words)
    except ValueError as error:
        raise ConfsNotKnown(str(error)) from None


def _one(found: Sequence[Confs], what: str) -> Confs:
    """The confs of all applications of a task, which have to be the same. Raises ConfsNotKnown."""
    if not found:
        raise ConfsNotKnown(f"it has no {what}")
    if any(dict(confs) != dict(found[0]) for confs in found[1:]):
        raise ConfsNotKnown(f"it has more than one {what}, with different confs")
    return found[0]


def _scripted(*names: str) -> Reader:
    """The reader of the line of ``spark-submit`` in a script, or in the words of a command."""

    def read(task: TaskArguments) -> Confs:
        from airflow_provider_ckpt.query.spark_submit import confs_of_script

        given = [task.value(name) for name in names]
        listed = [str(task.now(word)) for each in given if isinstance(each, list | tuple) for word in each]
        try:
            found = confs_of_script(given[0] if isinstance(given[0], str) else listed)
        except ValueError as error:
            raise ConfsNotKnown(str(error)) from None
        return _one(found, "spark-submit in its command")

    return read


# --- Databricks -------------------------------------------------------------------------------------------------------


def _databricks(task: TaskArguments) -> Confs:
    """Confs of the new cluster or the parameters of ``spark-submit``, in ``json`` or in named arguments over it."""
    body = dict(task.mapping(task.value("json"), "json"))
    for name in (*_ON_CLUSTERS, "tasks", "job_clusters", "new_cluster", "existing_cluster_id", "pipeline_task"):
        given = getattr(task.operator, name, None)
        if given is not None:
            # one that names what is not here is refused at once, whatever its template will say
            body[name] = given if name in ("existing_cluster_id", "pipeline_task") else task.value(name)
    clusters = {
        item.get("job_cluster_key"): item.get("new_cluster")
        for item in task.items(body.get("job_clusters"), "job_clusters")
        if isinstance(item, Mapping)
    }
    if body.get("pipeline_task"):
        raise ConfsNotKnown("the confs of a pipeline are in Databricks")
    tasks = task.items(body.get("tasks"), "tasks") or [body]
    ran = [item for item in tasks if isinstance(item, Mapping) and any(item.get(kind) for kind in _ON_CLUSTERS)]
    return _one([_of_databricks(task, item, clusters) for item in ran], "task that runs Spark")


def _of_databricks(task: TaskArguments, item: Mapping[str, Any], clusters: Mapping[Any, Any]) -> Confs:
    submit = task.mapping(item.get("spark_submit_task"), "spark_submit_task")
    of_submit = _of_words(task.words(submit.get("parameters"), "spark_submit_task.parameters")) if submit else {}
    cluster = clusters.get(item.get("job_cluster_key")) if item.get("new_cluster") is None else item["new_cluster"]
    if cluster is None:
        if item.get("existing_cluster_id"):
            raise ConfsNotKnown("it runs on an existing cluster, whose confs are in Databricks")
        raise ConfsNotKnown("it names no new cluster whose spark_conf would say them")
    found = task.mapping(task.mapping(cluster, "new_cluster").get("spark_conf"), "spark_conf")
    return {**found, **of_submit}


def _databricks_task(task: TaskArguments) -> Confs:
    """``DatabricksNotebookOperator`` and its like: the new cluster, and a ``task_config``."""
    config = task.mapping(task.value("task_config"), "task_config")
    item = {"new_cluster": task.value("new_cluster") or None, **config}
    if getattr(task.operator, "job_cluster_key", ""):
        raise ConfsNotKnown("its cluster is that of a workflow")
    if getattr(task.operator, "existing_cluster_id", ""):
        item["existing_cluster_id"] = True
    return _of_databricks(task, item, {})


def _job_of_databricks(task: TaskArguments) -> Confs:
    raise ConfsNotKnown("it starts a job whose confs are in Databricks")


# --- EMR and Glue -----------------------------------------------------------------------------------------------------


def _emr_steps(task: TaskArguments) -> Confs:
    """Arguments of the step that calls ``spark-submit``."""
    found = []
    for step in task.items(task.value("steps"), "steps"):
        jar = task.mapping(task.mapping(step, "a step").get("HadoopJarStep"), "HadoopJarStep")
        words = task.words(jar.get("Args") or [], "Args")
        if words and posixpath.basename(words[0]) == "spark-submit":
            found.append(_of_words(words[1:]))
    return _one(found, "step that begins with spark-submit")


def _emr_job(*drivers: str) -> Reader:
    """The reader of a job with a driver: ``spark-defaults`` of its configuration, and over them ``--conf``."""

    def read(task: TaskArguments) -> Confs:
        driver = task.mapping(task.value("job_driver"), "job_driver")
        submits = [task.mapping(driver[name], name) for name in drivers if name in driver]
        if not submits:
            raise ConfsNotKnown(f"its job_driver has no {' or '.join(drivers)}")
        words = task.words(submits[0].get("sparkSubmitParameters"), "sparkSubmitParameters")
        overrides = task.mapping(task.value("configuration_overrides"), "configuration_overrides")
        listed = task.items(overrides.get("applicationConfiguration"), "applicationConfiguration")
        defaults = [dict(_properties(task, item)) for item in listed]
        return {**{key: value for item in defaults for key, value in item.items()}, **_of_words(words)}

    return read


def _properties(task: TaskArguments, item: Any) -> Confs:
    said = task.mapping(item, "applicationConfiguration")
    is_of_spark = said.get("classification") == "spark-defaults"
    return task.mapping(said.get("properties"), "properties") if is_of_spark else {}


def _glue(task: TaskArguments) -> Confs:
    """``--conf`` of a run, which takes the place of that of the job; of the job, where the task writes that anew."""
    of_run = task.mapping(task.value("script_args"), "script_args")
    if "--conf" in of_run:
        return _of_glue(task, of_run["--conf"])
    job = task.mapping(task.value("create_job_kwargs"), "create_job_kwargs")
    if not job or not getattr(task.operator, "update_config", False):
        raise ConfsNotKnown("script_args has no --conf, and the job may have one in Glue unless update_config=True")
    return _of_glue(task, task.mapping(job.get("DefaultArguments"), "DefaultArguments").get("--conf"))


def _of_glue(task: TaskArguments, value: Any) -> Confs:
    """Glue has one ``--conf`` with ``KEY=VALUE --conf KEY=VALUE`` in it."""
    return _of_words(["--conf", *task.words(value, "--conf")] if value else [])


# --- Livy, Dataproc, Kubernetes ---------------------------------------------------------------------------------------


def _livy(task: TaskArguments) -> Confs:
    return task.mapping(task.mapping(task.value("spark_params"), "spark_params").get("conf"), "conf")


def _dataproc_job(task: TaskArguments) -> Confs:
    """``properties`` of the job of whatever language."""
    job = task.now(task.value("job"))
    kinds = ("spark_job", "pyspark_job", "spark_sql_job", "spark_r_job")
    found = [part for name in kinds if (part := _part(written(job), name))]
    return _one([_plain(_part(part, "properties")) for part in found], "job of Spark")


def _dataproc_batch(task: TaskArguments) -> Confs:
    batch = task.now(task.value("batch"))
    return _plain(_part(_part(written(batch), "runtime_config"), "properties"))


def _part(value: Any, name: str) -> Any:
    """A field of a mapping, in snake case or in the camel case of the REST API, or of a message of Google's library."""
    first, *rest = name.split("_")
    if isinstance(value, Mapping):
        return value.get(name, value.get(first + "".join(word.title() for word in rest)))
    return getattr(value, name, None)


def _plain(properties: Any) -> Confs:
    return dict(properties) if properties else {}


def _spark_application(task: TaskArguments) -> Confs:
    """``sparkConf`` of the SparkApplication, which is a path, the text of one, or a mapping."""
    given = task.value("application_file") or task.value("template_spec")
    if isinstance(given, str) and "\n" not in given.strip() and given.strip().endswith((".yaml", ".yml", ".json")):
        task.reads()
        given = read_text(given.strip())
    body = task.mapping(given, "the SparkApplication")
    if not body:
        raise ConfsNotKnown("it has neither application_file nor template_spec")
    application = task.mapping(body.get("spark", body), "spark")
    spec = task.mapping(application.get("spec"), "spec")
    if application.get("kind") == "ScheduledSparkApplication":
        spec = task.mapping(spec.get("template"), "template")
    if not spec:
        raise ConfsNotKnown("its SparkApplication has no spec")
    if spec.get("sparkConfigMap"):
        raise ConfsNotKnown("its SparkApplication has a sparkConfigMap, which only the cluster has")
    return task.mapping(spec.get("sparkConf"), "sparkConf")


#: How the confs of an operator are read, by its class; the nearest one of its bases counts.
READERS: Mapping[str, Reader] = {
    "SparkSubmitOperator": _submitted,
    "PySparkOperator": _of_session,
    "_PySparkDecoratedOperator": _of_session,
    "DatabricksSubmitRunOperator": _databricks,
    "DatabricksCreateJobsOperator": _databricks,
    "DatabricksRunNowOperator": _job_of_databricks,
    "DatabricksTaskBaseOperator": _databricks_task,
    "SparkKubernetesOperator": _spark_application,
    "EmrAddStepsOperator": _emr_steps,
    "EmrServerlessStartJobOperator": _emr_job("sparkSubmit"),
    "EmrContainerOperator": _emr_job("sparkSubmitJobDriver"),
    "LivyOperator": _livy,
    "DataprocSubmitJobOperator": _dataproc_job,
    "DataprocCreateBatchOperator": _dataproc_batch,
    "GlueJobOperator": _glue,
    "BashOperator": _scripted("bash_command"),
    "SSHOperator": _scripted("command"),
    "DockerOperator": _scripted("command"),
    "KubernetesPodOperator": _scripted("cmds", "arguments"),
}
