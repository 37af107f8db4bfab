"""The flows that the files of a Spark Declarative Pipeline define, as far as their text says it; no line of it is run.

What is in a loop, behind a condition, in a function or in a name that is computed may be defined or not: then the
definitions are not whole, and each reason is a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.query.pipeline_sql import Statement, identifier, read_sql
from airflow_provider_ckpt.query.python_imports import Imports

MODULE = "pyspark.pipelines"
#: Its functions that define what runs as a stream, and what it writes to; and those that define neither.
_DEFINING = ("append_flow", "table", "create_streaming_table", "create_sink", "create_auto_cdc_flow")
_OTHERS = ("materialized_view", "temporary_view")


@dataclass(frozen=True, slots=True)
class DefinedFlow:
    """A flow that a file defines.

    Args:
        name: Its name, without catalog and database.
        target: The parts of the name of what it writes to, as the definition says it.
        file: The file that defines it.
        line: The line, from 1.
        reads: Tables that it reads as streams, each by the parts of its name.
        confs: Confs of its own.
    """

    name: str
    target: tuple[str, ...]
    file: str
    line: int
    reads: tuple[tuple[str, ...], ...] = ()
    confs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DefinedTarget:
    """A streaming table or a sink that a file defines.

    Args:
        parts: The parts of its name, as the definition says it.
        format: What it keeps its rows in; None where the definition does not say it.
        is_sink: True for a sink.
        options: Options of a sink.
    """

    parts: tuple[str, ...]
    format: str | None = None
    is_sink: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Definitions:
    """What the files of a pipeline define.

    Args:
        flows: Flows that run as streams.
        targets: Streaming tables and sinks.
        not_read: Why there may be more, or less: a sentence each; empty when all was read.
    """

    flows: list[DefinedFlow] = field(default_factory=list)
    targets: list[DefinedTarget] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)

    def add_python(self, text: str, file: str) -> None:
        """Add what a file of Python defines."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.not_read.append(f"{file} is no Python that can be read: {error}")
            return
        _Python(self, file).read(tree)

    def add_sql(self, text: str, file: str) -> None:
        """Add what a file of SQL defines."""
        for statement in read_sql(text):
            self._add_statement(statement, file)

    def _add_statement(self, said: Statement, file: str) -> None:
        if said.unread:
            self.not_read.append(f"{file} line {said.line}: {said.unread}")
        if said.table:
            self.targets.append(DefinedTarget(said.table, said.format))
        if said.flow:
            self.flows.append(DefinedFlow(said.flow[-1], said.target, file, said.line, said.reads, said.confs))


