"""The house keeps its rules: what loads what, and the rooms that CONTRIBUTING.md names."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import MODULES, cli
from tests.package import PACKAGE, loaded_by, rooms_loaded_by
from tests.sharing import service_of
from tests.tiers import NEEDS_MORE, SHARED, SWEEPS, TESTS


def test_the_codec_loads_the_standard_library_alone():
    loaded = loaded_by("import airflow_provider_ckpt.codec")
    assert not loaded & {"fsspec", "airflow", "pyspark", "click", "rich", "pendulum", "tenacity"}


#: What a command does not load for a checkpoint on this disk, beyond what no command of a kind loads.
NEVER = {"airflow", "pyspark", "py4j", "pandas", "s3fs", "fsspec", "asyncio", "rich", "yaml", "pendulum", "tenacity"}
CHANGING = {"backup", "change", "changes", "fleet", "waiting", "sources", "spark"}


@pytest.mark.parametrize(
    ("command", "modules", "rooms"),
    [
        ("show", NEVER | {"socket"}, CHANGING),
        ("log", NEVER | {"socket"}, CHANGING),
        ("check", NEVER | {"socket"}, CHANGING),
        ("gate", NEVER | {"socket"}, CHANGING),
    ],
)
def test_a_command_loads_what_it_needs(goldens, command, modules, rooms):
    checkpoint = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    asked = f"from airflow_provider_ckpt.cli import run\nrun(['{command}', '{checkpoint}', '--json'])"
    assert loaded_by(asked) & modules == set()
    assert rooms_loaded_by(asked) & rooms == set()


@pytest.mark.parametrize("asked", ["--version", "--no-such-option"])
def test_without_a_command_no_room_is_loaded(asked):
    rooms = rooms_loaded_by(
        f"from airflow_provider_ckpt.cli import run\ntry: run(['{asked}'])\nexcept SystemExit: pass"
    )
    assert rooms == {"cli", "documents", "errors", "times", "visible"}


def test_every_command_is_where_the_table_says():
    assert {name: command.name for name, command in cli.commands.items()} == {name: name for name in MODULES}


def test_provider_discovery_loads_nothing_else():
    loaded = loaded_by("from airflow_provider_ckpt.get_provider_info import get_provider_info\nget_provider_info()")
    assert not loaded & {"airflow", "fsspec", "click"}


@pytest.mark.airflow
def test_pyspark_is_of_one_piece():
    """pyspark-client, which Airflow's Spark provider needs, owns the same files: the one installed last wins."""
    import pyspark

    assert pyspark.__version__ == metadata.version("pyspark"), (
        "reinstall it last: pip install --force-reinstall pyspark"
    )


def test_the_picture_names_every_room():
    picture = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    rooms = [path for path in PACKAGE.iterdir() if path.name not in ("__init__.py", "__pycache__", "py.typed")]
    assert [path.name for path in rooms if f"`{path.name}{'/' if path.is_dir() else ''}`" not in picture] == []


def test_few_files_lie_flat():
    flat = [path.name for path in PACKAGE.iterdir() if path.is_file()]
    assert len(flat) <= 8, flat


def test_a_room_has_few_files():
    """More are hard to look over: what is used together goes into a folder of its own."""
    files = Counter(
        str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"
    )
    assert {room: count for room, count in files.items() if count > 25} == {}


def test_modules_stay_small():
    sizes = {path.name: len(path.read_text().split("\n")) for path in PACKAGE.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > 430} == {}


#: Pages, lists and data, whose syntax nothing else reads as a whole; in code the signs of a conflict do not parse.
READ_BY_PEOPLE = {".md", ".txt", ".toml", ".json", ".yaml", ".yml", ".sh", ".xml", ".html"}


