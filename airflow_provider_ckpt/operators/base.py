"""Common base of the operators."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.lineage.task import CheckpointTask
from airflow_provider_ckpt.query.yaml_text import parse_yaml
from airflow_provider_ckpt.report.table import Table, render
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.plan.kinds import Kind
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.receipt import Receipt
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument, SinkResultFields
    from airflow_provider_ckpt.query.deploy import DeploySpec
    from airflow_provider_ckpt.sinks.effects import SinkEffect
    from airflow_provider_ckpt.storage.store import Store

#: XCom key of the whole plan that a task with ``plan_only`` has made.
PLAN_KEY = "plan"
#: The most bytes of such a plan, which Airflow's database keeps for each run; ``docs/limits.md`` says how many steps.
MOST_PLAN_BYTES = 8 << 20


class CheckpointOperator(CheckpointTask, BaseOperator):
    """Common base of the operators.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param query: Name of the query in the query file, in place of ``checkpoint`` and of all else that the file declares
        of it; an argument that is given wins over the file.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``. It is read when the task runs.
    """

    template_fields: Sequence[str] = ("checkpoint", "checkpoint_conn_id", "query", "query_file")
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        checkpoint: str | None = None,
        checkpoint_conn_id: str | None = None,
        query: str | None = None,
        query_file: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.checkpoint_conn_id = checkpoint_conn_id
        self.query = query
        self.query_file = query_file
        self.require_named()
        self.link_checkpoints()

    def lineage_sources(self) -> Any:
        """The declared sources; None if they cannot be parsed, which the task itself reports."""
        try:
            return value_of(getattr(self, "sources", None))
        except ValueError:  # the task itself says what is wrong
            return None

    def store(self, location: str | None = None) -> Store:
        """Open the store of the checkpoint, or of another location."""
        return self.hook.store(self.checkpoint if location is None else location)

    def report(self, *tables: Table) -> None:
        """One log entry with tables."""
        self.log.info("\n%s", render(tables))


def declared(deploy: DeploySpec, arguments: Mapping[str, Any]) -> DeploySpec:
    """A deploy with what an operator's arguments say of it.

    Text, such as a rendered template, is YAML, but for the sink and the Spark version; empty text says nothing.
    Raises CheckpointError for arguments that make no sense.
    """
    from airflow_provider_ckpt.query.deploy import declare

    try:
        return declare(deploy, {key: _plain(key, value) for key, value in arguments.items()})
    except ValueError as error:
        raise CheckpointError(str(error)) from error


def _plain(key: str, value: Any) -> Any:
    """An argument as the query file would have it."""
    if isinstance(value, str) and key not in ("sink", "spark_version", "trigger"):
        try:
            return parse_yaml(value)
        except ValueError as error:
            raise ValueError(f"{key} is a text that is not YAML: {error}") from None
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else (value if value != "" else None)


def result_of(plan: Plan, receipt: Receipt | None) -> ChangeResultDocument:
    """A small XCom: the actions themselves are in the log and in the record. A person reads its texts in a browser."""
    return {
        "format_version": FORMAT_VERSION,
        "plan_id": plan.plan_id,
        "kind": plan.kind,
        "batch_id": plan.batch_id,
        "actions": len(plan.actions),
        "sink_effect": plan.sink_effect,
        "accept_sink": list(plan.to_accept),
        "notes": [visible(note) for note in plan.notes],
        "warnings": [visible(warning) for warning in plan.warnings],
        "sink_effects": [_effect_told(item) for item in plan.effects],
        "receipt": receipt.to_dict() if receipt else None,
    }


def _effect_told(item: SinkEffect) -> SinkResultFields:
    """An effect for a person who approves: what it costs, and the argument that is its remedy."""
    from airflow_provider_ckpt.sinks.effects import COSTS

    return {
        "sink": visible(item.sink),
        "effect": item.effect,
        "cost": COSTS.get(item.effect),
        "remedy": visible(item.remedy),
        "option": item.option[0].removeprefix("--").replace("-", "_") if item.option else None,
    }


def push_plan(context: Any, plan: Plan) -> None:
    """Leave a whole plan in the XCom ``plan``. Raises PlanError for one that is too large for Airflow's database."""
    from airflow_provider_ckpt.change.plan.file import document

    value = document(plan)
    size = len(json.dumps(value))
    if size > MOST_PLAN_BYTES:
        raise PlanError(
            f"the plan has {len(plan.actions):,} steps and {size:,} bytes, and an XCom gets at most "
            f"{MOST_PLAN_BYTES:,}. Nothing was done.",
            location=plan.location,
            hint="Leave out plan_only, so that one task plans and carries out; or let a person approve a file: "
            "ckpt with --plan-out FILE, then with --plan FILE --execute.",
        )
    context["ti"].xcom_push(key=PLAN_KEY, value=value)


