"""What a person can say of a change, written once: the fields of a request, of which every face is made.

A request is a dataclass whose fields are ``Annotated[type, Opt(...), Form(...)]``. The command line makes
options of them, the page of a checkpoint a form, and a test holds the constructors of operators against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, replace
from dataclasses import fields as fields_in
from functools import cache
from typing import Annotated, Any, Literal, get_origin, get_type_hints

from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.trigger import TRIGGER_HELP

#: What the text of a field means.
Meaning = Literal[
    "text",
    "name",
    "flag",
    "whole",
    "id",
    "time",
    "duration",
    "pause",
    "json",
    "csv",
    "bookmark",
    "pairs",
    "paths",
    "place",
    "source",
    "sources",
    "sink",
    "sinks",
    "trigger",
]


@dataclass(frozen=True, slots=True)
class Opt:
    """How a field of a request is asked for.

    Args:
        usage: The option of the command line, with what the help shows for its value, such as ``--to-batch BATCH_ID``;
            empty when the command line does not have the field.
        help: What the option does; sentences.
        means: What its text means: a name that may be written as a number, a whole number, the id of a snapshot (which
            JavaScript has no number for), a time, a directory, lines of CSV (a file on the command line), a bookmark
            (the same), and more; a ``bool`` is a flag.
        least: The smallest whole number; None for any.
        most: The largest whole number; None for any.
        goal: What the parser of goals calls it, of fields of which exactly one is given; empty for the others.
        beside_plan: Whether it says how the change is carried out, so that it can be given beside a plan file.
        many: Whether it can be given more than once: it can, where the field is a tuple or a mapping.
    """

    usage: str
    help: str = ""
    means: Meaning = "text"
    least: int | None = None
    most: int | None = None
    goal: str = ""
    beside_plan: bool = False
    many: bool = False

    @property
    def option(self) -> str:
        """The option alone."""
        return self.usage.partition(" ")[0]

    @property
    def metavar(self) -> str | None:
        """What the help shows for the value; None where that follows from what it means."""
        return self.usage.partition(" ")[2] or None

    def outside(self, value: object) -> str:
        """What a number had to be, such as ``at least 1``, where it is too small or too large; empty otherwise."""
        if type(value) is not int:
            return ""
        if self.least is not None and value < self.least:
            return f"at least {self.least}"
        return f"at most {self.most}" if self.most is not None and value > self.most else ""


@dataclass(frozen=True, slots=True)
class Form:
    """How the form of the page asks for a field.

    Args:
        label: What it is called, for people.
        hint: An example, or what it means.
    """

    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request.

    Args:
        opt: How it is asked for.
        form: How the form of the page asks for it; None when the form does not have it.
        default: The value of the field when nothing is said.
    """

    opt: Opt
    form: Form | None
    default: Any


@cache
def fields_of(request: type) -> Mapping[str, Field]:
    """The fields of a request that a person can set, by name, in order."""
    hints = get_type_hints(request, include_extras=True)
    found = {}
    for field in fields_in(request):
        hint = hints[field.name]
        said = {type(item): item for item in getattr(hint, "__metadata__", ())}
        if Opt not in said:
            continue
        opt = replace(said[Opt], many=get_origin(hint.__origin__) in (tuple, Mapping))
        if hint.__origin__ is bool:
            opt = replace(opt, means="flag")
        default = field.default if field.default_factory is MISSING else field.default_factory()
        found[field.name] = Field(opt, said.get(Form), default)
    return found


class FieldError(ValueError):
    """A field of a request makes no sense.

    Args:
        field: Its name.
        problem: Why not.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


@contextmanager
def of_field(field: str) -> Iterator[None]:
    """Raise FieldError for what is wrong with a field."""
    try:
        yield
    except (ValueError, CheckpointError) as error:
        raise FieldError(field, str(error)) from None


def goal_values(asked: Any) -> dict[str, Any]:
    """The fields of a request of which exactly one says where to, as the parser of goals calls them."""
    request: type = type(asked)
    return {field.opt.goal: getattr(asked, name) for name, field in fields_of(request).items() if field.opt.goal}


def goal_names(request: type) -> dict[str, str]:
    """The fields that say where to, by what the parser of goals calls them."""
    return {field.opt.goal: name for name, field in fields_of(request).items() if field.opt.goal}


def not_known_yet(what: str, by: str = "plan()") -> PlanError:
    """The error for a request that is used before a method of it has found what it means."""
    return PlanError(f"{what} is not known yet.", hint=f"Nothing was done. Call {by} of the request, which finds it.")


# --- fields that several changes have --------------------------------------------------------------------------------

#: Seconds that a fence waits for the commit of a batch in flight.
WAIT_S = 60.0

SinkOf = Annotated[
    Sink | None,
    Opt(
        "--sink TYPE[:URI]",
        "Sink of the query: file, delta, iceberg or hudi with its URI, or another type such as kafka. The plan "
        "states the effect on it.",
        "sink",
    ),
    Form(
        "Sink of the query", "file:s3://lake/orders, delta:URI, kafka, foreachBatch; without it its effect is unknown"
    ),
]
TriggerOf = Annotated[
    str | None,
    Opt("--trigger", TRIGGER_HELP, "trigger"),
    Form("Trigger of the query", "such as processingTime, availableNow or realTime"),
]
FenceFirst = Annotated[
    bool,
    Opt(
        "--fence",
        "Fence the checkpoint first, as ckpt fence does; --i-know-it-is-stopped is then not needed. When the "
        "change is refused after that, the fence stays.",
    ),
]
WaitForBatch = Annotated[
    float,
    Opt(
        "--wait-for-batch DURATION",
        "How long a fence waits for the commit of a batch in flight, such as 10m; a plain number is seconds. "
        "While it waits, no Spark starts from the checkpoint; without a commit by then, the fence is withdrawn.",
        "pause",
        beside_plan=True,
    ),
]
Downstream = Annotated[
    tuple[str, ...],
    Opt(
        "--downstream ROOT",
        "Also search below this root for checkpoints of other queries that have read what is dropped. The "
        "directory that holds this checkpoint is always searched. Can be given more than once.",
        "place",
    ),
]
