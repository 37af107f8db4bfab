"""``--conf-file``: what is declared of one query, or of many by the location of the checkpoint, in one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_ckpt.cli.files import read_text
from airflow_provider_ckpt.cli.options import option

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.deploys import Deploys


def with_conf_file(help_text: str) -> Callable[[Any], Any]:
    """``--conf-file``, of a command that asks the sources, or that judges a deploy."""
    return option("--conf-file FILE", help_text, type=click.Path(exists=True, dir_okay=False, path_type=Path))


def read_conf_file(path: Path | None) -> Deploys:
    """Read the declarations of the file; empty without a file. Raises click.BadParameter."""
    from airflow_provider_ckpt.query.deploys import Deploys, parse_deploys  # rooms that few calls need
    from airflow_provider_ckpt.query.yaml_text import MOST_YAML_CHARS

    if path is None:
        return Deploys()
    try:
        return parse_deploys(path.name, read_text(path, MOST_YAML_CHARS))
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint="--conf-file") from None
    except ValueError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--conf-file") from None