def plan_of(value: Any, kind: Kind, checkpoint: Store) -> Plan:
    """The plan that an XCom holds, which must be of one kind and of one checkpoint. Raises PlanError."""
    from airflow_provider_ckpt.change.plan.file import plan_of_value
    from airflow_provider_ckpt.change.plan.kinds import with_article

    try:
        fields = value_of(value)
    except ValueError as error:
        raise PlanError(f"not a plan: {error}", location=checkpoint.location) from None
    try:
        plan = plan_of_value(fields, kind)
    except PlanError as error:
        error.location = error.location or checkpoint.location
        raise
    if (plan.kind, plan.location) != (kind, checkpoint.location):
        raise PlanError(
            f"the plan is {plan.with_article} of {plan.location}, not {with_article(kind)} of this checkpoint.",
            location=checkpoint.location,
        )
    return plan


def value_of(value: Any) -> Any:
    """The value of an argument; text of a template is read as YAML, which JSON is as well. Raises ValueError."""
    if not isinstance(value, str):
        return value
    if value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            return parse_json(value)
    return parse_yaml(value)


def plain(name: str, value: Any) -> Any:
    """The value of an argument, which a template may have made text. Raises CheckpointError."""
    try:
        return value_of(value)
    except ValueError as error:
        raise CheckpointError(f"{name}: {error}") from None


def words(value: Any) -> tuple[str, ...]:
    """Words of an argument: a list, or a text that a template may have made of one. Raises PlanError for all else."""
    if value is None:
        return ()
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return tuple(re.findall(r"\w+", value))
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(word, str) for word in value):
        raise PlanError(f"accept_sink must be a list of texts or one text, such as ['duplicated'], not {value!r:.60}")
    return tuple(value)


def text_of(value: Any) -> Any:
    """A text as a template gives it: rendered natively, a name of digits has become a number, and nothing None."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def texts_of(name: str, value: Any) -> tuple[str, ...]:
    """Texts of an argument: a list, the text that a template has made of one, or one text, which is one and never its
    letters. Raises CheckpointError.
    """
    given = () if is_nothing(value) else value or ()
    if isinstance(given, str):
        given = [given] if (written := _list_in(given)) is None else written
    if isinstance(given, list | tuple) and all(isinstance(item, str) for item in given):
        return tuple(given)
    raise CheckpointError(f"{name} must be a list of texts or one text, not {value!r:.60}")


def _list_in(text: str) -> list[Any] | None:
    """The list that is written in a text, as JSON, YAML or Python write one; None for any other text."""
    with suppress(ValueError, SyntaxError):
        bare = text.strip()
        value = ast.literal_eval(bare) if bare.startswith("(") else value_of(bare) if bare.startswith("[") else None
        return list(value) if isinstance(value, list | tuple) else None
    return None


def texts_by_text(name: str, value: Any) -> dict[str, str]:
    """Texts by text, such as paths that have moved. Raises CheckpointError for all else."""
    given = {} if value is None or value == "" else value
    if isinstance(given, Mapping) and all(isinstance(item, str) for pair in given.items() for item in pair):
        return dict(given)
    raise CheckpointError(f"{name} must be a mapping from text to text, not {value!r:.60}")


def digest_of(task: CheckpointOperator, how: Collection[str]) -> str:
    """A digest of what a task asks for, once its templates are rendered: all but ``how`` it is to be done.

    What says nothing is no part of it, and a number is its text: so a later release with more parameters, or a DAG that
    renders natively, asks for the same.

    Raises:
        CheckpointError: The keys of an argument are neither all texts nor all numbers.
    """
    left_out = {*how, *task.origins}  # what a file declares may change between two tries of a task
    fields = {name: getattr(task, name) for name in type(task).template_fields if name not in left_out}
    said = {name: text_of(value) for name, value in fields.items() if value or (value == 0 and value is not False)}
    try:
        text = json.dumps(said, sort_keys=True, default=str)
    except TypeError:
        raise CheckpointError("the keys of each argument must be all texts or all numbers") from None
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def word_of(word: Any, context: Any) -> Any:
    """The value of ``query_is_stopped`` of a task: True or False, or a callable without arguments that returns it.

    A callable gets Airflow's context where it has a parameter ``context``, or one without a default; it is called only
    when the plan is made.
    """
    if not callable(word):
        return word
    try:
        taken = inspect.signature(word).parameters
    except (TypeError, ValueError):  # of some callables nobody can tell
        return word
    named = taken.get("context")
    if named is not None and named.kind is named.VAR_KEYWORD:
        return partial(word, **context)
    if named is not None and named.kind is not named.POSITIONAL_ONLY:
        return partial(word, context=context)
    placed = [item for item in taken.values() if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    return partial(word, context) if placed and placed[0].default is placed[0].empty else word


def task_of(context: Any) -> str:
    """Who makes the change, for `ckpt history`: the task of a DAG run, the same for each try."""
    ti = context["ti"]
    mapped = f"[{ti.map_index}]" if getattr(ti, "map_index", -1) >= 0 else ""
    return f"{ti.dag_id}/{ti.run_id}/{ti.task_id}{mapped}"
