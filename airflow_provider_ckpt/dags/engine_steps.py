"""Steps that the engine of a query takes, where the query file declares one; and what is done where it does not.

The file is read when the task runs, so that one task serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from airflow_provider_ckpt.errors import CheckpointError, EngineError
from airflow_provider_ckpt.hooks.engines import stopped_word
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.operators.runs import QueryStartOperator, QueryStopOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.engines.engine import Engine
    from airflow_provider_ckpt.running.find_unit import Unit


def proven_or_said(context: Any) -> bool:
    """The receipt of a stop, where an engine is declared; otherwise whoever has approved says that it is stopped."""
    word = stopped_word(context["task"])
    return True if word is None else word()


class StopOrAsk(QueryStopOperator, ApprovalOperator):
    """Stops the query; where no engine is declared, a person is asked to.

    :param of_one_query: Refuse an application with other queries, whose batches a rollback of one would leave.
    """

    template_fields: Sequence[str] = (*QueryStopOperator.template_fields, *ApprovalOperator.template_fields)
    may_do_without = True

    def __init__(self, *, of_one_query: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.of_one_query = of_one_query

    def do_without(self, context: Any) -> Any:
        """Ask a person."""
        return ApprovalOperator.execute(self, context)

    def carry_out(self, context: Any, unit: Unit, engine: Engine) -> Any:
        """Stop it."""
        if self.of_one_query and len(unit.members) > 1:
            raise EngineError(
                f"the application {unit.name} has {len(unit.members)} queries, and this deploys one of them.",
                location=unit.location,
                hint=f"Nothing was done. Deploy all of them at once: ckpt deploy {unit.name}",
            )
        return super().carry_out(context, unit, engine)


class StartOrAsk(QueryStartOperator, ApprovalOperator):
    """Starts the query; where no engine is declared, a person is asked to."""

    template_fields: Sequence[str] = (*QueryStartOperator.template_fields, *ApprovalOperator.template_fields)
    may_do_without = True

    def do_without(self, context: Any) -> Any:
        """Ask a person."""
        return ApprovalOperator.execute(self, context)


class StopWhereDeclared(QueryStopOperator):
    """Stops the query; where no engine is declared, whoever approves says that it is stopped.

    A plan that somebody has previewed is one of a query that is stopped already: the stop would make it another one.

    :param expected_plan: The plan that was previewed.
    :param application: What would be submitted in place of what the engine starts, which is refused.
    """

    template_fields: Sequence[str] = (*QueryStopOperator.template_fields, "expected_plan", "application")
    may_do_without = True

    def __init__(self, *, expected_plan: Any = None, application: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.expected_plan = expected_plan
        self.application = application

    def do_without(self, context: Any) -> None:
        """Nothing."""
        self.log.info("No engine is declared of the query, so nothing is stopped here: approve when it is stopped.")

    def carry_out(self, context: Any, unit: Unit, engine: Engine) -> Any:
        """Stop it, or see that it is stopped."""
        from airflow_provider_ckpt.running.require_stopped import require_stopped

        if not is_nothing(self.application):
            raise CheckpointError(
                f"the engine {unit.declared.name} starts {unit.name}, and application is given as well.",
                location=unit.location,
                hint="Nothing was done. Leave out application: what the query file declares is started.",
            )
        if not is_nothing(self.expected_plan):
            require_stopped(unit, engine)
        return super().carry_out(context, unit, engine)


class StartWhereDeclared(QueryStartOperator):
    """Starts the query; where no engine is declared, nothing."""

    may_do_without = True

    def do_without(self, context: Any) -> None:
        """Nothing."""
        self.log.info("No engine is declared of the query, so nothing is started here.")
