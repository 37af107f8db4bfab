"""The operator that gates a deploy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.common.compat.sdk import BranchMixIn

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of, require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator, declared
from airflow_provider_ckpt.operators.task_confs import confs_of, read_text, require_known, task_id_of
from airflow_provider_ckpt.operators.told import findings_told, reasons_text
from airflow_provider_ckpt.query.deploy import DeploySpec, parse_conf_file
from airflow_provider_ckpt.query.yaml_text import parse_yaml
from airflow_provider_ckpt.report.tables import forecast_tables, headline, not_judged_text
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.restart.forecast import Forecast
from airflow_provider_ckpt.restart.gate import forecast_restart

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import GateResultDocument

#: XCom key of the ids that topics had when a gate saw them first.
TOPIC_IDS = "topic_ids"
#: XCom key of the bookmark that the gate leaves for :class:`CheckpointContinuityOperator`.
BOOKMARK = "bookmark"

_RETURN_VALUE = "return_value"
_DECLARATIONS = ("confs", "sources", "sink", "operators", "spark_version", "trigger", "source_options", "classes")


class CheckpointGateOperator(CheckpointOperator, BranchMixIn):
    """Forecasts the restart of a query with what is about to be deployed, and stops a deploy that must not go ahead.

    The forecast (decision, the batch Spark resumes at, what happens to each conf, the findings) is the task's return
    value in XCom, also when the gate blocks. Its key ``bookmark`` has the progress of the query, for
    :class:`~airflow_provider_ckpt.operators.checkpoint.CheckpointContinuityOperator`, and ``topic_ids`` the ids of the
    topics of declared Kafka brokers, for the gate of the next run.

    The deploy is described by ``conf_file``, ``spark_task`` and the other arguments; of the same value the later one in
    this list is used. Text in ``confs``, ``sources``, ``operators`` and ``classes``, such as a rendered template, is
    read as YAML. The gate does not know the ``spark-defaults.conf`` of a cluster, nor confs that the application sets
    in its own code.

    :param confs: SQL confs that the deploy sets explicitly.
    :param conf_file: A ``spark-defaults.conf``: a path on the worker, or a URL.
    :param spark_task: The task that will restart the query, or its id: a ``SparkSubmitOperator`` (its ``conf`` and
        ``properties_file``), a ``@task.pyspark`` (its ``config_kwargs`` and connection), or an operator that submits to
        Databricks, EMR, Dataproc, Glue, Livy or Spark's operator for Kubernetes. Its confs are taken when the gate
        runs; templates in them are rendered in the context of the gate. A task that does not hold its confs is refused
        when the DAG is parsed.
    :param sources: The sources of the query: their number, a list of types in order, or types by name. With
        ``kafka:host:9092/topic`` the broker is asked what a restart would lose.
    :param source_options: Options of Kafka sources, such as ``{"0.failOnDataLoss": "false"}``.
    :param topic_ids: The ids that topics had before, by source id and name (``0/orders``), to tell one that was created
        again: what the gate of an earlier run has pushed, such as
        ``"{{ ti.xcom_pull(key='topic_ids', include_prior_dates=True) or {} }}"``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param will_lose_data_within: Block also when unread data may be deleted before this time has passed: ``PT6H``,
        ``36h``, a timedelta or seconds. Asks a Kafka broker nine more times about each partition.
    :param sink: The sink, such as ``file:s3://lake/orders``; the log of a file sink is read, too.
    :param operators: Spark's names of the stateful operators by operator id; empty for a stateless query.
    :param spark_version: Spark version of the deploy, such as ``4.3``; by default the newest supported one.
    :param trigger: The trigger of the query, such as ``realTime``.
    :param classes: Classes that the deploy has and open Spark does not, such as a state store provider.
    :param quick: Read only the two logs; state, source logs and checksum files are then not judged.
    :param fail_on: Least decision that blocks the deploy: ``block``, or ``warn``, which is also the decision when
        something was not judged.
    :param on_block: Action of the task when the gate blocks: ``fail``; ``skip`` all downstream tasks, as
        ``ShortCircuitOperator`` does; or ``branch``, which runs only ``branch_block``, or ``branch_pass`` when the gate
        passes.
    :param branch_pass: The directly downstream task or task group, or several, to run when the gate passes.
    :param branch_block: The same for when the gate blocks.
    """

    inherits_from_skipmixin = True
    declared_as: ClassVar = {"confs": None}
    does = "gate"
    has_done = "The gate has forecast a restart of"

    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        *_DECLARATIONS,
        "conf_file",
        "topic_ids",
        "kafka_conn_id",
        "will_lose_data_within",
    )

    def __init__(
        self,
        *,
        confs: Mapping[str, Any] | str | None = None,
        conf_file: str | None = None,
        spark_task: Any = None,
        sources: int | Sequence[str] | Mapping[str, str | None] | str | None = None,
        sink: str | None = None,
        operators: Sequence[str] | str | None = None,
        spark_version: str | None = None,
        trigger: str | None = None,
        source_options: Mapping[str, str] | str | None = None,
        classes: Sequence[str] | str | None = None,
        topic_ids: Mapping[str, str] | str | None = None,
        kafka_conn_id: str | None = None,
        will_lose_data_within: float | str | timedelta | None = None,
        quick: bool = False,
        fail_on: Literal["block", "warn"] = "block",
        on_block: Literal["fail", "skip", "branch"] = "fail",
        branch_pass: str | Sequence[str] | None = None,
        branch_block: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if on_block not in ("fail", "skip", "branch"):
            raise ValueError(f"on_block must be fail, skip or branch, not {on_block!r}")
        if fail_on not in ("block", "warn"):
            raise ValueError(f"fail_on must be block or warn, not {fail_on!r}")
        if (on_block == "branch") != (branch_pass is not None and branch_block is not None):
            raise ValueError("give branch_pass and branch_block both, and only with on_block='branch'")
        require_known(spark_task, self.get_dag())
        self.confs = confs
        self.conf_file = conf_file
        self.spark_task = task_id_of(spark_task)  # the id alone: an operator inside an operator does not serialise
        self.sources = sources
        self.sink = sink
        self.operators = operators
        self.spark_version = spark_version
        self.trigger = trigger
        self.source_options = source_options
        self.classes = classes
        self.topic_ids = topic_ids
        self.kafka_conn_id = kafka_conn_id
        self.will_lose_data_within = will_lose_data_within
        self.quick = quick
        self.fail_on = fail_on
        self.on_block = on_block
        self.branch_pass = branch_pass
        self.branch_block = branch_block

    def execute(self, context: Any) -> GateResultDocument:
        """Forecast, log, and let the deploy pass or block it."""
        with self.running(context):
            require_flags(self, "quick")
            deploy = self._deploy(context)
            known = topic_ids_of(self.topic_ids)
            view, foretold = forecast_restart(
                self.store(),
                deploy,
                self.store,
                quick=self.quick,
                kafka_config=self.hook.access(self.checkpoint, self.kafka_conn_id).kafka_config,
                topic_ids=known,
                will_lose_within_ms=self._within_ms(),
            )
            self.log.info("%s", headline(view.location, foretold))
            self.report(*forecast_tables(view.location, foretold))
            with suppress(CheckpointError):  # no bookmark in a log that cannot be read: the forecast says so
                context["ti"].xcom_push(key=BOOKMARK, value=take_bookmark(view).to_dict())
            if foretold.topic_ids:
                context["ti"].xcom_push(key=TOPIC_IDS, value={**foretold.topic_ids, **known})
            result: GateResultDocument = {
                "format_version": FORMAT_VERSION,
                "headline": headline(view.location, foretold),
                **foretold.to_dict(),
                **findings_told(foretold.findings),
                **self.told_of_file(),
            }
            # the watermark of the forecast is that of the next batch
            self.tell(context, result, batch_id=view.latest_committed, watermark_ms=None)
            if foretold.closes(self.fail_on) or self.on_block == "branch":
                # what follows leaves by an exception, and then Airflow pushes no return value
                context["ti"].xcom_push(key=_RETURN_VALUE, value=result)
                self._close_or_branch(context, view.location, foretold)
        return result

    def _close_or_branch(self, context: Any, location: str, foretold: Forecast) -> None:
        closed = foretold.closes(self.fail_on)
        if self.on_block == "branch":
            self.do_branch(context, self.branch_block if closed else self.branch_pass)
        elif self.on_block == "skip":
            downstream = context["task"].get_flat_relatives(upstream=False)
            self.skip(context["ti"], [task for task in downstream if not task.is_teardown])
        else:
            errors = [finding.message for finding in foretold.findings if finding.severity == "error"]
            reasons = reasons_text(errors) or f"{foretold.sentence}{not_judged_text(foretold.unknown)}"
            raise GateFailedError(
                f"the gate blocks the deploy: {reasons}", location=location, findings=foretold.findings
            )

    def _within_ms(self) -> int | None:
        given = self.will_lose_data_within
        return None if given is None else duration_ms_of("will_lose_data_within", given)

    def _deploy(self, context: Any) -> DeploySpec:
        deploy = self.declared_deploy()
        if self.conf_file:
            deploy = deploy.with_confs(_read_confs(self.conf_file))
        if self.spark_task is not None:
            deploy = deploy.with_confs(confs_of(self.dag, self.spark_task, context))
        return declared(deploy, {key: getattr(self, key) for key in _DECLARATIONS})


def topic_ids_of(given: Mapping[str, str] | str | None) -> dict[str, str]:
    """The ids of topics by source id and name, of a mapping or the text of one. Raises CheckpointError."""
    try:
        value = parse_yaml(given) if isinstance(given, str) else given
    except ValueError as error:
        raise CheckpointError(f"topic_ids: {error}") from error
    if not isinstance(value or {}, Mapping):
        raise CheckpointError(f"topic_ids is not a mapping from SOURCE/TOPIC to the id of the topic: {given!r:.60}")
    return {str(name): str(topic_id) for name, topic_id in (value or {}).items()}


def _read_confs(conf_file: str) -> Mapping[str, str]:
    text = read_text(conf_file)
    try:
        return parse_conf_file(text, conf_file)
    except ValueError as error:
        raise CheckpointError(str(error), location=conf_file) from error
