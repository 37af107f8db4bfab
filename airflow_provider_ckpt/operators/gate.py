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
from airflow_provider_ckpt.hooks.pipeline_task import PipelineTask
from airflow_provider_ckpt.operators.base import CheckpointOperator, declared
from airflow_provider_ckpt.operators.task_confs import confs_of, require_known, task_id_of
from airflow_provider_ckpt.operators.told import findings_told, reasons_text
from airflow_provider_ckpt.query.declared import OF_ONE_QUERY
from airflow_provider_ckpt.query.yaml_text import parse_yaml

if TYPE_CHECKING:
    from airflow_provider_ckpt.checkpoint.view import CheckpointView
    from airflow_provider_ckpt.checks.findings import Finding
    from airflow_provider_ckpt.documents.tasks import GatedFlowFields, GateResultDocument, GatesResultDocument
    from airflow_provider_ckpt.fleet.gated_pipeline import GatedQueries
    from airflow_provider_ckpt.query.deploy import DeploySpec
    from airflow_provider_ckpt.query.query_file import Query
    from airflow_provider_ckpt.restart.forecast import Forecast

#: XCom key of the ids that topics had when a gate saw them first.
TOPIC_IDS = "topic_ids"
#: XCom key of the bookmark that the gate leaves for :class:`CheckpointContinuityOperator`.
BOOKMARK = "bookmark"

#: Queries of a pipeline that an XCom names.
MOST_QUERIES = 100
_RETURN_VALUE = "return_value"
_DECLARATIONS = ("confs", "sources", "sink", "operators", "spark_version", "trigger", "source_options", "classes")


