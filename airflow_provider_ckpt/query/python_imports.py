"""What a file of Python imports: the functions of one module by the names that they have there, and other modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence


class Imports:
    """The imports of a file.

    Args:
        module: The module whose functions are found, such as ``pyspark.pipelines``.
        functions: Its functions, which a star imports.
    """

    def __init__(self, module: str, functions: Sequence[str]) -> None:
        self._module, self._all = module, functions
        self._modules = {module}
        self._functions: dict[str, str] = {}
        self._foreign: set[str] = set()

    def read(self, tree: ast.Module) -> None:
        """Read all imports of a file, wherever they are in it."""
        package, _, name_in_it = self._module.rpartition(".")
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {name.asname or name.name for name in node.names if name.name == self._module}
            elif isinstance(node, ast.ImportFrom) and node.module == package:
                self._modules |= {name.asname or name.name for name in node.names if name.name == name_in_it}
            elif isinstance(node, ast.ImportFrom) and node.module == self._module:
                self._functions |= {name.asname or name.name: name.name for name in node.names}
                if any(name.name == "*" for name in node.names):
                    self._functions |= {name: name for name in self._all}
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._foreign |= {*_foreign_names(node)}

    def function(self, node: ast.AST) -> str | None:
        """The name that a function of the module has there; None for any other expression."""
        if isinstance(node, ast.Name):
            return self._functions.get(node.id)
        if isinstance(node, ast.Attribute):
            return node.attr if _dotted(node.value) in self._modules else None
        return None

    def foreign(self, node: ast.AST) -> str | None:
        """The whole name of what is of a module that is neither of Python nor of Spark; None for all else."""
        name = _dotted(node)
        return name if name.partition(".")[0] in self._foreign else None


def _foreign_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Names that an import binds to what is neither of Python nor of Spark."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not _is_of_spark_or_python(node.module or ""):
            yield from (name.asname or name.name for name in node.names)
        return
    for name in node.names:
        if not _is_of_spark_or_python(name.name):
            yield name.asname or name.name.partition(".")[0]


def _is_of_spark_or_python(module: str) -> bool:
    root = module.partition(".")[0]
    return root == "pyspark" or root in sys.stdlib_module_names


def _dotted(node: ast.AST) -> str:
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")
