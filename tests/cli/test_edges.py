"""What an installed command was given by somebody who meant it no good."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.deploy import parse_conf_file
from airflow_provider_ckpt.query.yaml_text import parse_yaml
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery

DO_IT = ["--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "unknown"]
DEEP = "[" * 5_000 + "]" * 5_000


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Four batches, 0 to 3."""
    query = FakeQuery(Store.open(str(tmp_path / "v" / "checkpoint")))
    for batch_id in range(4):
        query.commit(batch_id)
    return query


def ckpt(capsys, *arguments: object) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


USAGE = {
    "rollback to deep offsets": (["rollback", "C", "--to-offsets", DEEP], "nested"),
    "wait for a deep target": (["wait", "C", "--condition", '{"a":' * 5_000 + "1" + "}" * 5_000], "nested"),
    "wait for deep offsets": (["wait", "C", "--offsets", DEEP], "nested"),
    "nothing to reach": (["wait", "C", "--condition", '{"condition":"all_of","conditions":[]}'], "at least one"),
    "a target that lacks its number": (["wait", "C", "--condition", '{"condition":"batch"}'], "batch_id is missing"),
    "a number without end": (
        ["wait", "C", "--condition", '{"condition":"batch","batch_id":1e400}'],
        "not a whole number",
    ),
    "text for a number": (
        ["wait", "C", "--condition", '{"condition":"batch","batch_id":"five"}'],
        "not a whole number",
    ),
    "a key too many": (
        ["wait", "C", "--condition", '{"condition":"batch","batch_id":1,"x":1}'],
        "x is not a key of batch",
    ),
    "a target that is a list": (
        ["wait", "C", "--condition", '{"condition":["batch"]}'],
        "list is not the name of a condition",
    ),
    "forget nothing": (["history", "C", "--forget", "", "--execute"], "the value of --forget is empty"),
    "no sink": (["rollback", "C", "--to-batch", "1", "--sink", ""], "the value of --sink is empty"),
    "no plan": (["rollback", "C", "--plan", ""], "the value of --plan is empty"),
    "no root": (["rollback", "C", "--to-batch", "1", "--undo-to", ""], "the value of --undo-to is empty"),
    "no backups": (["rollback", "C", "--to-batch", "1", "--backup-root", " "], "the value of --backup-root is empty"),
    "no tag": (["backup", "C", "--to", "B", "--tag", "x", "--tag", ""], "the value of --tag is empty"),
    "a document in the checkpoint": (["check", "C", "--output", "C/offsets/9"], "is inside"),
    "a baseline in the checkpoint": (["gate", "C", "--write-baseline", "C/known.json"], "is inside"),
    "a plan in the checkpoint": (["rollback", "C", "--to-batch", "1", "--plan-out", "C/p"], "is inside"),
    "a plan in a sink's log": (["rollback", "C", "--to-batch", "1", "--plan-out", "O/_spark_metadata/7"], "is inside"),
}


@pytest.mark.parametrize("case", USAGE)
def test_refused_as_usage(query, capsys, tmp_path, case):
    arguments, message = USAGE[case]
    (tmp_path / "out" / "_spark_metadata").mkdir(parents=True)
    places = {"C": query.store.location, "B": f"{tmp_path}/backups", "O": f"{tmp_path}/out"}
    words = [places.get(word[:1], "") + word[1:] if word[:1] in places else word for word in arguments]
    code, _, err = ckpt(capsys, *words)
    assert code == 2, err
    assert message in err


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_yaml, "confs: {a: 1, b: 2, a: 3}", "'a' again"),
        (parse_yaml, "confs: {}\nconfs: {a: 1}", "'confs' again"),
        (parse_yaml, f"confs: {DEEP}", "nested"),
        (parse_conf_file, "spark.x 1\nspark.x 2", "given twice"),
        (parse_conf_file, "[]", "not a line of spark-defaults.conf"),
    ],
)
def test_a_text_that_does_not_say_one_thing(parse, text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_spark_defaults_as_spark_reads_them():
    text = "# x\nspark.a 1\nspark.a=1\nspark.b\nspark.c : d e"
    assert parse_conf_file(text) == {"spark.a": "1", "spark.b": "", "spark.c": "d e"}


@pytest.mark.parametrize("other", ["v/../v/checkpoint", "v/./checkpoint", "v//checkpoint", "link", "below/ck"])
def test_one_checkpoint_by_two_names(query, capsys, tmp_path, other):
    (tmp_path / "link").symlink_to(tmp_path / "v" / "checkpoint")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "ck").symlink_to(tmp_path / "v" / "checkpoint")
    assert ckpt(capsys, "rollback", f"{tmp_path}/{other}", "--to-batch", 1, *DO_IT)[0] == 0
    code, _, err = ckpt(capsys, "undo", query.store.location, *DO_IT)
    assert (code, observe(query.store).latest_committed) == (0, 3), err


