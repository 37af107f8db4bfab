"""The arguments of an operator of others, as its task will see them, or as they are while a DAG is parsed."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.query.yaml_text import parse_yaml


class ConfsNotKnown(Exception):  # noqa: N818  # it is no error of this package, and leaves this module as one
    """The operator does not hold the confs; the text is the end of a sentence: why."""


class NotYet(Exception):  # noqa: N818  # ends a reading while a DAG is parsed
    """Known when the gate runs: a template, a file, a connection or the output of another task."""


@dataclass(frozen=True, slots=True)
class TaskArguments:
    """A task whose arguments are read.

    Args:
        operator: Its operator, which is left as it is.
        context: Context in which its templates are rendered; None while the DAG is parsed.
    """

    operator: Any
    context: Any = None

    def value(self, name: str) -> Any:
        """One argument as the task will see it; None where the operator has none of that name."""
        value = getattr(self.operator, name, None)
        if self.context is None:
            return self.now(value)
        if name not in self.operator.template_fields or not value:
            return value
        if callable(value):
            return value(context=self.context, jinja_env=self.operator.get_template_env())
        return self.operator.render_template(value, self.context)

    def now(self, value: Any) -> Any:
        """A value that is known: while a DAG is parsed, no template and no output of another task is."""
        is_template = isinstance(value, str) and ("{{" in value or value.endswith(tuple(self._files)))
        if self.context is None and (is_template or callable(value) or hasattr(value, "resolve")):
            raise NotYet
        return value

    def mapping(self, value: Any, name: str) -> Mapping[str, Any]:
        """A value that has to be a mapping, which a template may have made text."""
        value = written(self.now(value))
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise ConfsNotKnown(f"{name} is not a mapping")
        return value

    def items(self, value: Any, name: str) -> Sequence[Any]:
        """A value that has to be a list, which a template may have made text."""
        value = written(self.now(value))
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise ConfsNotKnown(f"{name} is not a list")
        return value

    def words(self, value: Any, name: str) -> list[str]:
        """The words of a command line, of one text or of a list of them."""
        if isinstance(value, list | tuple):
            return [str(self.now(word)) for word in value]
        value = self.now(value)
        try:
            return shlex.split(value or "")
        except (ValueError, AttributeError):
            raise ConfsNotKnown(f"{name} cannot be split into words") from None

    def reads(self) -> None:
        """Something outside of the DAG is read, which is for the gate to do, and not for the parser of DAGs."""
        if self.context is None:
            raise NotYet

    @property
    def _files(self) -> Sequence[str]:
        return tuple(getattr(self.operator, "template_ext", ()) or ())


def written(value: Any) -> Any:
    """A value, of a text as JSON, YAML or Python write one. Raises ConfsNotKnown."""
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        return parse_yaml(value)
    with suppress(ValueError, SyntaxError):
        return ast.literal_eval(value.strip())
    raise ConfsNotKnown("a text in it is neither JSON nor YAML")
