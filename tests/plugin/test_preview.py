"""The preview as a browser gets it: the whole plan, and a button for those who may start the DAG."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.plugin import make_preview
from airflow_provider_ckpt.storage.store import Store
from tests.plugin.kafka_checkpoints import write_checkpoint
from tests.plugin.pages import asking, text_of

EVIL = "<script>alert(1)</script>\"'\u202e"


@pytest.fixture
def place(tmp_path, configure):
    configure(roots=str(tmp_path), rollback_dag="checkpoint_rollback", reset_dag="")
    return write_checkpoint(tmp_path / "orders", 6)


def preview_of(place, role: str | None = "op", **query):
    return asking(role).get("/ckpt/preview", params={"at": str(place), **query})


def test_a_rollback_shows_every_step_and_what_it_does_to_the_sink(place):
    page = preview_of(place, kind="rollback", to_batch="3", sink="kafka").text
    text = text_of(page)
    assert "The plan: rollback to batch 3" in text and "4 steps" in text
    for name in ("commits/5", "offsets/5", "commits/4", "offsets/4"):
        assert f"delete checkpoint {name}" in text
    assert "Effect on kafka duplicated" in text and "accept by the approval" in text
    assert "The newest committed batch is still 5." in text and f"ckpt undo {place}" in text


def test_the_button_has_the_conf_of_the_run(place):
    page = preview_of(place, to_batch="3").text
    conf = json.loads(unescape(re.search(r'data-conf="([^"]*)"', page)[1]))
    assert (conf["checkpoint"], conf["to_batch"], conf["expected_plan"]["steps"]) == (str(place), 3, 4)
    assert 'data-dag="checkpoint_rollback" data-airflow=""' in page


@pytest.mark.parametrize("name", ["##[error]orders", "o\u202erders", "a##vso[b\"'<i>"])
def test_a_name_that_is_shown_otherwise_is_passed_on_as_it_is(tmp_path, configure, name):
    configure(roots=str(tmp_path), rollback_dag="checkpoint_rollback")
    place = write_checkpoint(tmp_path / name, 6)
    page = preview_of(place, to_batch="3").text
    conf = json.loads(unescape(re.search(r'data-conf="([^"]*)"', page)[1]))
    assert conf["checkpoint"] == str(place)
    assert unescape(re.search(r'name="at" value="([^"]*)"', page)[1]) == str(place)
    assert "\u202e" not in page and "<i>" not in page


@pytest.mark.parametrize(("role", "may"), [("viewer", False), ("user", True), ("op", True), ("admin", True)])
def test_who_may_not_start_the_dag_sees_why(place, role, may):
    page = preview_of(place, role, to_batch="3").text
    assert ("<button disabled" in page) is not may
    assert ("Your role in Airflow may not start runs of checkpoint_rollback" in text_of(page)) is not may


def test_a_fenced_rollback_that_was_interrupted_is_shown(place):
    stores = Stores(Store.open(str(place)))
    put_fence(stores)
    plan = make_rollback(stores, 3, fenced=True)
    with pytest.raises(InterruptedError):
        apply(plan, stores, quiet_s=0, accept_sink="unknown", on_step=stops)
    answer = preview_of(place, to_batch="3")
    text = text_of(answer.text)
    assert answer.status_code == 200 and "The fence offsets/6" in text
    assert all(f"{action.do} checkpoint {action.name}" in text for action in plan.actions)


def stops(done: int, total: int, name: str) -> None:
    raise InterruptedError(name)


def test_without_a_dag_there_is_no_button(place, configure):
    configure(rollback_dag="")
    page = preview_of(place, to_batch="3").text
    assert "start-form" not in page and "No DAG is configured" in text_of(page)


def test_a_plan_of_no_steps_has_no_button(place):
    page = preview_of(place, to_batch="5").text
    assert "start-form" not in page and "The plan has no steps: the checkpoint is there already." in text_of(page)


@pytest.mark.parametrize("kind", ["rollback", "reset"])
def test_without_a_goal_there_is_a_form(place, kind):
    page = preview_of(place, kind=kind).text
    assert 'role="alert"' not in page and "<details open>" in page
    names = re.findall(r'<(?:input|textarea)[^>]* name="(\w+)"', page)
    assert len(re.findall(r"<label", page)) == len(names) - 2, "each has a label, but for the hidden two"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"to_batch": "x"}, "is a whole number"),
        ({"to_batch": "77"}, "77"),
        ({"to_batch": "1", "to_timestamp": EVIL}, "give exactly one of"),
        ({"kind": "reset", "source": EVIL, "to_earliest": "true"}, "the source is ID=TYPE:PLACE"),
        ({"to_batch": "1", "sink": f"file:/{EVIL}"}, "is not below a root"),
        ({"to_backup": EVIL}, "is not below a root"),
    ],
)
def test_a_refusal_is_a_sentence_on_the_page(place, query, said):
    answer = preview_of(place, **query)
    assert answer.status_code == 200 and said in text_of(answer.text)
    assert "<script>alert" not in answer.text and "\u202e" not in answer.text


def test_a_storage_that_does_not_answer_is_a_page(place, monkeypatch):
    def fail(*_):
        raise StoreUnavailableError("the storage does not answer", location=str(place))

    monkeypatch.setattr(make_preview, "list_both", fail)
    answer = preview_of(place, to_batch="1")
    assert answer.status_code == 503 and "the storage does not answer" in text_of(answer.text)


def test_nobody_sees_what_is_not_below_the_roots(place):
    assert preview_of(place, None).status_code == 401
    assert preview_of("/etc", to_batch="1").status_code == 404
    assert preview_of(place, kind="drop").status_code == 422
