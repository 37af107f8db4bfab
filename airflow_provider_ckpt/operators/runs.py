"""The operators that stop and start a query where it runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import conf

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError, EngineError, NotBetweenBatchesError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of, require_flags
from airflow_provider_ckpt.hooks.engines import open_declared
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.operators.base import CheckpointOperator, task_of

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import StartResultDocument, StopResultDocument
    from airflow_provider_ckpt.engines.engine import Application, Engine
    from airflow_provider_ckpt.running.find_unit import Unit
    from airflow_provider_ckpt.running.receipt import StartReceipt, StopReceipt

#: XCom key of the receipt, which is there as well when the task fails for what the receipt says.
RECEIPT_KEY = "receipt"


class QueryRunOperator(CheckpointOperator):
    """Common base of the operators that stop and start a query where it runs, as the query file declares it.

    The engine is reached by the connection of Airflow that ``engine_connection`` of the file names. A task that is
    killed or cleared never ends what runs, and the next try goes on where it was.
    """

    _flags: Sequence[str] = ("break_lock", "plan_only")

    def __init__(self, *, break_lock: bool = False, plan_only: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.break_lock = break_lock
        self.plan_only = plan_only
        #: Who asks, once the task runs, as records say it.
        self.by = ""

    def execute(self, context: Any) -> Any:
        """Stop or start it, and log the receipt."""
        with self.running(context):
            require_flags(self, *self._flags)
            if self.declares_engine or not self.may_do_without:
                return self._run_declared(context)
        return self.do_without(context)

    #: True where :meth:`do_without` is for a query of which no engine is declared.
    may_do_without = False

    def do_without(self, context: Any) -> Any:
        """What is done where no engine is declared."""
        raise NotImplementedError

    def _run_declared(self, context: Any) -> Any:
        self.by = task_of(context)
        unit, engine = open_declared(self)
        if self.plan_only:
            return self.tell(context, self._planned(unit, engine))
        return self.carry_out(context, unit, engine)

    def _planned(self, unit: Unit, engine: Engine) -> Any:
        from airflow_provider_ckpt.running.find_status import find_status

        status = find_status(unit, engine)
        if status.unknown is not None:
            self.log.warning("It may run or not: %s", status.unknown)
        steps = self.steps(unit, status)
        self.log.info("%s is %s; nothing is changed.\n%s", unit.name, status.state, "\n".join(steps))
        return {
            "format_version": FORMAT_VERSION,
            "name": unit.name,
            "batch_id": None,
            "steps": list(steps),
            "receipt": None,
        }

    def _batch_of(self, batches: dict[str, int | None]) -> int | None:
        return batches.get(self.query_name or "")

    @abstractmethod
    def steps(self, unit: Unit, status: Any) -> Sequence[str]:
        """What it would do, a sentence for each step."""

    @abstractmethod
    def carry_out(self, context: Any, unit: Unit, engine: Engine) -> Any:
        """Do it."""


class QueryStopOperator(QueryRunOperator):
    """Stops a query between two batches, wherever it runs, and proves it, as ``ckpt stop`` does.

    Its receipt takes the place of ``query_is_stopped`` of every change of the query. A query that is stopped already
    stays as it is. It fails when the query cannot be stopped between two batches, and goes on then; and when the query
    had ended by itself inside a batch, which is stopped all the same. When the engine does not say which runs there
    are, another try may help.

    :param query: A query of the query file, which declares its ``engine``; all queries of its application are stopped.
    :param wait_for_batch: How long the fence waits for the commit of a batch in flight: ``10m``, a timedelta, or
        seconds; by default as the query file says.
    :param interrupt_batch: End it also where no fence is possible: a batch stays in flight, which the next start runs
        again. Then the task succeeds also for a query that had ended inside a batch.
    :param hold: Close its checkpoint until the next start, for what restarts a query and cannot be kept from it.
    :param break_lock: Remove the lock of another stop, start or change, which you know has ended.
    :param plan_only: Only log what would be done, and change nothing.
    """

    does = "stop"
    has_done = "The query was stopped of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "wait_for_batch")
    _flags = ("interrupt_batch", "hold", "break_lock", "plan_only")

    def __init__(
        self,
        *,
        query: str | None = None,
        query_file: str | None = None,
        wait_for_batch: float | str | timedelta | None = None,
        interrupt_batch: bool = False,
        hold: bool = False,
        break_lock: bool = False,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(query=query, query_file=query_file, break_lock=break_lock, plan_only=plan_only, **kwargs)
        self.wait_for_batch = wait_for_batch
        self.interrupt_batch = interrupt_batch
        self.hold = hold

    def steps(self, unit: Unit, status: Any) -> Sequence[str]:
        """What it would do, a sentence for each step."""
        from airflow_provider_ckpt.running.find_status import stop_steps

        return () if status.state == "unknown" else stop_steps(unit, status, hold=self.hold)

    def carry_out(self, context: Any, unit: Unit, engine: Engine) -> StopResultDocument:
        """Stop it."""
        from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query

        wait = None if is_nothing(self.wait_for_batch) else duration_ms_of("wait_for_batch", self.wait_for_batch) / 1000
        interrupts = self.interrupt_batch or self.hold
        request = StopRequest(hold=self.hold, interrupt_batch=interrupts, wait_for_batch=wait)
        receipt = stop_query(unit, engine, request, by=self.by, break_lock=self.break_lock, tell=self.log.info)
        return self._result(context, unit, receipt, interrupts=interrupts)

    def _result(self, context: Any, unit: Unit, receipt: StopReceipt, *, interrupts: bool) -> StopResultDocument:
        result: StopResultDocument = {
            "format_version": FORMAT_VERSION,
            "name": unit.name,
            "batch_id": self._batch_of({each.query: each.batch_id for each in receipt.queries}),
            "steps": [],
            "receipt": receipt.to_dict(),
        }
        context["ti"].xcom_push(key=RECEIPT_KEY, value=result["receipt"])
        told = self.tell(context, result)
        for each in receipt.queries:
            flight = "" if each.in_flight is None else f"; batch {each.in_flight} is in flight"
            self.log.info("%s is stopped; its newest committed batch is %s%s.", each.query, each.batch_id, flight)
        if not receipt.between_batches and not interrupts:
            raise NotBetweenBatchesError(
                f"{unit.name} had ended with a batch in flight, which its next start runs again.",
                location=unit.location,
                hint="It is stopped, and its receipt is in XCom. With interrupt_batch=True the task succeeds.",
            )
        return told


class QueryStartOperator(QueryRunOperator):
    """Starts a query that is proven to be stopped, and waits for its first commit, as ``ckpt start`` does.

    The restart is judged first, and the fence is taken back. A start that was interrupted is found again by the mark of
    its run, and never asked for twice. It fails when the query does not commit in time; the run goes on then, and a
    task that is cleared waits again.

    :param query: A query of the query file, which declares its ``engine`` and its ``application``.
    :param version: ``declared`` starts what the query file declares now; ``previous`` what ran before the newest start
        of this DAG run, as the record of that start says, such as after the rollback of a deploy.
    :param gate: Judge the restart first, as ``CheckpointGateOperator`` does.
    :param commit_within: How long the first commit is waited for: ``10m``, a timedelta, or seconds; by default as the
        query file says.
    :param query_is_stopped: You know that no run is there, in place of the receipt of a stop.
    :param not_started: You know that a start which was interrupted has begun no run.
    :param deferrable: Wait for the first commit in the triggerer, which has to reach the engine.
    :param poke_interval: Seconds between two questions of the triggerer.
    :param break_lock: Remove the lock of another stop, start or change, which you know has ended.
    :param plan_only: Only log what would be done, and change nothing.
    """

    does = "start"
    has_done = "The query was started of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "commit_within")
    _flags = ("gate", "query_is_stopped", "not_started", "deferrable", "break_lock", "plan_only")

    def __init__(
        self,
        *,
        query: str | None = None,
        query_file: str | None = None,
        version: Literal["declared", "previous"] = "declared",
        gate: bool = True,
        commit_within: float | str | timedelta | None = None,
        query_is_stopped: bool = False,
        not_started: bool = False,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        poke_interval: float = 15.0,
        break_lock: bool = False,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(query=query, query_file=query_file, break_lock=break_lock, plan_only=plan_only, **kwargs)
        if version not in ("declared", "previous"):
            raise ValueError(f"version must be declared or previous, not {version!r:.40}")
        self.version = version
        self.gate = gate
        self.commit_within = commit_within
        self.query_is_stopped = query_is_stopped
        self.not_started = not_started
        self.deferrable = deferrable
        self.poke_interval = poke_interval

    def steps(self, unit: Unit, status: Any) -> Sequence[str]:
        """What it would do, a sentence for each step."""
        from airflow_provider_ckpt.running.find_status import start_steps

        return start_steps(unit, status)

    def carry_out(self, context: Any, unit: Unit, engine: Engine) -> StartResultDocument:
        """Start it, and wait, or defer."""
        within_s = self._within_s(unit)
        receipt = self._start(unit, engine, self._application(context, unit), 0.0 if self.deferrable else within_s)
        if self.deferrable and not receipt.is_good:
            self._defer_until_commit(receipt, now_ms() + int(within_s * 1000))
        return self._result(context, unit, receipt, within_s)

    def _start(self, unit: Unit, engine: Engine, application: Application, within_s: float) -> StartReceipt:
        from airflow_provider_ckpt.running.start_query import StartRequest, start_query

        request = StartRequest(
            query_is_stopped=self.query_is_stopped,
            not_started=self.not_started,
            commit_within=within_s,
            gate=self.gate,
        )
        return start_query(
            unit, engine, application, request, by=self.by, break_lock=self.break_lock, tell=self.log.info
        )

    def _application(self, context: Any, unit: Unit) -> Application:
        from airflow_provider_ckpt.running.read_application import read_application

        if self.version == "declared":
            return read_application(unit)
        from airflow_provider_ckpt.running.deploy_query import application_before
        from airflow_provider_ckpt.running.record_runs import read_events

        run = self.by.rpartition("/")[0]
        found = application_before(read_events(unit), lambda by: by != self.by and by.rpartition("/")[0] == run)
        if found is None:
            raise EngineError(
                f"no version of {unit.name} before this one is recorded: ckpt has started none that committed.",
                location=unit.location,
                hint="Nothing was started. Let the query file declare that version, and start it: "
                f"ckpt start {unit.name} --execute",
            )
        return found

    def _defer_until_commit(self, receipt: StartReceipt, deadline_ms: int) -> None:
        from airflow_provider_ckpt.triggers.runs import QueryRunTrigger

        self.log.info("The run %s was started; its first commit is waited for in the triggerer.", receipt.run.id)
        self.defer(
            trigger=QueryRunTrigger(
                query=self.query_name,
                query_file=self.query_file,
                checkpoint_conn_id=self.checkpoint_conn_id,
                from_batches=dict(receipt.from_batches),
                poke_interval=self.poke_interval,
                deadline_ms=deadline_ms,
            ),
            method_name="start_complete",
            kwargs={"number": receipt.number, "deadline_ms": deadline_ms},
        )

    def start_complete(self, context: Any, event: dict[str, Any], number: int, deadline_ms: int) -> StartResultDocument:
        """Go on after the trigger has fired: the receipt of the very start that this task has made."""
        from airflow_provider_ckpt.running.record_runs import read_events

        with self.running(context):
            self.by = task_of(context)
            unit, engine = open_declared(self)
            newest = read_events(unit)[-1]
            if newest.number != number or newest.application is None:
                raise CheckpointBusyError(
                    f"{unit.name} was stopped or started by {newest.by} while its first commit was waited for.",
                    location=unit.location,
                )
            receipt = self._start(unit, engine, newest.application, 2 * engine.settle_s)
            if not receipt.is_good and receipt.run.presence != "ended" and now_ms() < deadline_ms:
                self._defer_until_commit(receipt, deadline_ms)  # the engine has restarted it meanwhile
            return self._result(context, unit, receipt, self._within_s(unit))

    def _within_s(self, unit: Unit) -> float:
        if is_nothing(self.commit_within):
            return unit.declared.start.commit_within_s
        return duration_ms_of("commit_within", self.commit_within) / 1000

    def _result(self, context: Any, unit: Unit, receipt: StartReceipt, within_s: float) -> StartResultDocument:
        result: StartResultDocument = {
            "format_version": FORMAT_VERSION,
            "name": unit.name,
            "batch_id": self._batch_of(dict(receipt.batches)),
            "steps": [],
            "receipt": receipt.to_dict(),
        }
        context["ti"].xcom_push(key=RECEIPT_KEY, value=result["receipt"])
        told = self.tell(context, result)
        self.log.info("%s was started as %s (%s).", unit.name, receipt.token, receipt.run.ui or receipt.run.id)
        if receipt.is_good:
            return told
        problem = receipt.problem
        if receipt.run.presence == "live":
            problem = f"no batch of every query was committed within {within_s:g} seconds"
        raise CheckpointError(
            f"{unit.name} was started as {receipt.token}: {problem}.",
            location=unit.location,
            hint="What runs goes on. Cleared, the task waits again; QueryStopOperator or ckpt stop stops it.",
        )
