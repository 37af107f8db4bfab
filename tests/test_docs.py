"""The documents: commands parse, links resolve, and the reference has every option and parameter, and no other."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from airflow_provider_ckpt import api
from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.explain.read_index import read_pages
from airflow_provider_ckpt.spark.audit import parser as audit_parser
from tests import reference_page
from tests.goldens import unpack
from tests.option_names import names_of
from tests.package import PACKAGE
from tests.pages import pages, text_of
from tests.reference_page import CLASSES

ROOT = PACKAGE.parent
PAGES = pages()
REFERENCE = (ROOT / "docs/reference.md").read_text()
#: Files that commands in the documents read; those that they write are not there.
READ = ("deploy.yaml", "plan.json", "accepted.json", "fleet.yaml")


def named(page: Path) -> str:
    """Its path below the root of the project."""
    return str(page.relative_to(ROOT))


def code_lines(page: Path) -> Iterator[str]:
    """Lines of code: those that are indented by four, and those between fences; continued lines are joined."""
    fenced, before = False, ""
    for line in reference_page.written(text_of(page)).split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            before += line.strip().removesuffix("\\")
            if not line.endswith("\\"):
                yield before
                before = ""


def commands() -> dict[str, list[str]]:
    """The arguments of every ``ckpt`` command in the documents, by where it stands."""
    found = {}
    for page in PAGES:
        for line in code_lines(page):
            text = re.sub(r"^(- run|script): ", "", line)
            if text.startswith("ckpt ") and "…" not in text:
                found[f"{page.relative_to(ROOT)}: {text}"] = shlex.split(text, comments=True)[1:]
    return found


COMMANDS = commands()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_parses(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in READ:
        Path(name).touch()
    if COMMANDS[line] == ["--version"]:
        return
    name, command, arguments = cli.resolve_command(cli.make_context("ckpt", ["show"]), COMMANDS[line])
    assert command is not None
    if arguments != ["--help"]:
        command.make_context(name, list(arguments))


def test_the_tasks_show_every_command():
    tasks = ("README.md", "docs/how-to/", "docs/positions.md")
    shown = {line.partition(": ")[2].split()[1] for line in COMMANDS if line.startswith(tasks)}
    assert shown == set(cli.commands)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and GitLab make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_resolve(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked in PAGES or linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", text_of(linked), re.MULTILINE)
            assert anchor in map(slug, headings), target


def test_every_document_can_be_reached_from_the_readme():
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        linked = {(page.parent / path).resolve() for path in re.findall(r"\]\(([^)#:\s]+\.md)", text_of(page))}
        ahead += linked - reached
    assert set(PAGES) - reached == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_an_item_of_a_list_begins_on_a_line_of_its_own(page):
    """Wrapped into the item before, it is shown as text with a star in it."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r".{0,40}[.:;?!)`] \*\s+\S.{0,20}", text) == []


def test_the_readme_has_two_pages():
    assert (ROOT / "README.md").read_text().count("\n") <= 110


# --- the reference --------------------------------------------------------------------------------------------------


def sections(level: str) -> dict[str, str]:
    """Text by heading of one level."""
    _, *parts = re.split(rf"^{level} (.+)$", REFERENCE, flags=re.MULTILINE)
    bodies = (re.split(r"^#", body, maxsplit=1, flags=re.MULTILINE)[0] for body in parts[1::2])
    return dict(zip(parts[::2], bodies, strict=True))


def options(command: click.Command) -> set[str]:
    return {name for param in command.params if isinstance(param, click.Option) for name in names_of(param)}


SHARED = {"--file", "--storage-option", "--json"}
#: What the commands that open no location take of that.
TAKES: dict[str, set[str]] = {"completion": set(), "mcp": {"--storage-option"}}
OF_COMMANDS = {title.split()[1]: body for title, body in sections("###").items() if title.startswith("ckpt ")}
OF_CLASSES = {
    title: body
    for title, body in sections("###").items()
    if title.startswith(("Checkpoint", "Query", "ExplainNotifier"))
}


def test_what_the_reference_has_from_the_code_is_what_the_code_says():
    assert reference_page.page(REFERENCE) == REFERENCE, "run: python -m tests.reference_page"


def test_the_reference_has_every_command():
    assert set(OF_COMMANDS) == set(cli.commands)


@pytest.mark.parametrize("name", list(cli.commands))
def test_the_reference_has_every_option_of_a_command_and_no_other(name):
    rows = [line for line in OF_COMMANDS[name].split("\n") if line.startswith(("| `-", "| several"))]
    assert set(re.findall(r"(?<=`)--[a-z-]+", " ".join(row.split(" | ")[0] for row in rows))) == (
        options(cli.commands[name]) - SHARED
    )


#: Commands that need nothing but a checkpoint or a root of backups; ``{}`` is a directory with both.
WRITES_JSON = (
    "show {}/orders", "log {}/orders", "diff {}/orders 1 2", "check {}/orders", "gate {}/orders", "fleet {}",
    "wait {}/orders --batch 1", "backup {}/orders --to {}/backups", "backups {}/backups",
    "restore {}/backups --to {}/new", "rollback {}/orders --to-batch 2",
)  # fmt: skip