def test_the_rooms_below_the_faces_are_all_kept_from_printing():
    """And from Airflow, Spark and click: a new room of a subject, too."""
    with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
        contracts = {item["name"]: item for item in tomllib.load(file)["tool"]["importlinter"]["contracts"]}
    order = contracts["The rooms: faces over subjects over codec and storage over the ground"]["layers"]
    below = [room for floor in order[order.index("report") + 1 :] for room in floor.split(" | ")]
    kept = contracts["Only the faces print, ask, or know Airflow and Spark"]["source_modules"]
    own = {*("codec", "untrusted", "errors"), *("clock", "times", "visible", "documents", "get_provider_info")}
    assert {name.rpartition(".")[2] for name in kept} == set(below) - own


def test_a_hook_names_what_is_there():
    hooks = (PACKAGE.parent / ".pre-commit-config.yaml").read_text()
    for module, name in re.findall(r"\b([a-z_]+)\.([a-z_]+_of)\b", hooks):
        assert f"def {name}(" in (PACKAGE / "codec" / f"{module}.py").read_text()
    assert re.findall(r"lines_of", hooks)


def test_each_supported_python_is_a_classifier():
    """Both published wheels take them from here, and the page of the limits names the ends."""
    with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    least, above = map(int, re.findall(r"3\.(\d+)", project["requires-python"]))
    classifiers = [re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", item) for item in project["classifiers"]]
    assert [int(found[1]) for found in classifiers if found] == list(range(least, above))
    assert f"| Python | 3.{least} to 3.{above - 1};" in (PACKAGE.parent / "docs" / "limits.md").read_text()


#: Where a text is split at a colon or an equals sign that is no declaration of a query, and what it is.
SPLITS = {
    "checkpoint/find_inputs.py": "the scheme of a path of Spark's",
    "cli/absolute_words.py": "a word of a command line",
    "cli/options.py": "KEY=VALUE",
    "cli/find_query_file.py": "a word of a command line",
    "cli/query_names.py": "a word of a command line",
    "cli/changes/plan_files.py": "a word of a command line",
    "sources/kafka/strategies.py": "a topic and its partitions",
    "blue_green/read_rows.py": "the directory of a partition",
    "changes/repair/decision.py": "a batch and a file",
    "changes/sources/source_change.py": "NEW=OLD",
    "spark/audit.py": "an option of storage",
    "untrusted/secrets.py": "KEY=VALUE",
}


def test_what_somebody_declares_is_parsed_in_one_room():
    splits = re.compile(r"""\.r?(partition|split)\("[:=]"[,)]""")
    paths = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if splits.search(path.read_text())]
    elsewhere = {str(path) for path in paths if path.parts[0] not in ("query", "codec")}
    assert elsewhere == set(SPLITS)


#: Values that a call may pass by their position: more, and a reader has to count.
BY_POSITION = 7


def test_long_calls_name_their_values():
    long = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and len(call.args) > BY_POSITION and ast.unparse(call.func) != "checks_of"
    ]
    assert long == []


#: What switches a check of ruff or mypy off, and what catches errors of any class.
SILENT = re.compile(r"# (?:noqa|type: ignore)\b[^#]*$|except (?:Base)?Exception\b[^#]*$")


#: The end of a text in which a command waits for a place: ``ckpt undo ``, ``ckpt restore ROOT ID --to ``.
_COMMAND = re.compile(r"\bckpt [a-z-]+( --[a-z-]+| [A-Z]+| latest)* \Z")


def test_a_place_in_a_printed_command_is_quoted_for_a_shell():
    unquoted = [
        f"{path.name}:{text.lineno}"
        for path in PACKAGE.rglob("*.py")
        if "ckpt " in (code := path.read_text(encoding="utf-8"))
        for text in ast.walk(ast.parse(code))
        if isinstance(text, ast.JoinedStr)
        for before, value in pairwise(text.values)
        if isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue) and _COMMAND.search(before.value)
        if ast.unparse(value.value).endswith(("location", "checkpoint", "source", "root"))
    ]
    assert unquoted == []


def test_what_is_silenced_says_why():
    """In a comment on the line, such as ``# noqa: T201  # the answer of this process``."""
    silent = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in PACKAGE.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SILENT.search(line)
    ]
    assert silent == []