class CheckpointGateOperator(PipelineTask, CheckpointOperator, BranchMixIn):
    """Forecasts the restart of a query with what is about to be deployed, and stops a deploy that must not go ahead.

    The forecast (decision, the batch Spark resumes at, what happens to each conf, the findings) is the task's return
    value in XCom, also when the gate blocks. Its key ``bookmark`` has the progress of the query, for
    :class:`~airflow_provider_ckpt.operators.checkpoint.CheckpointContinuityOperator`, and ``topic_ids`` the ids of the
    topics of declared Kafka brokers, for the gate of the next run.

    ``query`` may be the name of a Spark Declarative Pipeline, or a list of names: each flow or query is gated, and the
    worst decision counts. The return value then has the gate of each by name, and the XCom ``bookmark`` has all
    bookmarks; ``sources``, ``sink``, ``operators`` and ``source_options`` are said in the query file.

    The deploy is described by ``conf_file``, ``spark_task`` and the other arguments; of the same value the later one in
    this list is used. Text in ``confs``, ``sources``, ``operators`` and ``classes``, such as a rendered template, is
    read as YAML. The gate does not know the ``spark-defaults.conf`` of a cluster, nor confs that the application sets
    in its own code.

    :param confs: SQL confs that the deploy sets explicitly.
    :param conf_file: A ``spark-defaults.conf``: a path on the worker, or a URL, which the connection opens where the
        checkpoint has the same scheme.
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
    :param full_refresh: Of a pipeline: tables that the run refreshes in full; ``all`` is all.
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
        "full_refresh",
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
        full_refresh: Sequence[str] | str | None = None,
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
        self.full_refresh = full_refresh
        self.quick = quick
        self.fail_on = fail_on
        self.on_block = on_block
        self.branch_pass = branch_pass
        self.branch_block = branch_block

    def execute(self, context: Any) -> GateResultDocument | GatesResultDocument:
        """Forecast, log, and let the deploy pass or block it."""
        from airflow_provider_ckpt.report.tables import forecast_tables, headline, not_judged_text
        from airflow_provider_ckpt.restart.bookmark import take_bookmark
        from airflow_provider_ckpt.restart.gate import forecast_restart

        with self.running(context):
            require_flags(self, "quick")
            if self.is_several:
                return self._gate_several(context)
            if self.full_refresh:
                raise CheckpointError("full_refresh is of a pipeline; give its name as query")
            deploy = self._deploy(context)
            known = topic_ids_of(self.topic_ids)
            access = self.hook.access(self.checkpoint, self.kafka_conn_id)
            view, foretold = forecast_restart(
                self.store(),
                deploy,
                self.store,
                quick=self.quick,
                kafka_config=access.kafka_config,
                kafka_configs=access.kafka_configs,
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
                errors = [finding.message for finding in foretold.findings if finding.severity == "error"]
                reasons = reasons_text(errors) or f"{foretold.sentence}{not_judged_text(foretold.unknown)}"
                closed = foretold.closes(self.fail_on)
                self._close_or_branch(context, view.location, reasons, foretold.findings, closed=closed)
        return result

    def _gate_several(self, context: Any) -> GatesResultDocument:
        """The same for a pipeline, or for each query of a list."""
        from airflow_provider_ckpt.fleet.gated_pipeline import judge_pipeline, judge_queries
        from airflow_provider_ckpt.fleet.pipeline_findings import reasons_of
        from airflow_provider_ckpt.restart.gate import forecast_restart

        self.require_shared({name: getattr(self, name) for name in (*OF_ONE_QUERY, "topic_ids")})
        config, configs = self.hook.kafka_config(self.kafka_conn_id), self.hook.kafka_configs(self.kafka_conn_id)
        refreshed = [self.full_refresh] if isinstance(self.full_refresh, str) else list(self.full_refresh or ())

        def foretell(query: Query, beside: frozenset[str] | None) -> tuple[CheckpointView, Forecast]:
            return forecast_restart(
                self.store(query.checkpoint),
                self._deploy(context, query),
                self.store,
                quick=self.quick,
                kafka_config=config,
                kafka_configs=configs,
                will_lose_within_ms=self._within_ms(),
                beside=beside,
            )

        try:
            gated: GatedQueries
            if self.seen is not None and self.declared_file is not None:
                for reason in reasons_of(self.seen):
                    self.log.warning("%s", reason)
                gated = judge_pipeline(self.declared_file, self.seen, foretell, full_refresh=refreshed)
            else:
                gated = judge_queries(self.listed or {}, foretell)
        except ValueError as error:
            raise CheckpointError(str(error)) from None
        return self._told_several(context, gated)

    def _told_several(self, context: Any, gated: GatedQueries) -> GatesResultDocument:
        """Log, push, and pass or block."""
        from airflow_provider_ckpt.report.tables import findings_table, forecast_tables, headline
        from airflow_provider_ckpt.restart.bookmark import take_bookmark
        from airflow_provider_ckpt.restart.forecast import DECISIONS

        bookmarks, reasons = dict[str, Any](), list[str]()
        queries: dict[str, GatedFlowFields] = {}
        if gated.findings:
            self.report(findings_table(gated.findings))
        for flow in gated.flows:
            found: tuple[Finding, ...] = ()
            if flow.forecast is None or flow.view is None:
                line = f"{flow.query.checkpoint}: {flow.error}"
                reasons.append(line)
            else:
                line, found = headline(flow.view.location, flow.forecast), flow.forecast.findings
                self.report(*forecast_tables(flow.view.location, flow.forecast))
                if flow.forecast.closes(self.fail_on):
                    reasons.append(line)
                with suppress(CheckpointError):
                    bookmarks[flow.name] = take_bookmark(flow.view).to_dict()
            self.log.info("%s", line)
            queries[flow.name] = {
                "location": flow.query.checkpoint,
                "decision": flow.decision,
                "headline": line,
                **findings_told(found),
            }
        context["ti"].xcom_push(key=BOOKMARK, value={"queries": bookmarks})
        first = dict(sorted(queries.items(), key=lambda item: -DECISIONS.index(item[1]["decision"]))[:MOST_QUERIES])
        result: GatesResultDocument = {
            "format_version": FORMAT_VERSION,
            "decision": gated.decision,
            "unknown": list(gated.unknown),
            "queries": first,
            "others": len(queries) - len(first),
            **findings_told(gated.findings),
        }
        self.tell(context, result)
        closed = gated.closes(self.fail_on)
        if closed or self.on_block == "branch":
            context["ti"].xcom_push(key=_RETURN_VALUE, value=result)
            reasons = [item.message for item in gated.findings if item.severity != "note"] + reasons
            reasons += [f"not judged: {', '.join(gated.unknown)}"] if gated.unknown else []
            self._close_or_branch(context, gated.place, reasons_text(reasons), gated.findings, closed=closed)
        return result

    def _close_or_branch(
        self, context: Any, location: str, reasons: str, findings: Sequence[Finding], *, closed: bool
    ) -> None:
        if self.on_block == "branch":
            self.do_branch(context, self.branch_block if closed else self.branch_pass)
        elif self.on_block == "skip":
            downstream = context["task"].get_flat_relatives(upstream=False)
            self.skip(context["ti"], [task for task in downstream if not task.is_teardown])
        else:
            raise GateFailedError(f"the gate blocks the deploy: {reasons}", location=location, findings=tuple(findings))

    def _within_ms(self) -> int | None:
        given = self.will_lose_data_within
        return None if given is None else duration_ms_of("will_lose_data_within", given)

    def _deploy(self, context: Any, query: Query | None = None) -> DeploySpec:
        """What is declared of the query, or of one of several."""
        deploy = self.declared_deploy(query)
        if self.conf_file:
            deploy = deploy.with_confs(self._read_confs(self.checkpoint if query is None else query.checkpoint))
        if self.spark_task is not None:
            deploy = deploy.with_confs(confs_of(self.dag, self.spark_task, context))
        of_all = [key for key in _DECLARATIONS if query is None or key not in OF_ONE_QUERY]
        return declared(deploy, {key: getattr(self, key) for key in of_all})

    def _read_confs(self, checkpoint: str) -> Mapping[str, str]:
        """Those of the file; what opens the checkpoint opens one that has the same scheme."""
        from airflow_provider_ckpt.fleet.read_query_file import read_text
        from airflow_provider_ckpt.query.deploy import parse_conf_file
        from airflow_provider_ckpt.storage.store import Store

        conf_file = str(self.conf_file)
        scheme, is_url, _ = conf_file.partition("://")
        is_beside = is_url and self.hook.url(checkpoint).startswith(f"{scheme}://")
        try:
            return parse_conf_file(read_text(conf_file, self.store if is_beside else Store.open), conf_file)
        except ValueError as error:
            raise CheckpointError(str(error), location=conf_file) from error


def topic_ids_of(given: Mapping[str, str] | str | None) -> dict[str, str]:
    """The ids of topics by source id and name, of a mapping or the text of one. Raises CheckpointError."""
    try:
        value = parse_yaml(given) if isinstance(given, str) else given
    except ValueError as error:
        raise CheckpointError(f"topic_ids: {error}") from error
    if not isinstance(value or {}, Mapping):
        raise CheckpointError(f"topic_ids is not a mapping from SOURCE/TOPIC to the id of the topic: {given!r:.60}")
    return {str(name): str(topic_id) for name, topic_id in (value or {}).items()}
