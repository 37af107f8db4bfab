"""The name of a query stands where a location stands, and brings what its query file declares."""

from __future__ import annotations

import json

import click
import pytest

from airflow_provider_ckpt.cli import cli, run
from airflow_provider_ckpt.cli.query_names import with_query

WORD = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """A directory with a query file, in which commands run; writes another one when it is called."""
    checkpoint = golden("agg-hdfs")

    def declare(text: str = "sink: kafka") -> None:
        (tmp_path / "ckpt.yaml").write_text(
            f'format_version: 1\ndefaults: {{undo: "{tmp_path}/undo/{{query}}"}}\nqueries:\n  orders:\n'
            f"    checkpoint: {checkpoint}\n    backups: {tmp_path}/backups\n    {text}\n"
        )

    declare()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("CKPT_FILE", raising=False)
    declare.checkpoint, declare.file = checkpoint, tmp_path / "ckpt.yaml"
    return declare


def ckpt(capsys, *arguments):
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("said", ["orders", "location", "relative"])
def test_a_name_a_location_and_both_are_one_query(declared, capsys, said):
    words = {"orders": "orders", "location": declared.checkpoint, "relative": "../agg-hdfs/checkpoint"}
    code, planned = ckpt(capsys, "rollback", words[said], "--to-batch", 6)
    assert (code, planned["plan"]["location"]) == (0, str(declared.checkpoint))
    assert planned["plan"]["sink_effects"][0]["sink"] == "kafka"
    assert planned["declared"] == {
        "--sink": f"{declared.file} line 7",
        "--undo-to": f"{declared.file} line 2",
        "--backup-root": f"{declared.file} line 6",
    }


def test_an_option_wins_over_the_file(declared, capsys):
    planned = ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--sink", "console")[1]
    assert planned["plan"]["sink_effects"][0]["sink"] == "console"
    assert "--sink" not in planned["declared"]


def test_a_printed_command_keeps_the_name_and_says_its_file(declared, capsys):
    planned = ckpt(capsys, "rollback", "orders", "--to-batch", 6)[1]
    assert planned["apply_command"] == (
        f"ckpt rollback orders --to-batch 6 --file {declared.file} --execute --i-know-it-is-stopped "
        "--accept-sink duplicated"
    )


def test_the_word_for_no_file_is_none_in_a_printed_command(declared, capsys):
    words = ("rollback", declared.checkpoint, "--to-batch", 6, "--file", "none", "--sink", "noop")
    assert " --file none " in ckpt(capsys, *words)[1]["apply_command"]
    assert " --file=none " in ckpt(capsys, *words[:4], "--file=none", *words[6:])[1]["apply_command"]


def test_a_change_by_name_keeps_what_goes_where_the_file_says(declared, capsys):
    done = ckpt(capsys, "rollback", "orders", "--to-batch", 6, *WORD, "--accept-sink", "duplicated")[1]
    assert done["receipt"]["status"] == "applied"
    assert (declared.file.parent / "undo/orders").is_dir()
    assert [change["kind"] for change in ckpt(capsys, "history", "orders")[1]["changes"]] == ["rollback"]
    assert ckpt(capsys, "undo", "orders", *WORD)[0] == 0


@pytest.mark.parametrize("change", [("rollback", "--to-batch", "6"), ("salvage",)], ids=lambda change: change[0])
def test_a_plan_of_another_declaration_is_stale_and_says_the_difference(declared, capsys, change):
    plan, (command, *words) = declared.file.parent / "plan.json", change
    if command == "salvage":
        (declared.checkpoint / "commits/7").write_text("")
    assert ckpt(capsys, command, "orders", *words, "--plan-out", plan)[0] == 0
    assert ckpt(capsys, command, "orders", "--plan", plan)[0] == 0
    declared("sink: console\n    trigger: availableNow")
    code, error = ckpt(capsys, command, "orders", "--plan", plan)
    assert (code, error["error"]["code"]) == (4, "STALE_PLAN")
    assert error["error"]["message"] == (
        f"the query file has changed since the plan was made: sink was kafka, and {declared.file} line 7 says console; "
        f"trigger was nothing, and {declared.file} line 8 says availableNow."
    )


