"""Request of a task: its arguments, of which templates may have made texts, as the fields of a request."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ckpt.change.option import Field, fields_of
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.operators.base import plain, text_of, texts_by_text, texts_of
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.times import parse_time_ms
from airflow_provider_ckpt.untrusted.fields import require_flag

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.query.source import Source

Request = TypeVar("Request")
#: How a fence is put is said in the DAG, and by no template.
_NOT_RENDERED = ("fence", "wait_for_batch")


def rendered_fields(operator: Any, base: Any) -> tuple[str, ...]:
    """The template fields of an operator: those of its base, and its own arguments, which are fields of its request."""
    own = [kind.__init__ for kind in operator.__mro__ if issubclass(kind, base) and kind is not base]
    given = (item for init in dict.fromkeys(own) for item in inspect.signature(init).parameters.values())
    names = (item.name for item in given if item.kind is item.KEYWORD_ONLY)
    return tuple(dict.fromkeys((*base.template_fields, *(name for name in names if name not in _NOT_RENDERED))))


def asked_of(task: Any, request: type[Request], **read: Any) -> Request:
    """The request of a task, whose arguments are called as its fields.

    Args:
        task: The operator.
        request: The dataclass.
        read: Fields that the operator has read itself.

    Raises:
        CheckpointError: An argument makes no sense; the error names it.
    """
    kind: type = request
    own = {name: field for name, field in fields_of(kind).items() if name not in read}
    return request(**read, **{name: _read(name, field, getattr(task, name)) for name, field in own.items()})


def require_request_flags(task: Any, request: type) -> None:
    """Raise CheckpointError for a flag of a request that is none, also where nothing is planned."""
    for name, field in fields_of(request).items():
        if field.opt.means == "flag":
            read_flag(name, getattr(task, name))


def require_beside(task: Any, request: type, plan: Plan, read: Collection[str] = ()) -> None:
    """Raise CheckpointError for arguments that say what the plan of a task says already.

    One that says the same as the plan is let through, and so is one that a template has made empty.

    Args:
        task: The operator.
        request: Its request.
        plan: The plan that was given to it.
        read: Fields that are needed beside a plan as well.
    """
    same = {
        "sink": plan.declared_sink,
        "sinks": plan.declared_sinks,
        "trim_sink_log": bool(plan.sink),
        "trigger": plan.trigger,
        "backup_root": plan.source,
        "backup_id": plan.backup_id,
        "query_id": plan.query_id,
        "undoes": plan.undoes,
    }
    contrary = []
    for name, field in fields_of(request).items():
        if field.opt.beside_plan or name in read:
            continue
        value = _beside(name, field, getattr(task, name))
        is_given = value != field.default and (bool(value) or type(value) in (int, float))
        if is_given and not (name in same and value == same[name]):
            contrary.append(name)
    if contrary:
        raise CheckpointError(f"plan gives the whole plan, so leave out {', '.join(contrary)}")


def _beside(name: str, field: Field, value: Any) -> Any:
    """An argument beside a plan; what has its own reader is read as far as it has to be compared."""
    if field.opt.means == "sinks":
        return tuple(map(parse_sink, texts_of(name, value)))
    if field.opt.means == "paths":
        return texts_by_text(name, plain(name, value))
    return _read(name, field, value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Names, of which a template may have made numbers: one, a list, or pairs. Raises CheckpointError."""
    given = plain(name, value)
    if is_nothing(given):
        return ()
    if isinstance(given, Mapping):
        return tuple("=".join(_names(name, list(pair))) for pair in given.items())
    items = list(given) if isinstance(given, list | tuple) else [given]
    if all(isinstance(item, str | int) and not isinstance(item, bool) and item != "" for item in items):
        return tuple(map(str, items))
    raise CheckpointError(f"{name} must be names or numbers, one or a list, not {value!r:.60}")


def _read(name: str, field: Field, value: Any) -> Any:
    """An argument as the field of a request. Raises CheckpointError."""
    means = field.opt.means
    if means == "flag":
        return read_flag(name, value)
    if field.opt.many and means in ("text", "place"):
        return texts_of(name, value)
    if means == "name":
        return _names(name, value) if field.opt.many else text_of(value) or None
    if is_nothing(value):
        return field.default
    read = _READERS.get(means, _as_it_is)(name, value)
    if wanted := field.opt.outside(read):
        raise CheckpointError(f"{name} must be {wanted}, not {value!r:.60}")
    return read


def read_field(request: type, name: str, value: Any) -> Any:
    """An argument as a field of a request. Raises CheckpointError, which names it."""
    return _read(name, fields_of(request)[name], value)


def read_flag(name: str, value: Any) -> bool:
    """A flag, or the text that a template has made of one. Raises CheckpointError."""
    return require_flag(name, plain(name, value))


def read_sink(name: str, value: Any) -> Sink:
    """A sink. Raises CheckpointError, StoreError."""
    if not isinstance(value, str):
        raise CheckpointError(f"{name} must be a text, such as file:s3://lake/orders, not {value!r:.60}")
    return parse_sink(value)


def read_source(name: str, value: Any) -> Source:
    """A source that can be asked where its data ends. Raises CheckpointError."""
    from airflow_provider_ckpt.query.source import parse_item, require_asked

    try:
        source = parse_item(value if isinstance(value, str) else "")
    except ValueError:
        raise CheckpointError(f"{name} must be ID=TYPE:PLACE, such as 0=kafka:host:9092, not {value!r:.60}") from None
    require_asked(source)
    return source


def read_sources(name: str, value: Any) -> dict[str, Source]:
    """Sources by their ids; YAML when it is text. Raises CheckpointError, StoreError."""
    from airflow_provider_ckpt.query.source import parse_by_id

    sources = plain(name, value) or {}
    if not isinstance(sources, Mapping):
        raise CheckpointError(
            f"{name} must be source types by source id, such as {{'0': 'kafka'}}, not {sources!r:.60}"
        )
    return parse_by_id({str(source_id): str(kind) for source_id, kind in sources.items()})


def _whole(name: str, value: Any) -> int:
    number = plain(name, value)
    if type(number) is not int:
        raise CheckpointError(f"{name} must be a whole number, not {value!r:.60}")
    return number


def _time(name: str, value: Any) -> int:
    try:
        return parse_time_ms(str(value), now_ms=now_ms())
    except ValueError as error:
        raise CheckpointError(str(error)) from error


def _csv(name: str, value: Any) -> str:
    if not isinstance(value, str):  # a native template takes quotes for Python
        raise CheckpointError(f"{name} must be lines topic,partition,offset without quotes, as one text")
    return value


def _as_it_is(_: str, value: Any) -> Any:
    return value


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "whole": _whole,
    "id": _whole,
    "time": _time,
    "duration": duration_ms_of,
    "pause": lambda name, value: duration_ms_of(name, value) / 1000,
    "json": plain,
    "bookmark": plain,
    "csv": _csv,
    "sink": read_sink,
    "source": read_source,
    "sources": read_sources,
    "pairs": lambda name, value: texts_by_text(name, plain(name, value)),
}
