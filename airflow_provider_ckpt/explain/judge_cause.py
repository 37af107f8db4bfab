"""Judging causes by a checkpoint: which of them its files show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_ckpt.change.record.journal import Record, survey
from airflow_provider_ckpt.checkpoint.observe import closed_by
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding, worst_first
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.checks.state import state_that_is_told
from airflow_provider_ckpt.codec.offset_log import CLOSING_VERSION
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.explain.explanation import Evidence, Explanation
from airflow_provider_ckpt.explain.find_own_change import find_own_change, interrupted
from airflow_provider_ckpt.explain.message_facts import same_query
from airflow_provider_ckpt.explain.page import Cause
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.restart.judged import not_read
from airflow_provider_ckpt.storage.store import Store

#: Rules that only what is outside the checkpoint can break: a sink, a source, a deploy, another writer.
_OUTSIDE = ("CKPT150", *(f"CKPT2{digit}" for digit in "01237"), "CKPT3")
#: Rules whose finding is a note and evidence all the same: Spark stops because of it, and the checkpoint is right.
_TOLD_BY_A_NOTE = frozenset({"CKPT151"})
#: The rule of state that is missing, what Spark says then from 4.0 on, and the page of all that it says of state files.
_NO_STATE, _SAYS_NO_STATE = "CKPT132", "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
_OF_STATE = "cannot-load-state-store"
#: Findings of another problem that are shown beside a cause that is contradicted.
MOST_OTHERS = 3
#: What Spark says of a batch that its log lacks, and of one whose entry is there already.
_LACKS = re.compile(r"[Bb]atch (\d{1,18}) (?:doesn't exist|not found in offset log)")
_HAS = re.compile(r"jobs detected for (\d{1,18})")


@dataclass(frozen=True, slots=True)
class Ask:
    """Declarations of a user about the query, and the means to open its sources and its sink.

    Args:
        deploy: Sources and sink of the query.
        open_store: Opens the locations of the sink and of tables; None to read nothing but the checkpoint.
        kafka_config: Configuration of the client that asks the brokers.
        kafka_configs: What is declared of the clients of some servers, by these; ``kafka_config`` wins over it.
    """

    deploy: DeploySpec = field(default_factory=DeploySpec)
    open_store: Callable[[str], Store] | None = None
    kafka_config: Mapping[str, Any] = field(default_factory=dict)
    kafka_configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def judge_causes(explanations: Sequence[Explanation], store: Store, ask: Ask | None = None) -> tuple[Explanation, ...]:
    """Explanations with what the checkpoint says of each. Where it confirms some causes of a text, only these stay.

    Raises as :func:`~airflow_provider_ckpt.checks.inspect.examine`, and StoreError for a broker, a table or a sink of
    ``ask`` that does not answer.
    """
    ask = ask or Ask()
    found: tuple[Finding, ...] = ()
    if ask.open_store is None:
        view = examine(store, deep=True, each=True)
    else:
        view, foretold = forecast_restart(
            store, ask.deploy, ask.open_store, kafka_config=ask.kafka_config, kafka_configs=ask.kafka_configs
        )
        found = foretold.findings
    seen = _Seen(view, worst_first(dict.fromkeys([*check(view), *found])), ask, _records(store))
    judged = [_judged(item, seen) for item in explanations]
    shown = {item.occurrence for item in judged if _is(item, "confirmed")}
    open_ones = {item.occurrence for item in judged if _is(item, "unknown")}
    kept = [
        item
        for item in judged
        if _is(item, "confirmed")
        or (item.occurrence not in shown and (_is(item, "unknown") or item.occurrence not in open_ones))
    ]
    return tuple(sorted(kept, key=lambda item: not _is(item, "confirmed")))


def _is(item: Explanation, result: str) -> bool:
    return item.evidence is not None and item.evidence.result == result


@dataclass(frozen=True, slots=True)
class _Seen:
    """Everything that was read: the checkpoint, findings, answers of the sources, and recorded changes beside it."""

    view: CheckpointView
    found: tuple[Finding, ...]
    ask: Ask
    records: tuple[Record, ...]

    @property
    def outside(self) -> tuple[str, ...]:
        """Rules about what nobody has read: the sink, sources, the deploy, another writer."""
        deploy = self.ask.deploy
        is_asked = self.ask.open_store is not None
        sources = () if is_asked and any(source.place for source in deploy.sources or ()) else ("CKPT25", "CKPT26")
        sink = () if is_asked and deploy.sink is not None and deploy.sink.location else ("CKPT14", "CKPT24")
        return (*_OUTSIDE, *sources, *sink)


def _records(store: Store) -> tuple[Record, ...]:
    """The changes that are recorded beside a checkpoint; those that cannot be read say nothing here."""
    try:
        return survey(store)[0]
    except (PlanError, StoreError):
        return ()


def _judged(item: Explanation, seen: _Seen) -> Explanation:
    if item.code is None and _other_query(item.facts.get("query_id"), seen.view) is None:
        change = find_own_change(item, seen.records, seen.view.location)
        if change is not None:
            evidence = Evidence("confirmed", change.sentence, record=change.record.location)
            return replace(item, cause=change.cause or item.cause, evidence=evidence)
    evidence = _judge(item, seen)
    if evidence.result != "confirmed" and (sentence := interrupted(seen.records)):
        evidence = replace(evidence, sentence=f"{evidence.sentence} {sentence}")
    return replace(item, evidence=evidence)


def _judge(item: Explanation, seen: _Seen) -> Evidence:
    view, found = seen.view, seen.found
    if sentence := _other_query(item.facts.get("query_id"), view):
        return Evidence("unknown", sentence, elsewhere=True)
    cause = item.cause
    if cause is None or not cause.rules:
        return Evidence("unknown", "No rule tells this cause from the files of a checkpoint.")
    deploy = _deploy(cause, item.facts, seen.ask.deploy)
    if any(code.startswith("CKPT2") for code in cause.rules):
        found = worst_first(dict.fromkeys([*found, *forecast(view, deploy).findings]))
    if (lost := _state_lost(item, view)) is not None:
        found = worst_first([lost, *(finding for finding in found if finding.code != _NO_STATE)])
    shows = tuple(finding for finding in found if _shows(finding, cause, view))
    if shows:
        codes = ", ".join(dict.fromkeys(finding.code for finding in shows))
        if sentence := _other_batch(item, shows, view):
            # What they advise is for the checkpoint that was read, and the text may be about another one.
            bare = tuple(replace(finding, hint=None, commands=()) for finding in shows)
            return Evidence("unknown", sentence, bare, elsewhere=True)
        return Evidence("confirmed", f"The checkpoint shows this cause: {codes}.", shows)
    errors = tuple(finding for finding in found if finding.severity == "error")[:MOST_OTHERS]
    rules = ", ".join(cause.rules)
    searched = [code for code in cause.rules if not code.startswith(seen.outside)]
    if cause.rules[0] not in searched or not_read(view):
        return Evidence(
            "unknown",
            f"Nothing in the files of the checkpoint shows this cause. {rules} {_need(cause.rules)} what is outside of "
            f"it as well: the sink, the sources, the deploy or a second writer.{_others(errors)}",
            errors,
        )
    return Evidence("contradicted", _absent(searched, cause.rules), errors)


def _state_lost(item: Explanation, view: CheckpointView) -> Finding | None:
    """That the state is missing, by a text that only a query with state ends with; the logs need not show that.

    A text about a state file may be of another checkpoint, unless it names the query.
    """
    is_told = item.match.condition == _SAYS_NO_STATE or (
        item.page == _OF_STATE and item.match.is_proven and "query_id" in item.facts
    )
    lost = state_that_is_told(view) if is_told else None
    return None if lost is None else replace(lost, spark_error=item.match.condition or None)


def _shows(finding: Finding, cause: Cause, view: CheckpointView) -> bool:
    """True if a finding is evidence of a cause; of a closed checkpoint only where the cause says its version."""
    if finding.code not in cause.rules or (finding.severity == "note" and finding.code not in _TOLD_BY_A_NOTE):
        return False
    if finding.code != "CKPT103" or not cause.heading:
        return True
    closed = closed_by(view)
    by_version = closed is not None and finding.name == closed.name
    return by_version == (cause.says.get("found") == str(CLOSING_VERSION))


def _absent(searched: Sequence[str], rules: Sequence[str]) -> str:
    """Sentence on the rules that found nothing, and on rules of the cause that the files cannot tell."""
    told = f"The checkpoint does not show this cause: it has none of {', '.join(searched)} now."
    others = [code for code in rules if code not in searched]
    if not others:
        return told
    return f"{told} {', '.join(others)} also {_need(others)} what is outside of it, such as the deploy or the sources."


def _others(errors: Sequence[Finding]) -> str:
    """That the checkpoint has other errors, which are shown beside the cause."""
    codes = list(dict.fromkeys(finding.code for finding in errors))
    return f" The checkpoint has {'another error' if len(codes) == 1 else 'other errors'}:" if codes else ""


def _need(codes: Sequence[str]) -> str:
    return "needs" if len(codes) == 1 else "need"


def _other_query(told: str | None, view: CheckpointView) -> str | None:
    """Evidence that the text is of another query; some logs have only the beginning of an id."""
    own = view.query_id
    if same_query(told, own):
        return None
    return (
        f"The text speaks of the query {told}, and this checkpoint is that of the query {own}. It is likely that the "
        "text is about another checkpoint, so nothing of it was judged here."
    )


def _other_batch(item: Explanation, shows: Sequence[Finding], view: CheckpointView) -> str | None:
    """Evidence that the text names another batch than the findings of the logs."""
    if found := _LACKS.search(item.match.message):
        return _other_missing(found, shows)
    # A condition has the batch as a fact, and no message that was matched.
    batch = found[1] if (found := _HAS.search(item.match.message)) else item.facts.get("batch", "")
    return _other_planned(int(batch), shows, view) if batch.isdecimal() else None


def _other_planned(told: int, shows: Sequence[Finding], view: CheckpointView) -> str | None:
    """Evidence that Spark found the entry of another batch than the newest planned one, which would run again here."""
    if any(finding.code != "CKPT112" for finding in shows) or view.latest_planned in (None, told):
        return None
    return (
        f"The text speaks of batch {told}, and the newest batch in the offset log of this checkpoint is "
        f"{view.latest_planned}. The text may be about another checkpoint, or about an earlier state of this one; "
        "compare them before you repair anything."
    )


def _other_missing(found: re.Match[str], shows: Sequence[Finding]) -> str | None:
    """Evidence that another entry is missing than the one that the text names."""
    told, lacked = int(found[1]), []
    for finding in shows:
        entry = (finding.name or "").rpartition("/")[2]
        if finding.code not in ("CKPT110", "CKPT123") or not entry.isdecimal():
            continue
        # Spark names one of the entries that a source's log lacks, and the last one is in the finding.
        if told == int(entry) or (finding.code == "CKPT123" and told < int(entry)):
            return None
        lacked.append(f"{finding.name} ({finding.code})")
    if not lacked:
        return None
    return (
        f"The text speaks of batch {told}, and the checkpoint lacks {', '.join(lacked)}. The text may be about another "
        "checkpoint, or about an earlier state of this one; compare them before you repair anything."
    )


def _deploy(cause: Cause, facts: Mapping[str, str], given: DeploySpec) -> DeploySpec:
    """Deploy as the user and the message describe it; as the user alone does where a fact of the message is missing."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
            fact = facts[value[1:-1]]
            return int(fact) if fact.isdecimal() else fact
        return value

    try:
        return declare(given, filled(dict(cause.deploy)))
    except (KeyError, ValueError):
        return given