@pytest.mark.parametrize("lost", ["the query", "the file", "its YAML", "another file"])
def test_a_plan_whose_query_or_file_is_gone_is_stale_as_by_a_key_that_is_gone(declared, capsys, lost):
    plan, words = declared.file.parent / "plan.json", ["rollback", str(declared.checkpoint), "--plan"]
    assert ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--plan-out", plan)[0] == 0
    now = "there is no query file now that can be read"
    match lost:
        case "the query":
            declared.file.write_text("format_version: 1\nqueries: {other: {checkpoint: other}}\n")
            now = f"{declared.file} does not declare it now"
        case "the file":
            declared.file.unlink()
        case "its YAML":
            declared.file.write_text("queries: [")
        case "another file":
            (declared.file.parent / "b.yaml").write_text("format_version: 1\n")
            words, now = [*words[:2], "--file", "../b.yaml", "--plan"], "../b.yaml does not declare it now"
    code, error = ckpt(capsys, *words, plan, *WORD)
    assert (code, error["error"]["code"]) == (4, "STALE_PLAN")
    assert error["error"]["message"] == (
        f"a query file declared this query when the plan was made (backups, sink, undo), and {now}."
    )
    assert (declared.checkpoint / "commits/7").exists()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_whoever_says_that_there_is_no_file_is_told_that_nothing_is_compared(declared, capsys, monkeypatch, how):
    plan = declared.file.parent / "plan.json"
    assert ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--plan-out", plan)[0] == 0
    if how == "environment":
        monkeypatch.setenv("CKPT_FILE", "none")
    words = [] if how == "environment" else ["--file", "none"]
    assert run(["rollback", str(declared.checkpoint), "--plan", str(plan), *words]) == 0
    assert "nothing is compared with what the query file declared" in capsys.readouterr().err


def test_a_plan_of_which_options_declared_all_needs_no_file_afterwards(declared, capsys):
    plan = declared.file.parent / "plan.json"
    declared.file.write_text(
        f"format_version: 1\nqueries: {{orders: {{checkpoint: {declared.checkpoint}, sink: noop}}}}"
    )
    assert ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--sink", "kafka", "--plan-out", plan)[0] == 0
    declared.file.unlink()
    assert ckpt(capsys, "rollback", declared.checkpoint, "--plan", plan)[0] == 0


def test_what_an_option_said_in_place_of_the_file_makes_no_plan_stale(declared, capsys):
    plan = declared.file.parent / "plan.json"
    ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--sink", "noop", "--plan-out", plan)
    declared("sink: console")
    assert ckpt(capsys, "rollback", "orders", "--plan", plan)[0] == 0
    declared("sink: console\n    classes: [a.B]")
    assert ckpt(capsys, "rollback", "orders", "--plan", plan)[0] == 4


def test_a_plan_of_no_file_says_nothing_of_one_and_its_sink_is_compared(declared, capsys):
    plan = declared.file.parent / "plan.json"
    words = ("rollback", declared.checkpoint, "--to-batch", 6)
    ckpt(
        capsys,
        *words,
        "--sink",
        "kafka",
        "--file",
        "none",
        "--undo-to",
        declared.file.parent / "undo",
        "--plan-out",
        plan,
    )
    assert "declared" not in json.loads(plan.read_text())["plan"]
    assert ckpt(capsys, "rollback", "orders", "--plan", plan)[0] == 0
    declared("sink: console")
    code, error = ckpt(capsys, "rollback", "orders", "--plan", plan)
    assert (code, "sink was kafka" in error["error"]["message"]) == (4, True)


def test_a_restore_by_plan_is_held_against_the_file(declared, capsys):
    ckpt(capsys, "backup", "orders")
    plan = declared.file.parent / "plan.json"
    assert ckpt(capsys, "restore", "orders", "latest", "--to", declared.file.parent / "new", "--plan-out", plan)[0] == 0
    declared("sink: console")
    assert ckpt(capsys, "restore", "orders", "--to", declared.file.parent / "new", "--plan", plan)[0] == 4


@pytest.mark.parametrize("how", ["found", "option", "environment", "name"])
def test_a_broken_file_that_was_found_blocks_no_location(declared, capsys, monkeypatch, how):
    declared("sinc: kafka")
    words = ["show", "orders" if how == "name" else str(declared.checkpoint)]
    if how == "option":
        words += ["--file", str(declared.file)]
    if how == "environment":
        monkeypatch.setenv("CKPT_FILE", str(declared.file))
    code = run(words)
    err = capsys.readouterr().err
    assert f"{declared.file} line 7, queries.orders.sinc: it is unknown here; did you mean sink?" in err
    assert code == (0 if how == "found" else 2)
    assert how != "found" or (err.count("\n"), err.endswith("the command goes on without this file.\n")) == (1, True)


@pytest.mark.parametrize("words", [["--file", "none"], ["--file=none"], []])
def test_the_word_none_means_no_file(declared, capsys, monkeypatch, words):
    declared("sinc: kafka")
    if not words:
        monkeypatch.setenv("CKPT_FILE", "none")
    assert run(["show", str(declared.checkpoint), *words]) == 0
    assert capsys.readouterr().err == ""
    assert run(["show", "orders", *words]) == 3


