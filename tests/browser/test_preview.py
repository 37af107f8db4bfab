"""A rollback from the page in a real Airflow: previewed, started, approved by a person, carried out, and seen."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import expect

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.browser.contrast import poor_contrast
from tests.browser.photographs import photograph

DAG = "checkpoint_rollback"


@pytest.fixture
def payments(lake, stack, request) -> Path:
    """A checkpoint of a test of its own."""
    place = lake.own / re.sub(r"\W", "-", request.node.name)
    shutil.copytree(lake.source, place)
    stack.wait_for(f"the DAG {DAG}", lambda: stack.has_dag(DAG))
    return place


def newest(place: Path) -> int:
    """The newest committed batch."""
    batch = observe(Store.open(str(place))).latest_committed
    assert batch is not None
    return batch


def preview_of(person, place: Path, **asked: object):
    """Open the preview by the link that an approval has, and give its frame."""
    query = urlencode({"kind": "rollback", "at": str(place), **asked}, quote_via=quote)
    person.open(f"plugin/checkpoints?{query}")
    expect(person.frame.get_by_role("heading", name="Preview of a rollback")).to_be_visible()
    return person.frame


def started(stack, before: int) -> str:
    """The run that was started; each test starts one."""
    runs = stack.wait_for("a new run", lambda: (found := stack.runs(DAG)) and len(found) > before and found)
    return runs[-1]["dag_run_id"]


def required_action(person, place: Path):
    """Open what waits for a person about one checkpoint, as somebody does who was told of it."""
    page = person.open("required_actions")
    page.get_by_role("link", name=f"Roll back {place}").first.click()
    expect(page.get_by_text("Approve only when the query is stopped.")).to_be_visible()
    return page


def test_a_viewer_previews_and_may_not_start(somebody, payments):
    person = somebody("viewer")
    person.open(f"plugin/checkpoints?at={quote(str(payments), safe='')}")
    frame = person.frame
    frame.get_by_role("link", name="Preview a rollback", exact=True).click()
    frame.get_by_label("Keep batches up to").fill(str(newest(payments) - 2))
    frame.get_by_role("button", name="Make the plan").click()
    expect(frame.get_by_role("heading", name=re.compile("The plan: rollback to batch"))).to_be_visible()
    expect(frame.get_by_role("row").filter(has_text=f"commits/{newest(payments)}").first).to_be_visible()
    expect(frame.get_by_role("button", name="Start the DAG")).to_be_disabled()
    expect(frame.get_by_text(f"Your role in Airflow may not start runs of {DAG}.")).to_be_visible()


def test_airflow_refuses_who_may_not_whatever_the_page_says(somebody, payments):
    person = somebody("viewer")
    frame = preview_of(person, payments, to_batch=newest(payments) - 1)
    person.of_pages().evaluate(
        "for (const at of document.querySelectorAll('[disabled]')) at.removeAttribute('disabled')"
    )
    frame.get_by_role("button", name="Start the DAG").click()
    expect(frame.get_by_role("status").last).to_contain_text(
        "Airflow did not start the DAG (403): your role may not start it"
    )
    person.complaints.clear()  # the browser names the answer 403, which was wanted


def test_an_operator_starts_it_approves_it_and_sees_it_done(somebody, stack, payments):
    target, before = newest(payments) - 2, len(stack.runs(DAG))
    person = somebody("op")
    frame = preview_of(person, payments, to_batch=target, sink="kafka")
    expect(frame.get_by_text("duplicated").first).to_be_visible()
    frame.get_by_role("button", name="Start the DAG").click()
    expect(frame.get_by_role("status").last).to_contain_text("The DAG was started.")
    run_id = started(stack, before)
    stack.wait_for_task(DAG, run_id, "plan", "success")
    stack.wait_for_task(DAG, run_id, "approve", "awaiting_input", "deferred")
    page = person.page
    frame.get_by_role("link", name="Show its run").click()
    expect(page).to_have_url(re.compile(f"/dags/{DAG}/runs/"))
    page = required_action(person, payments)
    expect(page.get_by_text("To approve is to accept that.")).to_be_visible()
    link = page.get_by_role("link", name="Show every step")
    expect(link).to_have_attribute("href", re.compile("plugin/checkpoints\\?kind=rollback"))
    page.get_by_role("button", name="Approve", exact=True).click()
    for task, state in {"rollback": "success", "restart": "skipped", "wait": "skipped"}.items():
        stack.wait_for_task(DAG, run_id, task, state)
    assert newest(payments) == target
    person.open(f"plugin/checkpoints?at={quote(str(payments), safe='')}")
    expect(person.frame.get_by_text(f"rollback to batch {target}").first).to_be_visible()
    expect(person.frame.get_by_text("approved by op")).to_be_visible()


def test_the_link_in_the_approval_leads_to_the_preview(somebody, stack, payments):
    run_id = stack.trigger(DAG, checkpoint=str(payments), to_batch=newest(payments) - 1, sink="kafka")
    stack.wait_for_task(DAG, run_id, "approve", "awaiting_input", "deferred")
    person = somebody("op")
    link = required_action(person, payments).get_by_role("link", name="Show every step")
    person.page.goto(link.evaluate("link => link.href"))  # as the browser reads it, which may open it in another tab
    expect(person.frame.get_by_role("heading", name="Preview of a rollback")).to_be_visible()
    expect(person.frame.get_by_role("row").filter(has_text=f"commits/{newest(payments)}").first).to_be_visible()
    required_action(person, payments).get_by_role("button", name="Reject", exact=True).click()
    stack.wait_for_task(DAG, run_id, "rollback", "skipped")


def test_a_plan_that_is_no_longer_the_same_is_refused(somebody, stack, payments):
    last, before = newest(payments), len(stack.runs(DAG))
    frame = preview_of(somebody("op"), payments, to_batch=last - 1)
    (payments / "commits" / str(last)).unlink()  # somebody else has changed it since
    frame.get_by_role("button", name="Start the DAG").click()
    expect(frame.get_by_role("status").last).to_contain_text("The DAG was started.")
    run_id = started(stack, before)
    stack.wait_for_task(DAG, run_id, "plan", "failed")
    logs = stack.get(f"/dags/{DAG}/dagRuns/{quote(run_id, safe='')}/taskInstances/plan/logs/1?full_content=true")
    assert f"the newest committed batch was {last} in the preview, and is {last - 1} now" in str(logs)
    assert newest(payments) == last - 1


@pytest.mark.parametrize("dark", [False, True])
def test_what_the_docs_show(somebody, lake, photographs, dark):
    """Photographs for the docs; with CKPT_RECORD=1 they are kept, and a person looks at them."""
    place, theme = lake.roots / "team" / "orders", "dark" if dark else "light"
    person = somebody("op", dark=dark)
    person.open(f"plugin/checkpoints?at={quote(str(place), safe='')}")
    expect(person.frame.get_by_role("heading", name="Timeline")).to_be_visible()
    assert poor_contrast(person) == []
    photograph(person, lake.place, photographs / f"checkpoint-{theme}.png", height=860)
    preview_of(person, place, to_batch=newest(place) - 2, sink="kafka")
    expect(person.frame.get_by_role("heading", name="Carry it out")).to_be_visible()
    assert poor_contrast(person) == []
    photograph(person, lake.place, photographs / f"preview-{theme}.png", height=800)
