"""``--accept-sink``, ``--plan-out`` and ``--plan``: nothing is carried out that nobody has seen, or that loses rows unsaid."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.plan.acceptance import require_accepted
from airflow_provider_ckpt.change.plan.file import MOST_BYTES
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.storage.store import Store
from tests.change.plans import ROLLBACK as ROLLBACK_PLAN
from tests.fake_query import FakeQuery, read_all

STOPPED = ["--i-know-it-is-stopped", "--quiet-period", "0"]
DO_IT = ["--execute", *STOPPED]
ANY = [word for effect in ("duplicated", "skipped", "unknown") for word in ("--accept-sink", effect)]


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Eight batches, 0 to 7, and a backup of the last."""
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(8):
        query.commit(batch_id)
    take_backup(query.store, Store.open(str(tmp_path / "backups")))
    return query


def ckpt(capsys, *arguments: object) -> tuple[int, dict[str, Any]]:
    code = run([*map(str, arguments), "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


def refused(capsys, *arguments: object) -> dict[str, Any]:
    """The error of a command that is refused."""
    code, said = ckpt(capsys, *arguments)
    assert code == 4, said
    return said["error"]


# --- effects on sinks ------------------------------------------------------------------------------------------------

ROLLBACK = ["--to-batch", 5]
EFFECTS = {
    "nothing declared": ([], "unknown"),
    "foreachBatch": (["--sink", "foreachBatch"], "unknown"),
    "kafka": (["--sink", "kafka:orders"], "duplicated"),
    "noop": (["--sink", "noop"], "exact"),
}


def test_the_password_of_a_sink_is_in_no_plan_and_no_record(query, capsys, tmp_path):
    rollback = ["rollback", query.store.location, *ROLLBACK, "--sink", "kafka:u:hunter22@h:9092"]
    out = ["--plan-out", str(tmp_path / "plan.json")]
    for more in (out, [*DO_IT, "--accept-sink", "duplicated"]):
        code, said = ckpt(capsys, *rollback, *more)
        assert code == 0 and "kafka:u@h:9092" in str(said) and "hunter22" not in str(said)
    written = [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert len(written) > 3 and not any(b"hunter22" in data for data in written)


@pytest.mark.parametrize(("options", "effect"), EFFECTS.values(), ids=EFFECTS)
def test_a_rollback_that_is_not_exact_is_refused_until_its_effect_is_accepted(query, capsys, options, effect):
    rollback = ["rollback", query.store.location, *ROLLBACK, *options]
    code, planned = ckpt(capsys, *rollback)
    assert code == 0 and list(planned).index("sink_effect") <= 1 and planned["sink_effect"] == effect
    if effect != "exact":
        for accepted in ([], ["exact"], [other for other in ("duplicated", "skipped", "unknown") if other != effect]):
            others = [word for item in accepted for word in ("--accept-sink", item)]
            error = refused(capsys, *rollback, *DO_IT, *others)
            assert error["code"] == "PLAN_REFUSED" and f"is {effect}" in error["message"]
            assert f"--accept-sink {effect}" in error["hint"] and read_all(query.store) == query.files
    code, _ = ckpt(capsys, *rollback, *DO_IT, "--accept-sink", effect)
    (change,) = ckpt(capsys, "history", query.store.location)[1]["changes"]
    assert code == 0 and change["accepted_sink"] == ([] if effect == "exact" else [effect])


@pytest.mark.parametrize("accepted", [(), ("duplicated",), ("unknown",), ("skipped", "unknown")])
def test_of_several_sinks_each_effect_has_to_be_accepted(accepted):
    """Whoever accepts the worst effect has not accepted another one with it."""
    effects = tuple(SinkEffect(f"kafka:{effect}", effect, "why") for effect in ("exact", "duplicated", "unknown"))
    plan = replace(ROLLBACK_PLAN, effects=effects)
    with pytest.raises(PlanError) as error:
        require_accepted(plan, accepted)
    asked_for = {effect for effect in plan.to_accept if f"--accept-sink {effect}" in str(error.value.hint)}
    assert asked_for == {"duplicated", "unknown"} - {*accepted}
    assert require_accepted(plan, "duplicated unknown") == ("duplicated", "unknown")


def test_a_file_sink_that_would_lose_rows_is_refused_and_the_trim_is_the_remedy(golden_home, capsys):
    home = golden_home("file-to-parquet-5")
    rollback = ["rollback", home / "checkpoint", "--to-batch", 2, "--sink", f"file:{home / 'output'}", *DO_IT]
    error = refused(capsys, *rollback)
    assert "is skipped: its log goes up to batch 4" in error["message"] and "--trim-sink-log" in error["hint"]
    assert ckpt(capsys, *rollback, "--trim-sink-log")[0] == 0, "exact needs nothing"


def test_an_effect_that_there_is_not_is_a_usage_error(query):
    assert run(["rollback", query.store.location, "--to-batch", "5", "--accept-sink", "lost"]) == 2


def test_a_restore_says_what_it_does_to_the_sink(query, tmp_path, capsys):
    restore = ["restore", tmp_path / "backups", "latest", "--to", tmp_path / "new"]
    assert "not declared, is unknown" in refused(capsys, *restore, "--execute")["message"]
    assert not (tmp_path / "new").exists()
    assert ckpt(capsys, *restore, "--execute", "--accept-sink", "unknown")[0] == 0
    (change,) = ckpt(capsys, "history", tmp_path / "new")[1]["changes"]
    assert change["accepted_sink"] == ["unknown"]


def test_an_undo_is_exact_while_nothing_has_run_since(query, capsys):
    where = query.store.location
    assert ckpt(capsys, "rollback", where, *ROLLBACK, *DO_IT, "--accept-sink", "unknown")[0] == 0
    code, planned = ckpt(capsys, "undo", where)
    assert code == 0 and planned["sink_effect"] == "exact" and planned["accept_sink"] == []
    query.commit(6, "b")
    assert ckpt(capsys, "undo", where)[1]["sink_effect"] == "unknown"
    assert refused(capsys, "undo", where, *DO_IT)["code"] == "PLAN_REFUSED"
    assert ckpt(capsys, "undo", where, *DO_IT, "--accept-sink", "unknown")[0] == 0


def test_a_plan_of_no_steps_needs_no_acceptance_and_says_so(query, capsys):
    assert run(["rollback", query.store.location, "--to-batch", "7", *DO_IT]) == 0
    out = capsys.readouterr().out
    assert "0 steps" in out and "Nothing was changed" in out
    assert run(["rollback", query.store.location, "--to-batch", "7"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("is at batch 7 already.")


# --- plan files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def planned(query, tmp_path, capsys) -> Path:
    """The plan of a rollback to batch 5, in a file, of a checkpoint with a file that nobody knows."""
    query._write("_schema_log_7/0", b"v1")
    path = tmp_path / "plan.json"
    assert ckpt(capsys, "rollback", query.store.location, *ROLLBACK, "--sink", "kafka", "--plan-out", path)[0] == 0
    assert read_all(query.store) == query.files
    return path


def edit(path: Path, change: Callable[[dict[str, Any]], object], *, sign: bool = True) -> None:
    """Change the plan in a file; signed, its id fits the new content."""
    document = json.loads(path.read_text())
    change(document["plan"])
    if sign:
        document["plan_id"] = plan_from_dict(document["plan"]).plan_id
    path.write_text(json.dumps(document))


def test_the_plan_that_was_written_is_the_one_that_runs(query, planned, capsys):
    document = json.loads(planned.read_text())
    assert (document["format_version"], document["sink_effect"]) == (1, "duplicated")
    code, shown = ckpt(capsys, "rollback", query.store.location, "--plan", planned)
    assert code == 0 and shown["plan"]["plan_id"] == document["plan_id"] and read_all(query.store) == query.files
    apply = ["rollback", query.store.location, "--plan", planned, *DO_IT, "--accept-sink", "duplicated"]
    code, done = ckpt(capsys, *apply)
    assert code == 0 and done["receipt"]["plan_id"] == document["plan_id"]
    assert observe(query.store).latest_committed == 5
    assert ckpt(capsys, *apply)[1]["receipt"]["status"] == "already_applied", "a second time does nothing"


def test_the_last_line_of_a_plan_is_the_command_that_carries_it_out(query, tmp_path, capsys):
    secret = ["--storage-option", "auto_mkdir=true"]
    rollback = ["rollback", query.store.location, "--to-batch", "5", "--sink", "kafka", *secret]
    assert run([*rollback, "--plan-out", str(tmp_path / "plan.json")]) == 0
    command, *arguments = shlex.split(capsys.readouterr().out.rstrip().splitlines()[-1])
    assert command == "ckpt" and arguments[2] == "--plan" and "--to-batch" not in arguments
    assert run([*arguments, "--quiet-period", "0"]) == 0
    assert observe(query.store).latest_committed == 5
    assert run(["undo", query.store.location]) == 0
    assert run([*shlex.split(capsys.readouterr().out.rstrip().splitlines()[-1])[1:], "--quiet-period", "0"]) == 0
    assert read_all(query.store) == query.files


def test_the_next_command_shows_no_secret(query, capsys):
    assert run(["rollback", query.store.location, "--to-batch", "5", "--storage-option", "secret=hunter2hunter2"]) in (
        0,
        3,
    )
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err


def test_a_plan_file_is_written_once_and_not_executed_at_once(query, planned, capsys):
    rollback = ["rollback", query.store.location, *ROLLBACK, "--plan-out", planned]
    before = planned.read_bytes()
    code, said = ckpt(capsys, *rollback)
    assert code == 2 and "exists already" in said["error"]["message"] and planned.read_bytes() == before
    assert ckpt(capsys, *rollback, *DO_IT)[0] == 2


@pytest.mark.parametrize(
    "options",
    [["--to-batch", "0"], ["--sink", "kafka"], ["--trim-sink-log"], ["--to-backup", "r/i"], ["--source", "0=x"]],
)
def test_a_plan_file_says_everything(query, planned, options):
    assert run(["rollback", query.store.location, "--plan", str(planned), *options]) == 2


def test_undo_and_restore_take_plans_as_well(query, tmp_path, capsys):
    where, path = query.store.location, tmp_path / "undo.json"
    assert ckpt(capsys, "rollback", where, *ROLLBACK, *DO_IT, "--accept-sink", "unknown")[0] == 0
    assert ckpt(capsys, "undo", where, "--plan-out", path)[0] == 0
    assert ckpt(capsys, "undo", where, "--plan", path, *DO_IT)[0] == 0 and read_all(query.store) == query.files
    path, new = tmp_path / "restore.json", tmp_path / "new"
    restore = ["restore", tmp_path / "backups"]
    assert ckpt(capsys, *restore, "latest", "--to", new, "--new-query-id", "--plan-out", path)[0] == 0
    plan = json.loads(path.read_text())["plan"]
    apply = [*restore, "--to", new, "--plan", path, "--execute", "--accept-sink", "unknown"]
    assert ckpt(capsys, *apply)[0] == 0
    assert observe(Store.open(str(new))).query_id == plan["query_id"] != observe(query.store).query_id
    assert ckpt(capsys, *restore, "latest", "--plan", path, "--to", new)[0] == 2
    assert "not to this location" in refused(capsys, *restore, "--to", tmp_path / "x", *apply[4:])["message"]


@pytest.mark.parametrize("options", [[], DO_IT], ids=["shown", "carried out"])
def test_a_plan_of_another_checkpoint_is_refused_and_nothing_is_written(query, planned, tmp_path, capsys, options):
    restored = str(tmp_path / "new")
    restore = ["restore", tmp_path / "backups", "--plan", tmp_path / "restore.json", "--to"]
    assert ckpt(capsys, *restore[:2], "--to", restored, "--plan-out", tmp_path / "restore.json")[0] == 0
    assert ckpt(capsys, "rollback", query.store.location, *ROLLBACK, *DO_IT, "--accept-sink", "unknown")[0] == 0
    assert ckpt(capsys, "undo", query.store.location, "--plan-out", tmp_path / "undo.json")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = FakeQuery(Store.open(str(elsewhere / "orders")))
    for batch_id in range(8):
        other.commit(batch_id)
    for command, path in {"rollback": planned, "undo": tmp_path / "undo.json"}.items():
        error = refused(capsys, command, other.store.location, "--plan", path, *options)
        assert "not of this location" in error["message"]
    execute = options[:1]
    assert "not to this location" in refused(capsys, *restore, elsewhere / "new", *execute)["message"]
    assert [path.name for path in elsewhere.iterdir()] == ["orders"] and read_all(other.store) == other.files


def change_document(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def enlarge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(200 << 20)


NO_PLANS = {
    "cut off": (truncate, "cut off"),
    "200 MB": (enlarge, f"larger than {MOST_BYTES:,} bytes"),
    "edited": (lambda path: edit(path, lambda plan: plan.update(batch_id=4), sign=False), "was edited"),
    "with another effect": (lambda path: change_document(path, accept_sink=[]), "is not the one in the plan"),
    "with a better effect": (lambda path: change_document(path, sink_effect="exact"), "is not the one in the plan"),
    "of another kind": (lambda path: edit(path, lambda plan: None), None),
    "not a plan": (lambda path: path.write_text('{"a": 1}'), "does not have the keys format_version"),
    "deep": (lambda path: path.write_text("[" * 100_000), "its JSON cannot be read"),
    "of a later version": (
        lambda path: path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 2')),
        "reads version 1",
    ),
}


@pytest.mark.parametrize(("spoil", "says"), NO_PLANS.values(), ids=NO_PLANS)
def test_what_is_no_plan_file_is_refused_by_one_sentence(query, planned, capsys, spoil, says):
    spoil(planned)
    command = "undo" if says is None else "rollback"
    error = refused(capsys, command, query.store.location, "--plan", planned, *DO_IT, "--accept-sink", "duplicated")
    assert (says or "is the plan of a rollback, not of an undo") in error["message"]
    assert error["location"] == str(planned) and read_all(query.store) == query.files


def test_a_plan_file_that_is_not_there(query, tmp_path, capsys):
    assert ckpt(capsys, "rollback", query.store.location, "--plan", tmp_path / "none.json")[0] == 3


# --- attacks ---------------------------------------------------------------------------------------------------------


def first(plan: dict[str, Any]) -> dict[str, Any]:
    return plan["actions"][0]


def without(plan: dict[str, Any], kind: str) -> None:
    plan["requirements"] = [item for item in plan["requirements"] if item["kind"] != kind]


EDITS = {
    "a file that nobody knows is to be deleted": lambda plan: first(plan).update(name="_schema_log_7/0"),
    "a name that leads out": lambda plan: first(plan).update(name="../other/offsets/7"),
    "an absolute name": lambda plan: first(plan).update(name="/etc/passwd"),
    "a kept batch is to be deleted": lambda plan: first(plan).update(name="commits/5"),
    "a step is left out": lambda plan: plan["actions"].pop(),
    "the order is another one": lambda plan: plan["actions"].reverse(),
    "another batch": lambda plan: plan.update(batch_id=4),
    "another query": lambda plan: plan.update(query_id="00000000-0000-4000-8000-000000000000"),
    "another location": lambda plan: plan.update(location="/somewhere/else"),
    "an effect that is said to be exact": lambda plan: plan["verdicts"][0].update(verdict="exact"),
    "no sink": lambda plan: plan.update(verdicts=[]),
    "a sink log that is to be trimmed": lambda plan: plan.update(sink="/lake/orders"),
    "what is kept may change": lambda plan: without(plan, "kept_objects"),
    "the word about the writer": lambda plan: without(plan, "writer_stopped"),
    "a requirement that there is not": lambda plan: plan["requirements"].append({"kind": "any", "expected": ""}),
    "the newest batch": lambda plan: without(plan, "latest_committed"),
    "files from a backup": lambda plan: plan.update(source="/backups"),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_an_edited_plan_is_refused_whatever_its_id(query, planned, capsys, change):
    kept = read_all(query.store)
    document = json.loads(planned.read_text())
    change(document["plan"])
    planned.write_text(json.dumps(document))
    apply = ["rollback", query.store.location, "--plan", planned, *DO_IT]
    accept = [word for effect in ("duplicated", "skipped", "unknown") for word in ("--accept-sink", effect)]
    assert run([*map(str, [*apply, *accept])]) == 4
    try:
        document["plan_id"] = plan_from_dict(document["plan"]).plan_id
    except Exception:  # it has no id, so nobody can sign it
        document["plan_id"] = "0" * 16
    planned.write_text(json.dumps(document))
    assert run([*map(str, [*apply, *accept])]) == 4
    capsys.readouterr()
    assert read_all(query.store) == kept


@pytest.mark.parametrize("kind", ["latest_committed", "latest_planned"])
def test_a_plan_of_an_undo_that_requires_less_is_refused(query, tmp_path, capsys, kind):
    where, path = query.store.location, tmp_path / "undo.json"
    assert ckpt(capsys, "rollback", where, *ROLLBACK, *DO_IT, "--accept-sink", "unknown")[0] == 0
    assert ckpt(capsys, "undo", where, "--plan-out", path)[0] == 0
    kept = read_all(query.store)
    edit(path, lambda plan: without(plan, kind))
    error = refused(capsys, "undo", where, "--plan", path, *DO_IT)
    assert error["code"] == "STALE_PLAN" and "the plan has other requirements" in error["message"]
    assert read_all(query.store) == kept


def test_of_two_plans_that_two_people_approved_the_second_is_refused(query, planned, tmp_path, capsys):
    other = tmp_path / "other.json"
    assert (
        ckpt(capsys, "rollback", query.store.location, "--to-batch", 6, "--sink", "kafka", "--plan-out", other)[0] == 0
    )
    apply = [*DO_IT, "--accept-sink", "duplicated"]
    assert ckpt(capsys, "rollback", query.store.location, "--plan", planned, *apply)[0] == 0
    kept = read_all(query.store)
    assert refused(capsys, "rollback", query.store.location, "--plan", other, *apply)["code"] == "STALE_PLAN"
    assert read_all(query.store) == kept


def test_a_plan_is_for_the_location_that_it_was_made_for(query, planned, tmp_path, capsys):
    """A copy with the same batches is another checkpoint; a link is the same one."""
    link = tmp_path / "link"
    link.symlink_to(query.store.location)
    apply = ["--plan", planned, *DO_IT, "--accept-sink", "duplicated"]
    other = FakeQuery(Store.open(str(tmp_path / "elsewhere" / "orders")))
    for batch_id in range(8):
        other.commit(batch_id)
    assert refused(capsys, "rollback", other.store.location, *apply)["code"] in ("PLAN_REFUSED", "STALE_PLAN")
    assert read_all(query.store) == query.files and read_all(other.store) == other.files
    assert ckpt(capsys, "rollback", link, *apply)[0] == 0 and observe(query.store).latest_committed == 5


def test_a_plan_is_refused_when_the_query_has_run_since(query, planned, capsys):
    query.commit(8)
    apply = ["rollback", query.store.location, "--plan", planned, *DO_IT, "--accept-sink", "duplicated"]
    assert refused(capsys, *apply)["code"] == "STALE_PLAN" and read_all(query.store) == query.files


def test_a_plan_is_refused_when_the_sink_has_changed_since(golden_home, tmp_path, capsys):
    home, path = golden_home("file-to-parquet-5"), tmp_path / "plan.json"
    where = ["rollback", home / "checkpoint"]
    sink = ["--sink", f"file:{home / 'output'}"]
    assert ckpt(capsys, *where, "--to-batch", 2, *sink, "--trim-sink-log", "--plan-out", path)[0] == 0
    (home / "output" / "_spark_metadata" / "5").write_text("v1")
    assert refused(capsys, *where, "--plan", path, *DO_IT)["code"] in ("STALE_PLAN", "PLAN_REFUSED")
    assert observe(Store.open(str(home / "checkpoint"))).latest_committed == 4


def test_the_log_of_another_sink_is_not_trimmed_by_an_edit(golden_home, tmp_path, capsys):
    home, path, other = golden_home("file-to-parquet-5"), tmp_path / "plan.json", tmp_path / "other"
    where = ["rollback", home / "checkpoint"]
    sink = ["--sink", f"file:{home / 'output'}"]
    assert ckpt(capsys, *where, "--to-batch", 2, *sink, "--trim-sink-log", "--plan-out", path)[0] == 0
    (other / "_spark_metadata").mkdir(parents=True)
    for batch in range(5):
        (other / "_spark_metadata" / str(batch)).write_text("v1")
    edit(path, lambda plan: (plan.update(sink=str(other)), plan["verdicts"][0].update(sink=f"file:{other}")))
    assert refused(capsys, *where, "--plan", path, *DO_IT)["code"] == "STALE_PLAN"
    assert len(list((other / "_spark_metadata").iterdir())) == 5


RESTORE_EDITS = {
    "another file": lambda plan: first(plan).update(name="notes.txt"),
    "another place in the root": lambda plan: first(plan).update(source="other/secret"),
    "a name that leads out": lambda plan: first(plan).update(name="../x"),
    "a file is left out": lambda plan: plan["actions"].pop(),
    "every file is left out": lambda plan: plan.update(actions=[]),
    "a file more": lambda plan: plan["actions"].append({**first(plan), "name": "sources/0/9"}),
    "another content": lambda plan: plan["actions"].append(
        {
            "do": "create",
            "name": "x",
            "place": "checkpoint",
            "size": 1,
            "data": "y",
            "identity": "",
            "sha256": "",
            "source": "",
        }
    ),
    "another batch": lambda plan: plan.update(batch_id=1),
    "another effect": lambda plan: plan["verdicts"][0].update(verdict="exact"),
    "another backup": lambda plan: plan["requirements"][1].update(expected="none"),
    "no backup": lambda plan: plan["requirements"].pop(),
}


@pytest.mark.parametrize("change", RESTORE_EDITS.values(), ids=RESTORE_EDITS)
def test_an_edited_plan_of_a_restore_is_refused(query, tmp_path, capsys, change):
    path, new = tmp_path / "plan.json", tmp_path / "new"
    restore = ["restore", tmp_path / "backups"]
    assert ckpt(capsys, *restore, "latest", "--to", new, "--plan-out", path)[0] == 0
    document = json.loads(path.read_text())
    change(document["plan"])
    try:
        document["plan_id"] = plan_from_dict(document["plan"]).plan_id
    except Exception:  # as above
        document["plan_id"] = "0" * 16
    path.write_text(json.dumps(document))
    accept = ["--execute", "--accept-sink", "unknown"]
    assert run([*map(str, [*restore, "--to", new, "--plan", path, *accept])]) in (3, 4)
    capsys.readouterr()
    assert not new.exists()


def test_the_person_who_approved_is_recorded_and_shown(query, planned, tmp_path, capsys):
    where, approved = query.store.location, ("--approved-by", "ben")
    rollback = ["rollback", where, "--plan", planned, *DO_IT]
    assert ckpt(capsys, *rollback, *ANY, *approved)[0] == 0
    assert ckpt(capsys, "undo", where, *DO_IT, *ANY, "--approved-by", "eve")[0] == 0
    restore = ["restore", tmp_path / "backups", "latest", "--to", tmp_path / "new", "--sink", "noop", "--execute"]
    assert ckpt(capsys, *restore, "--approved-by", "kim")[0] == 0
    assert [change["approved_by"] for change in ckpt(capsys, "history", where)[1]["changes"]] == ["ben", "eve"]
    assert [change["approved_by"] for change in ckpt(capsys, "history", tmp_path / "new")[1]["changes"]] == ["kim"]
    assert run(["history", where]) == 0
    shown = capsys.readouterr().out
    assert "approved by" in shown and "ben" in shown and "eve" in shown