def test_backups_of_a_query_are_under_the_root_that_the_file_says(declared, capsys):
    assert ckpt(capsys, "backup", "orders")[0] == 0
    assert len(ckpt(capsys, "backups", "orders")[1]["backups"]) == 1
    assert ckpt(capsys, "verify", "orders")[0] == 0


def test_a_prune_keeps_what_the_file_says_but_for_what_an_option_says(declared, capsys):
    declared("keep: {last: 2, tag: [before]}")
    for tag in ("before", "x", "x"):
        assert ckpt(capsys, "backup", "orders", "--tag", tag)[0] == 0
    assert run(["prune", "orders", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == f"Declared: --keep-last by {declared.file} line 7, --keep-tag by {declared.file} line 7.\n"
    policy = json.loads(said.out)["plan"]["policy"]
    assert (policy["keep_last"], policy["keep_tags"], policy["keep_daily"]) == (2, ["before"], 0)
    pruned = ckpt(capsys, "prune", "orders", "--keep-last", 1, "--execute")[1]["plan"]
    assert (pruned["policy"]["keep_last"], pruned["policy"]["keep_tags"]) == (1, ["before"])
    assert [backup["tags"] for backup in ckpt(capsys, "backups", "orders")[1]["backups"]] == [["before"], ["x"]]


def test_a_prune_without_any_rule_names_both_places_of_one(declared, capsys):
    assert run(["prune", "orders"]) == 2
    assert "give at least one --keep option, or the key keep in the query file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--to", "orders"), ("--to=orders",)])
def test_a_restore_goes_to_the_checkpoint_of_a_name_and_to_no_directory_of_that_name(declared, capsys, option):
    assert ckpt(capsys, "backup", "orders")[0] == 0
    declared.checkpoint.rename(declared.checkpoint.with_name("lost"))
    assert ckpt(capsys, "restore", "orders", "latest", *option, "--execute", "--accept-sink", "unknown")[0] in (0, 4)
    planned = ckpt(capsys, "restore", "orders", "latest", *option)[1]
    assert planned["plan"]["location"] == str(declared.checkpoint)
    assert not (declared.file.parent / "below/orders").exists()


@pytest.mark.parametrize("how", ["option", "option with =", "environment"])
def test_the_file_is_named_or_found_upwards(declared, capsys, monkeypatch, tmp_path_factory, how):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    words = {"option": ["--file", declared.file], "option with =": [f"--file={declared.file}"], "environment": []}
    if how == "environment":
        monkeypatch.setenv("CKPT_FILE", str(declared.file))
    assert ckpt(capsys, "show", "orders", *words[how])[0] == 0


def test_a_name_that_is_none_is_told_with_one_that_is_near(declared, capsys):
    assert run(["show", "ordres"]) == 2
    assert f"ordres is no query of {declared.file}, and nothing is there; did you mean orders?" in (
        capsys.readouterr().err
    )


def test_a_file_that_is_broken_ends_the_command_with_its_line(declared, capsys):
    declared("sinc: kafka")
    assert run(["show", "orders"]) == 2
    assert f"{declared.file} line 7, queries.orders.sinc: it is unknown here" in capsys.readouterr().err


def test_without_a_query_file_nothing_changes(declared, capsys):
    declared.file.unlink()
    assert ckpt(capsys, "show", declared.checkpoint)[0] == 0
    assert run(["show", "orders"]) == 3


#: Each command that takes a location, with what else it needs; none is a wrong use, whatever it finds.
EACH = [
    "show orders", "show -- orders", "log orders", "diff orders 5 6", "lag orders", "wait orders --batch 3",
    "check orders", "gate orders", "explain INVALID_LOG_VERSION orders", "fleet orders", "backup orders --dry-run",
    "backups orders", "verify orders", "restore orders latest --to /new", "prune orders --keep-last 1",
    "rollback orders --to-batch 6", "undo orders", "salvage orders", "repartition orders --partitions 3",
    "reset-offsets orders --to-earliest", "fence orders", "sources orders --as a=0", "sources orders", "repair orders",
    "history orders", "export orders --as csv", "seed new --from orders",
]  # fmt: skip


def test_each_command_is_among_them():
    without = {"completion", "mcp", "init", "queries", "publish-offsets"}  # the last asks a broker, and refuses files
    without |= {"status", "stop", "start", "deploy", "hold"}  # these take names alone, of queries with an engine
    assert {words.split()[0] for words in EACH} == set(cli.commands) - without


@pytest.mark.parametrize("words", EACH)
def test_no_declaration_makes_a_command_a_wrong_use(declared, capsys, words):
    declared(
        "sources: ['file:/nowhere']\n    sink: kafka\n    trigger: availableNow\n    operators: [stateStoreSave]\n"
        "    confs: {spark.sql.shuffle.partitions: 2}"
    )
    assert run(words.split()) != 2, capsys.readouterr().err