def test_the_way_back_names_where_the_record_is(query, capsys, tmp_path):
    root = tmp_path / "records"
    _, out, _ = ckpt(capsys, "rollback", query.store.location, "--to-batch", 1, "--undo-to", root, *DO_IT)
    assert f"ckpt undo {query.store.location} --undoes " in out and f"--undo-to {root}" in out


@pytest.mark.parametrize("inside", ["", "/offsets"])
def test_no_record_in_the_checkpoint(query, capsys, tmp_path, inside):
    before = sorted(tmp_path.rglob("*"))
    undo_to = f"{query.store.location}{inside}"
    code, _, err = ckpt(capsys, "rollback", query.store.location, "--to-batch", 1, "--undo-to", undo_to, *DO_IT)
    assert code == 4 and "would be written into the checkpoint" in err
    assert sorted(tmp_path.rglob("*")) == before


PIPES = {
    "an entry": ("v/checkpoint/offsets/3", ["show", "C"], 3),
    "an entry, checked": ("v/checkpoint/offsets/3", ["check", "C"], 1),
    "metadata": ("v/checkpoint/metadata", ["gate", "C"], 1),
    "a file of confs": ("spark.conf", ["gate", "C", "--conf-file", "T/spark.conf"], 2),
    "a plan file": ("plan", ["rollback", "C", "--plan", "T/plan"], 3),
    "a baseline": ("known", ["check", "C", "--baseline", "T/known"], 2),
}


@pytest.mark.parametrize("case", PIPES)
def test_a_named_pipe_is_never_opened(query, capsys, tmp_path, case):
    name, arguments, expected = PIPES[case]
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    places = {"C": query.store.location, "T": str(tmp_path)}
    code, out, err = ckpt(capsys, *(places[word[0]] + word[1:] if word[0] in places else word for word in arguments))
    assert (code, "a named pipe, not a regular file" in out + err) == (expected, True), out + err


SPECIAL = {
    "a named pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a device": lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5)),  # zeros without an end
}
#: Where in a checkpoint; whether backup has to read the file, or names it and leaves it out; check --deep names each.
SPECIAL_PLACES = {
    "notes": False,
    "_schemas/0": False,
    "offsets/notes": False,
    "state/0/0/foo": False,
    "offsets/4": True,
    "commits/3": True,
    "sources/0/9": True,
    "offsets/.3.crc": True,
}


