"""Commands of one query take several names, or none for all queries of the file, and give one result."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.cli import run


@pytest.fixture
def queries(golden, tmp_path, monkeypatch):
    """Queries ``a`` and ``b`` with roots of backups, and ``gone``, whose checkpoint is not there."""
    first = golden("agg-hdfs")
    shutil.copytree(first, tmp_path / "b")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKPT_FILE", raising=False)

    def declare(*, backups: str = "backups: 'backups/{query}'", more: str = "") -> None:
        (tmp_path / "ckpt.yaml").write_text(
            f"format_version: 1\ndefaults: {{spark_version: '4.3', {backups}{more}}}\nqueries:\n"
            f"  a: {{checkpoint: {first}}}\n  gone: {{checkpoint: gone}}\n  b: {{checkpoint: b}}\n"
        )

    declare()
    return declare


def ckpt(capsys, *words):
    capsys.readouterr()
    code = run([*words, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out or "{}"), said.err


@pytest.mark.parametrize("names", [(), ("a", "gone", "b")], ids=["all", "named"])
def test_a_backup_of_each_is_taken_and_one_that_fails_is_one_row(queries, capsys, names):
    code, told, err = ckpt(capsys, "backup", *names)
    assert code == 3 and list(told) == ["format_version", "queries"]
    assert [row["query"] for row in told["queries"]] == ["a", "gone", "b"]
    assert [row.get("batch_id") for row in told["queries"]] == [7, None, 7]
    assert told["queries"][1]["error"]["code"] == "NOT_FOUND" and err.count("Error: ") == 1
    code, told, _ = ckpt(capsys, "backups", "a", "b")
    assert (code, [len(row["backups"]) for row in told["queries"]]) == (0, [1, 1])
    code, told, _ = ckpt(capsys, "verify", "b", "a")
    assert (code, [(row["query"], row["verified"]) for row in told["queries"]]) == (0, [("b", True), ("a", True)])
    assert ckpt(capsys, "verify")[0] == 3, "the worst exit code"


def test_a_location_of_the_file_means_the_same_as_its_name(queries, capsys, tmp_path):
    code, told, _ = ckpt(capsys, "backup", "a", f"{tmp_path}/b")
    assert (code, [row["query"] for row in told["queries"]]) == (0, ["a", "b"])


def test_a_use_that_is_wrong_for_each_of_them_is_told(queries, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert run(["gate", "a", "b", "--bookmark", "file"]) == 2
    assert "--bookmark" in capsys.readouterr().err


def test_a_single_name_has_the_document_that_it_ever_had(queries, capsys):
    _, told, _ = ckpt(capsys, "backup", "a")
    assert "queries" not in told and told["batch_id"] == 7
    assert "queries" not in ckpt(capsys, "verify", "a", told["backup_id"][:20])[1]
    assert "queries" not in ckpt(capsys, "verify", "a", "latest")[1]


def test_for_people_each_has_its_name_above_its_result(queries, capsys):
    assert run(["backup", "a", "b"]) == 0
    out = capsys.readouterr().out
    assert out.index("a:\n") < out.index("Backup ") < out.index("b:\n") < out.rindex("Backup ")


@pytest.mark.parametrize("execute", [(), ("--execute",)], ids=["a plan", "carried out"])
def test_a_prune_of_all_keeps_in_each_root_what_the_file_says(queries, capsys, execute):
    queries(more=", keep: {last: 1}")
    for _ in range(2):
        assert ckpt(capsys, "backup", "a", "b")[0] == 0
    code, told, err = ckpt(capsys, "prune", *execute)
    assert code == 3 and "gone" in err, "there is no backup of it"
    kept = {
        row["query"]: [item["keep"] for item in row["plan"]["decisions"]] for row in told["queries"] if "plan" in row
    }
    assert kept == {"a": [False, True], "b": [False, True]}
    left = [len(row["backups"]) for row in ckpt(capsys, "backups", "a", "b")[1]["queries"]]
    assert left == ([1, 1] if execute else [2, 2])


def test_a_prune_without_rules_deletes_nothing_of_any(queries, capsys):
    ckpt(capsys, "backup", "a", "b")
    code, told, _ = ckpt(capsys, "prune", "a", "b", "--execute")
    assert (code, [row["error"]["code"] for row in told["queries"]]) == (2, ["USAGE", "USAGE"])
    assert "the key keep in the query file" in told["queries"][0]["error"]["message"]


def test_a_gate_of_several_is_one_document_like_that_of_a_check(queries, capsys):
    code, told, _ = ckpt(capsys, "gate", "a", "gone", "b", "--quick")
    assert (code, told["decision"]) == (3, "block")
    assert [row.get("resumes_at_batch") for row in told["checkpoints"]] == [8, None, 8]
    assert told["checkpoints"][1]["error"]["code"] == "NOT_FOUND"
    assert len(ckpt(capsys, "gate", "--quick")[1]["checkpoints"]) == 3
    alone = ckpt(capsys, "gate", "a", "--quick")[1]
    assert alone == {"format_version": 1, **told["checkpoints"][0], "decision": alone["decision"]}


def test_the_bookmarks_of_several_are_files_of_one_directory(queries, capsys, tmp_path):
    assert ckpt(capsys, "gate", "a", "b", "--quick", "--bookmark", "before")[0] in (0, 1)
    kept = {path.name: json.loads(path.read_text())["location"] for path in (tmp_path / "before").iterdir()}
    assert kept.keys() == {"a.json", "b.json"} and kept["b.json"] == f"{tmp_path}/b"
    assert run(["rollback", "b", "--to-before-deploy", "before/b.json"]) == 0
    assert run(["gate", "a", "--quick", "--bookmark", "before"]) == 2, "of one query it is a file"


def test_a_file_of_a_gate_has_all_of_them(queries, capsys, tmp_path):
    assert run(["gate", "a", "b", "--quick", "--format", "junit", "--output", "gate.xml"]) in (0, 1)
    assert (tmp_path / "gate.xml").read_text().count("<testsuite ") == 2
    assert capsys.readouterr().out.count("agg-hdfs") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["backup", "a", "b", "--to", "root"], "--to is of one query"),
        (["gate", "a", "b", "--sink", "noop"], "--sink is of one query"),
        (["verify", "--query-id", "x"], "--query-id is of one query"),
        (["backup", "a", "bb"], "bb is no query of"),
        (["gate", "a", "b", "--quik"], "--quik"),
    ],
)
def test_what_cannot_be_of_several_is_a_wrong_use_before_anything_is_done(queries, capsys, tmp_path, words, told):
    assert run(words) == 2
    said = capsys.readouterr()
    assert told in said.err and not (tmp_path / "backups").exists()


def test_a_query_without_a_root_of_backups_stops_no_other(queries, capsys, tmp_path):
    queries(backups="undo: undo")
    text = (tmp_path / "ckpt.yaml").read_text().replace("checkpoint: b}", "checkpoint: b, backups: backups/b}")
    (tmp_path / "ckpt.yaml").write_text(text)
    code, told, _ = ckpt(capsys, "backup", "a", "b")
    assert (code, [row.get("batch_id") for row in told["queries"]]) == (2, [None, 7])


@pytest.mark.parametrize("command", ["gate", "backup", "backups", "verify", "prune"])
def test_without_a_name_and_a_file_it_is_a_wrong_use(queries, capsys, tmp_path, command):
    (tmp_path / "ckpt.yaml").unlink()
    assert run([command]) == 2
    assert "Missing argument" in capsys.readouterr().err
