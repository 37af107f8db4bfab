"""The pages in a real browser, inside Airflow's frame: who sees what, and that the frame behaves."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.storage.store import Store
from tests.browser.contrast import poor_contrast
from tests.browser.lake import HOSTILE, safe
from tests.browser.photographs import photograph
from tests.browser.stack import SUB_PATH, BelowSubPath
from tests.chromium import log_in


def test_nobody_gets_a_page_and_logs_in_to_it(somebody):
    person = somebody(None)
    page = person.open("ckpt/")
    expect(page.get_by_role("alert")).to_have_text("You are not logged in to Airflow, or no longer.")
    page.get_by_role("link", name="Log in to Airflow").click()
    log_in(page, "viewer", "viewer")
    person.open("plugin/checkpoints")
    expect(person.frame.get_by_role("heading", name="Checkpoints", exact=True)).to_be_visible()
    person.complaints.clear()  # the browser names the answer 401, which was wanted


def test_a_viewer_finds_a_damaged_checkpoint(somebody, lake):
    person = somebody("viewer")
    page = person.open("")
    page.get_by_role("button", name="Browse").or_(page.get_by_text("Browse", exact=True)).first.click()
    page.get_by_role("menuitem", name="Checkpoints").or_(page.get_by_role("link", name="Checkpoints")).first.click()
    expect(page).to_have_url(re.compile("/plugin/checkpoints"))
    frame = person.frame
    rows = frame.locator("tbody tr")
    expect(rows).to_have_count(3 + len(HOSTILE))
    expect(rows.first).to_contain_text("team/damaged")  # the worst comes first
    expect(frame.locator("body")).not_to_contain_text("secret/orders")
    frame.get_by_role("searchbox").fill("team/")
    frame.get_by_label("Worst finding").select_option("error")
    frame.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(1)
    rows.first.get_by_role("link").first.click()
    expect(frame.get_by_role("heading", level=1)).to_contain_text("team/damaged")
    expect(frame.get_by_text("CKPT102").first).to_be_visible()
    frame.get_by_role("link", name="All checkpoints").click()
    expect(rows).to_have_count(3 + len(HOSTILE))


def test_a_link_from_anywhere_opens_the_checkpoint_in_the_frame(somebody, lake):
    person = somebody("viewer")
    person.open(f"plugin/checkpoints?at={quote(str(lake.roots / 'team' / 'orders'), safe='')}")
    expect(person.frame.get_by_role("heading", level=1)).to_contain_text("team/orders")
    person.frame.get_by_role("link", name="All checkpoints").click()  # and does not come back at once
    expect(person.frame.get_by_role("heading", name="Checkpoints", exact=True)).to_be_visible()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_on_every_page(somebody, lake, name):
    person = somebody("viewer")
    location = f"{lake.roots}/hostile/{safe(name)}"
    for address in ("plugin/checkpoints", f"plugin/checkpoints?at={quote(location, safe='')}"):
        person.open(address)
        expect(person.frame.get_by_role("heading", level=1)).to_be_visible()
        assert person.page.evaluate("window.hurt") is None and person.of_pages().evaluate("window.hurt") is None
        shown = person.of_pages().evaluate("document.body.innerText")
        assert "\u202e" not in shown and ("\u202e" in name or safe(name) in shown)
    if "\u202e" not in name:
        expect(person.frame.get_by_role("heading", level=1)).to_contain_text(safe(name))


@pytest.mark.parametrize("where", ["secret/orders", "roots/../secret/orders", "nothing/there", "roots-evil/x"])
def test_outside_of_the_roots_every_answer_is_the_same(somebody, lake, where):
    person = somebody("admin")
    person.open(f"plugin/checkpoints?at={quote(f'{lake.place}/{where}', safe='')}")
    expect(person.frame.get_by_role("alert")).to_have_text("There is no such page, or it is not for you to see.")
    person.complaints.clear()  # the browser names the answer 404, which was wanted


def test_the_pages_are_light_or_dark_as_airflow_is(somebody):
    person = somebody("viewer", dark=True)
    page = person.open("plugin/checkpoints")
    expect(person.frame.get_by_role("heading", level=1)).to_be_visible()
    own = person.of_pages()
    assert own.evaluate("document.documentElement.dataset.theme") == "dark"
    page.evaluate("document.documentElement.classList.replace('dark', 'light')")
    own.wait_for_function("document.documentElement.dataset.theme === 'light'")


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_in_both_themes(somebody, dark):
    """WCAG AA: 4.5:1 for every colour of text on the page that is shown."""
    person = somebody("viewer", dark=dark)
    person.open("plugin/checkpoints")
    expect(person.frame.locator("tbody tr").first).to_be_visible()
    assert poor_contrast(person) == []


def test_the_keyboard_is_enough(somebody):
    person = somebody("viewer")
    page = person.open("ckpt/?all")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_id("content")
    head = page.get_by_role("columnheader", name="delay").get_by_role("link")
    head.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="delay")).to_have_attribute("aria-sort", "descending")
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", "focus can be seen"
        if page.evaluate("document.activeElement.closest('tbody') !== null"):
            break
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/ckpt/checkpoint"))


def test_a_task_has_a_tab_with_its_checkpoint(somebody, stack, lake):
    run_id = stack.trigger("pages")
    stack.wait_for_task("pages", run_id, "check", "success")
    stack.wait_for_task("pages", run_id, "hello", "success")
    person = somebody("viewer")
    page = person.open(f"dags/pages/runs/{quote(run_id, safe='')}/tasks/check")
    page.get_by_role("link", name="Checkpoint", exact=True).or_(
        page.get_by_role("tab", name="Checkpoint", exact=True)
    ).first.click()
    expect(person.frame.get_by_role("heading", level=2)).to_contain_text("team/orders")
    expect(person.frame.get_by_text("newest committed batch")).to_be_visible()
    person.frame.get_by_role("link", name="Timeline, offsets, findings").click()
    expect(page).to_have_url(re.compile("/plugin/checkpoints"))
    expect(person.frame.get_by_role("heading", level=1)).to_contain_text("team/orders")
    page = person.open(f"dags/pages/runs/{quote(run_id, safe='')}/tasks/hello")
    page.get_by_role("link", name="Checkpoint", exact=True).or_(
        page.get_by_role("tab", name="Checkpoint", exact=True)
    ).first.click()
    expect(person.frame.get_by_text("This task was given no checkpoint")).to_be_visible()


def test_the_dag_writes_the_index_by_itself(stack, lake):
    stack.wait_for("a run of the DAG", lambda: stack.has_dag("checkpoint_index") and stack.runs("checkpoint_index"))
    run_id = stack.runs("checkpoint_index")[0]["dag_run_id"]
    stack.wait_for_task("checkpoint_index", run_id, "write_index", "success")
    index = IndexReader().read(Store.open(str(lake.place / "index-of-dag")))
    (orders,) = (row for row in index.rows if row.location == f"{lake.roots}/team/orders")
    assert len(index.rows) == 3 + len(HOSTILE)
    assert (orders.latest_committed_batch, orders.backup_batch) == (7, 7)
    assert (orders.worst, orders.worst_code) == ("warning", "CKPT158"), "the damaged one has the same query id"


def test_a_mapped_task_and_a_run_have_theirs(somebody, stack):
    run_id = stack.trigger("pages")
    for index in (0, 1):
        path = f"/dags/pages/dagRuns/{quote(run_id, safe='')}/taskInstances/check_each/{index}"
        stack.wait_for(f"check_each[{index}]", lambda path=path: state_of(stack, path) == "success")
    person = somebody("op")
    page = person.open(f"dags/pages/runs/{quote(run_id, safe='')}/tasks/check_each/mapped/1")
    page.get_by_role("link", name="Checkpoint", exact=True).or_(
        page.get_by_role("tab", name="Checkpoint", exact=True)
    ).first.click()
    expect(person.frame.get_by_role("heading", level=2)).to_contain_text("team/damaged")
    page = person.open(f"dags/pages/runs/{quote(run_id, safe='')}")
    page.get_by_role("link", name="Checkpoint", exact=True).or_(
        page.get_by_role("tab", name="Checkpoint", exact=True)
    ).first.click()
    expect(person.frame.get_by_role("heading", level=2)).to_have_count(2)


def state_of(stack, path: str) -> str | None:
    import urllib.error

    try:
        return stack.get(path)["state"]
    except urllib.error.HTTPError:  # it is not expanded yet
        return None


def test_below_a_sub_path_everything_leads_on(somebody, stack, browser, lake, tmp_path):
    folder = Path(stack.env["AIRFLOW__CORE__DAGS_FOLDER"])
    secret = {"AIRFLOW__API_AUTH__JWT_SECRET": stack.env["AIRFLOW__API_AUTH__JWT_SECRET"]}
    below = BelowSubPath(tmp_path / "below", folder, {**lake.options(), **secret}, stack.database)
    below.start()
    try:
        person = somebody("viewer", on=below)
        page = person.open(f"plugin/checkpoints?at={quote(str(lake.roots / 'team' / 'orders'), safe='')}")
        expect(person.frame.get_by_role("heading", level=1)).to_contain_text("team/orders")
        person.frame.get_by_role("link", name="All checkpoints").click()
        expect(person.frame.locator("tbody tr").first).to_be_visible()
        assert SUB_PATH in page.url and f"{SUB_PATH}/ckpt/" in person.of_pages().url
    finally:
        below.stop()


@pytest.mark.parametrize("dark", [False, True])
def test_what_the_docs_show(somebody, lake, photographs, dark):
    """Photographs for the docs, without hostile names; with CKPT_RECORD=1 they are kept, and a person looks at them."""
    person = somebody("viewer", dark=dark)
    person.open("plugin/checkpoints")
    frame = person.frame
    frame.get_by_role("searchbox").fill("team/")
    frame.get_by_role("button", name="Filter").click()
    expect(frame.locator("tbody tr")).to_have_count(3)
    photograph(person, lake.place, photographs / f"fleet-{'dark' if dark else 'light'}.png", height=520)