def test_no_file_holds_both_sides_of_a_conflict():
    root = PACKAGE.parent
    rooms = [root / name for name in ("docs", "demo", "dags", "packaging", "bench", "tests", PACKAGE.name)]
    files = [*root.iterdir(), *(path for room in rooms for path in room.rglob("*"))]
    files = [path for path in files if path.suffix in READ_BY_PEOPLE and path.is_file()]
    assert root / "CONTRIBUTING.md" in files
    signs = ("<" * 7 + " ", ">" * 7 + " ")
    assert [str(path) for path in files if any(f"\n{sign}" in f"\n{path.read_text()}" for sign in signs)] == []


# --- the tests ------------------------------------------------------------------------------------------------------


#: An import of a test module, or of something in it.
BORROWED = re.compile(r"^\s*(?:from|import) tests\b[^#\n]*\b(test_\w+)", re.MULTILINE)


def test_no_helper_is_imported_from_a_test_module():
    """What two test modules need lies in a module of its own, named after what it is."""
    assert BORROWED.match("from tests.cli import test_show") and BORROWED.match("    import tests.cli.test_show")
    borrowed = {file: {*BORROWED.findall(file.read_text())} - {file.stem} for file in TESTS.rglob("*.py")}
    assert {str(file.relative_to(TESTS)): names for file, names in borrowed.items() if names} == {}


#: Modules that have no test file of their own name, by room: tested through others. It only gets shorter.
TESTED_ELSEWHERE = {
    ".": "errors get_provider_info visible",
    "backup": "copier declare patience",
    "change": "open_sinks stage validate",
    "change/plan": "facts",
    "change/record": "forget journal receipt",
    "change/undo": "make put_back",
    "changes/rollback": "make resolve",
    "checkpoint": "file_sink_log own_files progress sink_marker spark_confs view",
    "checkpoint/state": "partitions",
    "checks": "checksums confs file_sink rule_pages",
    "cli": "backup files findings_output gate options prune render streams",
    "cli/changes": "history rollback",
    "cli/positions": "wait",
    "codec": "verbatim versions",
    "codec/offsets": "file",
    "operators": "backup base check continuity prune verify windows",
    "operators/changes": "restore rollback",
    "restart": "gate sinks steps",
    "sensors": "checkpoint",
    "sinks": "effects memory",
    "sources/delta": "end",
    "sources/iceberg": "end",
    "storage": "async_store drivers local stored_object testing",
    "triggers": "checkpoint shared_polls",
    "untrusted": "fields lines spans",
    "waiting": "positions",
}


def test_each_module_has_a_test_file_of_its_name():
    """``tests/<room>/test_<module>.py``; one that has come is struck off the list, a new module does not go on it.

    What documents hold are types alone: ``test_json_documents.py`` compares real documents with all of them.
    """
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    modules = [path for path in modules if path.parent.name != "documents"]
    untested = {path for path in modules if not (TESTS / path.parent / f"test_{path.name}").exists()}
    listed = {Path(room, f"{name}.py") for room, names in TESTED_ELSEWHERE.items() for name in names.split()}
    assert {str(path) for path in untested - listed} == set(), "write a test file of that name"
    assert {str(path) for path in listed - untested} == set(), "strike it off the list"


def test_what_make_unit_leaves_out_is_there():
    assert [name for name in (*NEEDS_MORE, *SWEEPS) if not (TESTS / name).exists()] == []


def test_the_files_that_one_process_gets_are_there():
    assert [name for names in SHARED.values() for name in names if not (TESTS / name).exists()] == []


def test_a_file_that_starts_something_goes_where_that_is_started():
    services = {
        "spark/test_tail.py": "spark",
        "codec/test_spark_types.py": "spark",
        "sources/kafka/test_end.py": "spark",
        "airflow/test_dags.py": "airflow",
        "oracle/test_oracle.py": "airflow",
        "codec/test_layout.py": None,
    }
    assert {file: service_of(f"tests/{file}") for file in services} == services
