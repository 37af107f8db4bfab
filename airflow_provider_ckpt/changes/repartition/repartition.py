"""The executor of repartitions: Spark writes the batch, which is then read and compared with what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from airflow_provider_ckpt.change.executor import InPlace, Tick
from airflow_provider_ckpt.change.plan.actions import Copy, Repartition
from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.changes.repartition.ask_spark import ask_spark, require_spark
from airflow_provider_ckpt.changes.repartition.make import RepartitionRequest
from airflow_provider_ckpt.changes.repartition.outcome import problem_after
from airflow_provider_ckpt.changes.repartition.session import request_of, what_helps
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.state.reads import state_reads
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.inspect import examine, read_text_logs
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError, SparkFailedError
from airflow_provider_ckpt.untrusted.secrets import scrub


class Executor(InPlace):
    """Has Spark repartition the state."""

    planner = RepartitionRequest
    #: Whether this run has judged what Spark has left.
    _is_judged = False

    def plan_again(self) -> Plan:
        """Plan the repartition to the same number again, when there is a Spark that can do it."""
        require_spark(self.plan.location)
        return super().plan_again()

    def lay_ready(self, copies: Sequence[Copy], tick: Tick, *, resuming: bool) -> None:
        """Require that there is a Spark, and that the confs fit."""
        require_spark(self.plan.location)
        if self.plan.partitions:
            self._request(self._seen(), self.plan.partitions)

    @property
    def ways_out(self) -> str:
        """Command that puts everything back."""
        return f"`{self.stores.undo_command}` puts back what was there before"

    def repartition(self, step: Repartition) -> None:
        """Have Spark do it, and judge what it has left.

        Raises:
            PlanError: Spark has refused before it wrote anything, or what it has left is not what was asked for.
            CheckpointBusyError: A query has planned the batch first, so Spark has written nothing.
            SparkFailedError: It has ended half-way; the same plan goes on.
        """
        self._ask(step.partitions)

    def judge_outcome(self) -> None:
        """Judge what an earlier run has left that was stopped after the commit. A query that has run since is right.

        Raises as :meth:`repartition`.
        """
        if not self._is_judged and observe(self.stores.checkpoint).latest_planned == self.plan.batch_id:
            self._ask(None)

    def _ask(self, partitions: int | None) -> None:
        """Have Spark read all state before and after the repartition, and do that in between unless it is done."""
        require_spark(self.plan.location)
        view = self._seen()
        answer = ask_spark(self._request(view, partitions), self.record, self.mine)
        if "failed" in answer:
            raise self._failed(str(answer["failed"]["message"]))
        for read, (old, new) in zip(state_reads(view), zip(*answer["rows"], strict=True), strict=True):
            if old != new:
                raise self._wrong(f"{read.text} had {old:,} rows, and has {new:,}")
        after = examine(self.stores.checkpoint, deep=True)
        self._give_to_owner(after)
        problem = problem_after(after, self.plan.batch_id, self.plan.partitions or 0)
        if problem is not None:
            raise self._wrong(problem)
        self._is_judged = True

    def _give_to_owner(self, after: CheckpointView) -> None:
        """Spark has written as this user; who owns the entry of the batch before has to read and to purge that."""
        written = [
            name for name, stored in after.objects.items() if (stored.modified_ms or 0) > self.plan.planned_at_ms
        ]
        self.stores.checkpoint.give_all(written, like=layout.offset_entry(self.plan.last_kept))

    def _seen(self) -> CheckpointView:
        """The checkpoint, with the entries of the batch that is kept and what the operators say of themselves."""
        checkpoint, kept = self.stores.checkpoint, self.plan.last_kept
        view = observe(checkpoint, deep=True, batch_id=kept)
        names = [name for name in view.objects if isinstance(layout.parse(name), layout.OperatorMetadataFile)]
        names += [name for name in (layout.offset_entry(kept), layout.commit_entry(kept)) if name not in view.entries]
        return read_text_logs(checkpoint, view, names, checkpoint.head, checkpoint.chunks)

    def _request(self, view: CheckpointView, partitions: int | None) -> dict[str, Any]:
        return request_of(view, self.plan.last_kept, partitions, self.stores.spark_confs)

    def _failed(self, message: str) -> PlanError | CheckpointBusyError | SparkFailedError:
        """The error for a Spark that did not come to its end. The change has not begun when nothing is written."""
        plan, said = self.plan, scrub(message.rstrip("."))
        now = observe(self.stores.checkpoint, deep=True, batch_id=plan.batch_id)
        if now.partitions_of(plan.batch_id) not in (None, plan.partitions):
            self._note_refused(said)
            return CheckpointBusyError(
                f"a query started while the repartition was prepared, and has planned batch {plan.batch_id}: {said}.",
                location=plan.location,
                batch_id=plan.batch_id,
                hint="Spark has written nothing. Let the query commit that batch, stop it and everything that restarts "
                "it, then run the same command again.",
            )
        if not any(batch_of(name) == plan.batch_id for name in now.objects):
            self._note_refused(said)
            return PlanError(
                f"Spark refused, and has written nothing: {said}.",
                location=plan.location,
                hint=f"Nothing was done. {what_helps(said)}".rstrip(),
            )
        is_committed = layout.commit_entry(plan.batch_id) in now.objects
        state = "committed, and not verified" if is_committed else "half done, and the query does not start"
        return SparkFailedError(
            f"the repartition to {plan.partitions} partitions is {state}: {said}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint=f"Run the same command again: ckpt repartition {quote(plan.location)} --partitions {plan.partitions}; "
            "or "
            f"take it back: {self.stores.undo_command}",
        )

    def _note_refused(self, why: str) -> None:
        """Write down that Spark has written nothing, so that the change counts as one that never began."""
        self.mine()
        journal.refuse(self.record, why, now_ms())

    def _wrong(self, problem: str) -> PlanError:
        return PlanError(
            f"the repartition has not led to what it should: {problem}.",
            location=self.plan.location,
            batch_id=self.plan.batch_id,
            hint=f"Do not start the query. Take it back: {self.stores.undo_command}",
        )