def test_a_json_document_has_the_keys_that_the_reference_names(tmp_path, capsys):
    (archive,) = (ROOT / "tests/golden").glob("spark-4.3.0/file-to-parquet-5.tar.gz")
    (unpack(archive, tmp_path) / "checkpoint").rename(tmp_path / "orders")
    for line in WRITES_JSON:
        name, *arguments = line.replace("{}", str(tmp_path)).split()
        run([name, *arguments, "--json"])
        document = json.loads(capsys.readouterr().out)
        named = re.search(r"JSON: (.+?)(?:\.\s|\Z)", OF_COMMANDS[name], re.DOTALL)
        assert named, name
        keys = re.findall(r"`(\w+)`", re.sub(r"each with.+?;", "", named[1], flags=re.DOTALL))
        assert keys and set(keys) <= set(document), name


def test_every_command_takes_what_the_reference_says_that_all_take():
    for name, command in cli.commands.items():
        assert options(command) >= TAKES.get(name, SHARED), name
    rows = sections("##")["What all commands have in common"]
    assert set(re.findall(r"^\| `(--[a-z-]+)", rows, re.MULTILINE)) == SHARED | {"--help", "--version"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=named)
def test_no_document_names_an_option_that_no_command_has(page):
    """But the changelog, which names those that there were; other programs' options are on lines that name these."""
    of_the_demo = set(re.findall('"(--[a-z-]+)"', (ROOT / "demo" / "orders.py").read_text()))
    of_spark = {"--deploy-mode", "--driver-memory", "--properties-file", "--py-files", "--supervise"}
    known = of_the_demo.union({"--help", "--version"}, of_spark, *map(options, cli.commands.values()))
    known |= {name for action in audit_parser()._actions for name in action.option_strings}
    lines = (
        line
        for line in text_of(page).split("\n")
        if not re.search(r"python |pip |uvx |apt-get |rclone |docker |kafka-consumer-groups ", line)
    )
    assert {name for line in lines for name in re.findall(r"(?<![\w-])--[a-z][a-z-]*\b(?!-)", line)} - known == set()


def parameters(name: str) -> set[str]:
    """What the constructor of a class takes, with the classes of ours that it comes from; read, not imported."""
    node = CLASSES[name]
    inits = [item.args for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    own = {argument.arg for init in inits for argument in (*init.args[1:], *init.kwonlyargs)}
    return own.union(*(parameters(base.id) for base in node.bases if isinstance(base, ast.Name) and base.id in CLASSES))


#: What operators, sensors and triggers have in common.
ABSTRACT = {"CheckpointOperator", "CheckpointChangeOperator", "CheckpointSensor", "CheckpointPositionSensor"}
ABSTRACT |= {"CheckpointPositionTrigger", "CheckpointNewPlaceOperator"}
ABSTRACT |= {"CheckpointTrimmingOperator", "CheckpointFencingOperator", "QueryRunOperator"}


def test_the_reference_has_every_airflow_class():
    assert set(OF_CLASSES) == set(CLASSES) - ABSTRACT


@pytest.mark.parametrize("name", sorted(set(CLASSES) - ABSTRACT))
def test_the_reference_has_every_parameter_of_a_class_and_no_other(name):
    rows = re.findall(r"^\| (`.+?) \|", OF_CLASSES[name], re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    shared = {"checkpoint", "checkpoint_conn_id", "query", "query_file"}  # which stand above them all
    assert named | shared == parameters(name) | shared


def test_the_reference_has_every_name_of_the_python_api():
    named = set(re.findall(r"`(\w+)`", sections("##")["Python API"].partition("| names |")[2]))
    assert named == set(api.__all__)


def test_the_plan_for_a_very_large_fleet_is_what_its_formulas_give():
    """The table below the formulas of docs/pipeline.md, for both sizes."""
    section = (ROOT / "docs/pipeline.md").read_text().partition("### A plan for")[2].partition("\n## ")[0]
    formulas = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    shown = [line.strip("| ").split(" | ")[1:] for line in section.split("\n") if line.startswith("| ")][1:]
    for column, checkpoints in enumerate((100_000, 1_000_000)):
        plan: dict[str, float] = {}
        exec(formulas.replace("checkpoints, batches = 1_000_000,", f"checkpoints, batches = {checkpoints},"), plan)
        assert plan["checkpoints"] == checkpoints
        expected = (
            f"${plan['usd']:.0f}",
            f"{plan['partitions']:,}",
            f"{plan['executors_cpu_h']:.1f} CPU hours: {plan['executors_min']:.0f} minutes on 100 cores",
            f"{plan['driver_min']:.0f} minutes",
            f"${plan['stream_usd_a_day']:.0f} a day",
            f"{plan['offsets_s']:.1f} s",
        )
        for text, cells in zip(expected, shown, strict=True):
            assert text in cells[column]


def test_every_variable_of_the_index_is_explained_where_it_is_set():
    code = (ROOT / "dags/checkpoint_index.py").read_text()
    variables = set(re.findall(r'environ\.get\("(\w+)"', code))
    assert len(variables) == 4
    for text in (ast.get_docstring(ast.parse(code)) or "", (ROOT / "docs/how-to/airflow-pages.md").read_text()):
        assert set(re.findall(r"\bCKPT_INDEX\w*", text)) == variables


def test_the_table_of_the_runbook_has_every_error_condition():
    table = (ROOT / "docs/runbook/index.md").read_text()
    assert [name for page in read_pages() for name in page.conditions if f"`{name}`" not in table] == []