class _Python:
    """Reads one file of Python.

    Args:
        into: What is found is added to it.
        file: The file.
    """

    def __init__(self, into: Definitions, file: str) -> None:
        self._into = into
        self._file = file
        self._imports = Imports(MODULE, (*_DEFINING, *_OTHERS))
        self._texts: dict[str, str] = {}
        self._lists: dict[str, list[str]] = {}

    def read(self, tree: ast.Module) -> None:
        """Read all statements of the module; those that are not at its top may run or not."""
        self._imports.read(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and any(name.name == "dlt" for name in node.names):
                self._say(node, "dlt is of Databricks, whose pipelines keep their checkpoints elsewhere")
        self._top(tree.body)

    def _top(self, statements: Iterable[ast.stmt]) -> None:
        """Statements that run once each."""
        for statement in statements:
            if isinstance(statement, ast.Assign):
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
                value, texts = self._value(statement.value), self._each(statement.value)
                self._forget(statement)
                self._texts.update({name: value for name in names if isinstance(value, str)})
                self._lists.update({name: texts for name in names if texts})
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._decorated(statement)
                self._inside(statement.body)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._called(statement.value)
            elif isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) and _is_plain(statement):
                self._for_each(statement, statement.target.id)
            elif isinstance(statement, ast.Assign):
                self._inside([statement])
            else:
                self._forget(statement)
                self._inside([statement])

    def _forget(self, statement: ast.stmt) -> None:
        """Names that a statement gives a value are not known by their earlier one any more."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._texts.pop(node.id, None)
                self._lists.pop(node.id, None)

    def _for_each(self, loop: ast.For, name: str) -> None:
        """A loop over texts that are written out defines what is in it once for each of them."""
        texts = self._each(loop.iter)
        if not texts:
            self._forget(loop)
            self._inside([loop])
        for text in texts:
            self._texts[name] = text
            self._top(loop.body)
        self._texts.pop(name, None)

    def _each(self, node: ast.expr) -> list[str]:
        """The texts of a list that is written out; empty for all else."""
        if isinstance(node, ast.Name):
            return self._lists.get(node.id, [])
        if not isinstance(node, ast.List | ast.Tuple):
            return []
        texts = [value for item in node.elts if isinstance(value := self._value(item), str)]
        return texts if len(texts) == len(node.elts) else []

    def _inside(self, statements: Iterable[ast.stmt]) -> None:
        """What is not at the top of the module: it may run, several times, or not."""
        for node in (node for statement in statements for node in ast.walk(statement)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                self._may_define(node.value.func)
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    self._may_define(decorator)
            if isinstance(node, ast.Call | ast.Attribute | ast.Name):
                function = self._imports.function(node.func if isinstance(node, ast.Call) else node)
                if function is not None and isinstance(node, ast.Call | ast.Attribute):
                    if self._is_known(node, function):
                        self._say(node, f"{function} is in a block that may run once, often or not")
                    return

    def _decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in function.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = self._imports.function(call.func if call else decorator)
            if name is None:
                self._may_define(decorator)
            if name is None or not self._is_known(decorator, name) or name not in ("append_flow", "table"):
                continue
            given = self._given(call, ("target", "name", "spark_conf") if name == "append_flow" else ("name",))
            if given is None:
                self._say(decorator, f"{name} of {function.name} has a value that is computed")
                continue
            called = str(given.get("name") or function.name)
            parts = identifier(called)
            target = identifier(str(given.get("target") or "")) if name == "append_flow" else parts
            if not target or not parts:
                self._say(decorator, f"{name} of {function.name} has no name that can be read")
                continue
            if name == "table":
                self._into.targets.append(DefinedTarget(parts, _lower(given.get("format"))))
            reads, own = tuple(dict.fromkeys(self._reads(function))), _texts(given.get("spark_conf"))
            self._into.flows.append(DefinedFlow(parts[-1], target, self._file, function.lineno, reads, own))

    def _called(self, call: ast.Call) -> None:
        name = self._imports.function(call.func)
        if name is None:
            self._may_define(call.func)
            self._inside([ast.Expr(argument) for argument in call.args])
            return
        if not self._is_known(call, name) or not name.startswith("create_"):
            return
        order = {"create_sink": ("name", "format", "options"), "create_auto_cdc_flow": ("target", "source")}
        given = self._given(call, order.get(name, ("name",)))
        called = None if given is None else given.get("name") or given.get("target")
        if given is None or not isinstance(called, str):
            self._say(call, f"{name} has a value that is computed")
        elif name == "create_auto_cdc_flow":
            target, source = identifier(str(given.get("target") or called)), identifier(str(given.get("source") or ""))
            flow = identifier(called)
            if target and flow:
                reads, confs = (source,) if source else (), _texts(given.get("spark_conf"))
                self._into.flows.append(DefinedFlow(flow[-1], target, self._file, call.lineno, reads, confs))
        elif name == "create_sink":
            texts = _texts(given.get("options"))
            self._into.targets.append(DefinedTarget(identifier(called), _lower(given.get("format")), True, texts))
        else:
            self._into.targets.append(DefinedTarget(identifier(called), _lower(given.get("format"))))

    def _is_known(self, node: ast.AST, function: str) -> bool:
        """True for a function of the module that open Spark has; any other one is said."""
        is_known = function in _DEFINING or function in _OTHERS
        if not is_known:
            self._say(node, f"{function} is no function of {MODULE} that is known here")
        return is_known

    def _may_define(self, function: ast.expr) -> None:
        """A function of another module, whose file is not read, may define flows when it is called."""
        name = self._imports.foreign(function.func if isinstance(function, ast.Call) else function)
        if name is not None:
            self._say(function, f"{name:.60} is of a module that is not read, and may define flows")

    def _given(self, call: ast.Call | None, order: tuple[str, ...]) -> dict[str, object] | None:
        """The arguments of a call by name; None when one that counts is computed."""
        if call is None:
            return {}
        found: dict[str, object] = {}
        named = [(keyword.arg, keyword.value) for keyword in call.keywords]
        for name, value in (*zip(order, call.args, strict=False), *named):
            constant = self._value(value)
            if name is None or (constant is _COMPUTED and name in ("name", "target", "source", "format")):
                return None
            found[name] = None if constant is _COMPUTED else constant
        return found

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Name) and node.id in self._texts:
            return self._texts[node.id]
        if isinstance(node, ast.JoinedStr):
            texts = [self._value(_formatted(part)) for part in node.values]
            return "".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else _COMPUTED
        if isinstance(node, ast.Dict):
            pairs = [
                (key and self._value(key), self._value(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
            return {key: value for key, value in pairs if isinstance(key, str) and isinstance(value, str | int | float)}
        value = _constant(node)
        return _COMPUTED if value is None and not isinstance(node, ast.Constant) else value

    def _reads(self, function: ast.AST) -> Iterator[tuple[str, ...]]:
        """Tables that a function reads as streams."""
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "table"
                and node.args
            ):
                name = self._value(node.args[0])
                if isinstance(name, str) and any(
                    isinstance(inner, ast.Attribute) and inner.attr == "readStream" for inner in ast.walk(node.func)
                ):
                    yield identifier(name)

    def _say(self, node: ast.AST, sentence: str) -> None:
        self._into.not_read.append(f"{self._file} line {getattr(node, 'lineno', 1)}: {sentence}")


_COMPUTED = object()


def _texts(values: object) -> dict[str, str]:
    """A mapping that is written out, as texts; empty for all else."""
    return {str(key): str(value) for key, value in values.items()} if isinstance(values, dict) else {}


def _formatted(part: ast.expr) -> ast.expr:
    """The value that an f-string takes as it is; the part itself where it writes that in another form."""
    is_plain = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion in (-1, ord("s"))
    return part.value if is_plain and isinstance(part, ast.FormattedValue) else part


def _is_plain(loop: ast.For) -> bool:
    """True if a loop runs its whole body for each value."""
    return not loop.orelse and not any(isinstance(node, ast.Break | ast.Continue) for node in ast.walk(loop))


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _lower(value: object) -> str | None:
    return value.strip().lower() if isinstance(value, str) else None