@pytest.mark.parametrize("what", SPECIAL)
@pytest.mark.parametrize("place", SPECIAL_PLACES)
def test_what_is_no_file_in_a_checkpoint_never_blocks_and_is_named(query, capsys, tmp_path, place, what):
    path = Path(query.store.location, place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    SPECIAL[what](path)
    says = f"this is {what}, not a regular file, so it was not opened"
    code, out, err = ckpt(capsys, "backup", query.store.location, "--to", tmp_path / "backups")
    if SPECIAL_PLACES[place]:
        assert (code, f"{place}: {says}" in err) == (3, True), err
    else:
        assert code == 0 and f"not in the backup is '{place}'" in " ".join(out.split())
    assert bool(list(tmp_path.glob("backups/*/manifest.json"))) != SPECIAL_PLACES[place]
    _, out, _ = ckpt(capsys, "check", "--deep", query.store.location, "--json")
    rule = "CKPT153" if SPECIAL_PLACES[place] else "CKPT163"
    named = {item["name"]: item["message"] for item in json.loads(out)["findings"] if item["code"] == rule}
    assert named.keys() == {place} and (says in named[place]) == SPECIAL_PLACES[place], named
    for command in (["gate"], ["fleet", "--deep"], ["show"], ["log"]):
        ckpt(capsys, *command, query.store.location)


def test_a_record_without_its_plan_hides_no_change(query, capsys, tmp_path):
    for batch_id in (2, 1):
        assert ckpt(capsys, "rollback", query.store.location, "--to-batch", batch_id, *DO_IT)[0] == 0
    newest = history(query.store)[-1].location
    Path(newest, "plan.json").unlink()
    code, _, err = ckpt(capsys, "undo", query.store.location, *DO_IT)
    assert code == 3 and newest in err and "is missing" in err


def test_a_refused_undo_names_what_has_changed(query, capsys):
    assert ckpt(capsys, "rollback", query.store.location, "--to-batch", 1, *DO_IT)[0] == 0
    query.store.write("commits/0", query.store.read("commits/0"))
    code, _, err = ckpt(capsys, "undo", query.store.location, *DO_IT)
    assert code == 4 and "commits/0 were written since" in " ".join(err.split()), err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "C", "--output", "T/none/out"],
        ["gate", "C", "--output", "T/none/out", "--format", "sarif"],
        ["gate", "C", "--write-baseline", "T/none/known"],
        ["rollback", "C", "--to-batch", "1", "--plan-out", "T/none/plan"],
        ["undo", "C", "--plan-out", "T/none/plan"],
        ["restore", "T/backups", "latest", "--to", "T/new", "--plan-out", "T/none/plan"],
    ],
    ids=" ".join,
)
def test_a_file_without_its_directory_is_said_before_any_work(query, capsys, tmp_path, arguments, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(Store, "open", lambda location, **_: opened.append(location))
    places = {"C": query.store.location, "T": str(tmp_path)}
    code, out, err = ckpt(capsys, *(places[word[0]] + word[1:] if word[0] in places else word for word in arguments))
    assert (code, out, opened) == (2, "", []), err
    assert f"the directory {tmp_path}/none does not exist; make it first" in err


@pytest.mark.parametrize("command", ["check LOC", "gate LOC", "gate LOC --json"])
def test_files_are_written_also_when_nobody_reads_stdout(query, tmp_path, command):
    known, document = tmp_path / "known", tmp_path / "document"
    done = _shell(query.store.location, f"{command} --write-baseline {known} --output {document} | true")
    assert (done.returncode, done.stderr) == (141, "")
    assert str(query.store.location) in document.read_text() and json.loads(known.read_text())


def _shell(location: str, arguments: str) -> subprocess.CompletedProcess[str]:
    main = f"{sys.executable} -c 'from airflow_provider_ckpt.cli import main; main()'"
    script = f"set -o pipefail; {main} {arguments.replace('LOC', location)}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "expected", "says"),
    [
        (f"rollback LOC --to-batch 1 {' '.join(DO_IT)} | true", 0, "Done: "),
        (f"rollback LOC --to-batch 1 --json {' '.join(DO_IT)} >/dev/full", 5, "Done: "),
        ("show LOC >/dev/full", 5, "Error: the output could not be written"),
        ("check LOC | true", 141, ""),
    ],
)
def test_a_stdout_that_breaks_is_not_the_answer_no(query, arguments, expected, says):
    done = _shell(query.store.location, arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (expected, False), done.stderr
    assert says in done.stderr and len(done.stderr.splitlines()) <= 2
    assert observe(query.store).latest_committed == (1 if "rollback" in arguments else 3)


def test_json_of_an_error_is_still_one_document(query, capsys):
    code, out, _ = ckpt(capsys, "log", query.store.location, "--batch", 77, "--json")
    assert (code, json.loads(out)["error"]["code"]) == (3, "NOT_FOUND")


def test_a_quick_backup_says_what_it_did_not_judge(query, capsys, tmp_path):
    code, out, _ = ckpt(capsys, "backup", query.store.location, "--to", tmp_path / "backups", "--quick")
    assert code == 0 and "Not judged: what is in the state files, which a quick backup does not read." in out
