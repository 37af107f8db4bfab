"""The names that users type and import: options of commands, the Python API, what is passed to operators and sensors."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click

from airflow_provider_ckpt import api
from airflow_provider_ckpt.cli import MODULES, cli

#: Modules from which users of Airflow and of PySpark import.
IMPORTED = (
    "hooks.checkpoint",
    "operators.checkpoint",
    "sensors.checkpoint",
    "triggers.checkpoint",
    "spark",
)


def surface() -> dict[str, list[str]]:
    """The names, by where they are used."""
    found = {f"ckpt {command}": sorted(set(_options(command))) for command in MODULES}
    found["airflow_provider_ckpt.api"] = sorted(_signatures({name: getattr(api, name) for name in api.__all__}))
    for module in IMPORTED:
        name = f"airflow_provider_ckpt.{module}"
        held = import_module(name)
        public = getattr(held, "__all__", [word for word in vars(held) if not word.startswith("_")])
        own = {word: getattr(held, word) for word in public}
        room = f"airflow_provider_ckpt.{module.partition('.')[0]}"
        found[name] = sorted(
            _signatures(
                {word: value for word, value in own.items() if getattr(value, "__module__", "").startswith(room)}
            )
        )
    return found


def _options(command: str) -> Iterator[str]:
    assert cli.commands is not None
    for param in cli.commands[command].params:
        kind = "flag" if isinstance(param, click.Option) and param.is_flag else param.type.name
        many = " many" if param.multiple else ""
        for name in (*param.opts, *param.secondary_opts):
            yield f"{name} {kind}{many}" if name.startswith("-") else f"{name.upper()} {kind}"


def _signatures(held: Mapping[str, Any]) -> Iterator[str]:
    """Each name, and of what is called each argument; of a class those of its constructor."""
    for name, value in held.items():
        yield name
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
            yield from (f"{name}({parameter})" for parameter in _parameters(value))


def _parameters(value: Any) -> set[str]:
    """Of a class also what the constructors of ours that it calls on take."""
    called = [value]
    if inspect.isclass(value):
        called = [base.__init__ for base in value.__mro__ if base.__module__.startswith("airflow_provider_ckpt")]
    found = set()
    for one in called:
        with contextlib.suppress(ValueError):
            found |= inspect.signature(one).parameters.keys()
    return found - {"self"}
