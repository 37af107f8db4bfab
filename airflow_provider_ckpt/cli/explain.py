"""The command that says what a rule means: explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.checks.rule_pages import text_of
from airflow_provider_ckpt.cli.options import examples
from airflow_provider_ckpt.cli.render import print_json
from airflow_provider_ckpt.documents import FORMAT_VERSION

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import ExplainDocument, ExplanationFields


@click.command(epilog=examples("ckpt explain CKPT201", "ckpt explain --json"))
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout instead of text.")
def explain(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain a rule: what it means, why Spark behaves so, what to do. Without a code, list all rules."""
    unknown = [code for code in codes if text_of(code) is None]
    if unknown:
        raise click.BadParameter(
            f"there is no rule {unknown[0]!r}; ckpt explain without a code lists all rules", param_hint="CODE"
        )
    wanted = [code.strip().upper() for code in codes] or list(RULES)
    explanations: list[ExplanationFields] = [
        {"code": code, "title": RULES[code], "text": text_of(code)} for code in wanted
    ]
    if as_json:
        document: ExplainDocument = {"format_version": FORMAT_VERSION, "explanations": explanations}
        print_json(document)
    elif codes:
        click.echo("\n\n".join(f"{item['code']}: {item['text']}" for item in explanations))
    else:
        click.echo("\n".join(f"{item['code']}  {item['title']}" for item in explanations))
