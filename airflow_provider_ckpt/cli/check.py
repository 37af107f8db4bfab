"""The command that judges a checkpoint: check."""

from __future__ import annotations

import click

from airflow_provider_ckpt.checks import check as check_rules
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.cli.findings_output import Outputs, judge, judging
from airflow_provider_ckpt.cli.options import directories, examples, shared
from airflow_provider_ckpt.report.ci import Judged
from airflow_provider_ckpt.restart.judged import not_checked
from airflow_provider_ckpt.storage.store import Store


@click.command(
    epilog=examples(
        "ckpt check s3://lake/checkpoints/orders --deep",
        "ckpt check /data/checkpoints/a /data/checkpoints/b --format junit --output checks.xml",
    )
)
@click.argument("locations", shell_complete=directories, nargs=-1, required=True)
@click.option(
    "--deep",
    is_flag=True,
    help="Also read all state chains, source logs and checksum files. By default only the two logs are read.",
)
@judging
@shared
def check(locations: tuple[str, ...], deep: bool, storage_options: tuple[str, ...], outputs: Outputs) -> None:
    """Check checkpoints for damage and hazards. Each finding has a stable rule code.

    Exit code 1 when a finding is an error. ckpt explain CODE says what a rule code means.
    """

    def evaluate(store: Store) -> Judged:
        view = examine(store, deep=deep)
        return Judged(store.location, check_rules(view), unknown=not_checked(view))

    outputs.finish([judge(location, storage_options, evaluate) for location in locations])
