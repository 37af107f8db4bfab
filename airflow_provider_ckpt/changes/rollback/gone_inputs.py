"""Loss of a rollback when input files of the batches that it drops no longer exist."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.input_files import Inputs
from airflow_provider_ckpt.sinks.effects import SinkEffect


def without_gone_inputs(plan: Plan, inputs: Inputs) -> Plan:
    """The plan of a rollback after which the files of the dropped batches are read again, as far as they are there.

    Rows that cannot be computed again are lost where the sink has lost them too: an exact effect becomes ``skipped``.
    """
    warnings = list(plan.warnings)
    if inputs.unseen:
        warnings.append(
            f"Whether {inputs.unseen} of the {inputs.named} input files that are read again still exist is not known, "
            "because they are too many, or their directories cannot be read from here."
        )
    if not inputs.gone:
        return replace(plan, warnings=tuple(warnings))
    lost = f"{len(inputs.gone)} of the {inputs.named} input files that are read again no longer exist"
    warnings.append(f"{lost}, and Spark leaves them out without an error; the first is {inputs.gone[0]}.")
    effects = tuple(_lossy(effect, lost) if effect.effect == "exact" else effect for effect in plan.effects)
    return replace(plan, warnings=tuple(warnings), effects=effects)


def _lossy(effect: SinkEffect, lost: str) -> SinkEffect:
    return replace(
        effect,
        effect="skipped",
        reason=f"{lost}, so their rows are not written again",
        remedy="Put the files back before the query starts again.",
    )