def test_a_command_that_shows_is_asked_for_no_change_by_the_file(declared, capsys):
    declared("sink: kafka\n    trigger: availableNow")
    code, shown = ckpt(capsys, "sources", "orders")
    assert (code, [source["source_id"] for source in shown["sources"]]) == (0, ["0"])
    assert run(["sources", "orders", "--sink", "kafka"]) == 2
    assert "--sink needs --as NEW=OLD" in capsys.readouterr().err


def test_an_option_that_takes_one_value_is_not_filled_with_two(declared, capsys):
    declared("sources: ['kafka:h:1/a', 'kafka:h:1/b']")
    assert run(["reset-offsets", "orders", "--to-earliest"]) == 2
    assert "give --source ID=TYPE:PLACE" in capsys.readouterr().err


def test_a_given_option_of_storage_wins(declared, capsys):
    declared("sink: kafka\nstorage: {options: {anon: true}}")
    assert ckpt(capsys, "show", "orders", "--storage-option", "anon=false")[0] == 0


@pytest.mark.parametrize("others", [(), ("--kafka-config", "anon=1"), ("--storage-option", "other=1")])
def test_an_option_of_storage_of_the_file_counts_beside_other_options(declared, others):
    declared("sink: kafka\nstorage: {options: {anon: true}}")
    found = with_query(cli.commands["lag"], ["orders", *others], click.Context(cli.commands["lag"]))
    assert found[found.index("anon=true") - 1] == "--storage-option"


def test_a_file_of_confs_wins_over_those_of_the_query_and_a_given_one_over_it(declared, capsys):
    declared("confs: {spark.sql.shuffle.partitions: 7}")
    (declared.file.parent / "spark.conf").write_text("spark.sql.shuffle.partitions 8\n")
    words = ("gate", "orders", "--conf-file", declared.file.parent / "spark.conf")
    for more, value in (((), "8"), (("--conf", "spark.sql.shuffle.partitions=9"), "9")):
        confs = {item["key"]: item["deploy_value"] for item in ckpt(capsys, *words, *more)[1]["confs"]}
        assert confs["spark.sql.shuffle.partitions"] == value
    (declared.file.parent / "deploy.yaml").write_text("sink: console")
    assert run([*map(str, words[:-1]), str(declared.file.parent / "deploy.yaml")]) == 2
    assert "it is YAML, and a spark-defaults.conf is wanted; write its keys under queries" in capsys.readouterr().err


def test_the_gate_judges_all_that_is_declared_and_the_file_of_confs(declared, capsys):
    (declared.file.parent / "spark.conf").write_text("spark.sql.shuffle.partitions 9\n")
    declared("confs_file: spark.conf\n    async_progress: true")
    code, foretold = ckpt(capsys, "gate", "orders")
    assert (code, foretold["decision"]) == (1, "block")
    assert "CKPT201" in {finding["code"] for finding in foretold["findings"]}
    (declared.file.parent / "spark.conf").unlink()
    assert run(["gate", "orders"]) == 2
    assert f"{declared.file.parent}/spark.conf" in capsys.readouterr().err


def test_a_printed_command_of_a_plan_finds_the_records_where_the_file_says(declared, capsys, monkeypatch, tmp_path):
    plan = declared.file.parent / "plan.json"
    planned = ckpt(capsys, "rollback", "orders", "--to-batch", 6, "--plan-out", plan)[1]
    assert f"--file {declared.file}" in planned["apply_command"]
    monkeypatch.chdir(tmp_path.parent)
    assert run([*planned["apply_command"].split()[1:], "--quiet-period", "0"]) == 0
    assert (declared.file.parent / "undo/orders").is_dir()


def test_a_new_location_need_not_be_there(declared, capsys):
    assert run(["seed", "new", "--from", "orders"]) == 4
    assert "the query has state, and a seed has none" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "lag", "show", "log", "gate"])
@pytest.mark.parametrize("source", ["kafka:main/orders", "null", "file", "rate", "delta"])
def test_a_source_that_a_command_cannot_ask_is_left_out(declared, capsys, command, source):
    """Of a file as ``ckpt init`` writes it: a type without a place, a source of no known type, a broker."""
    declared(f"sources: [{source}]\nkafka: {{main: {{bootstrap.servers: 'localhost:1'}}}}")
    code = run([command, "orders", *(["--quick"] if command == "gate" else [])])
    said = capsys.readouterr().err
    assert "is not a source" not in said and "compares tables" not in said and "has no type" not in said
    assert code in ((0, 1, 2, 3, 5, 6) if command == "lag" else (0, 1))
