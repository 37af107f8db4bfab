"""The tab of tasks and runs."""

from __future__ import annotations

import shutil

import pytest
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

from tests.plugin.pages import asking, text_of
from tests.plugin.runs import add_run

HOSTILE = '/roots/"><script>alert(1)</script>'


@pytest.fixture(scope="module", autouse=True)
def place(airflow_tables, goldens, tmp_path_factory):
    place = tmp_path_factory.mktemp("tab")
    shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", place / "roots" / "orders")
    shutil.copytree(place / "roots" / "orders", place / "secret" / "orders")
    (place / "roots" / "out").symlink_to(place / "secret")
    orders = str(place / "roots" / "orders")
    fields = {
        ("gate", -1): {"checkpoint": orders},
        ("backup", 0): {"checkpoint": f"file://{orders}"},
        ("backup", 1): {"checkpoint": str(place / "roots" / "gone")},
        ("hello", -1): {"bash_command": "true"},
        ("out", -1): {"checkpoint": str(place / "roots" / "out" / "orders")},
        ("secret", -1): {"checkpoint": str(place / "secret" / "orders")},
        ("hostile", -1): {"checkpoint": HOSTILE},
        ("waiting", -1): None,
    }
    add_run("tabs", "tuesday", fields)
    return place


@pytest.fixture(autouse=True)
def roots(configure, place):
    configure(roots=f"{place}/roots, /roots")


def tab(query: str, role: str | None = "viewer", kind: str = "task") -> tuple[int, str]:
    answer = asking(role).get(f"/ckpt/{kind}?{query}")
    return answer.status_code, answer.text


def shown(task_id: str, map_index: int = -1) -> str:
    status, page = tab(f"dag_id=tabs&run_id=tuesday&task_id={task_id}&map_index={map_index}")
    assert status == 200
    return text_of(page)


def test_a_task_shows_how_its_query_is_now():
    text = shown("gate")
    assert "orders gate (success) 7 newest committed batch none batch in flight" in text
    assert "0 findings" in text
    assert "Timeline, offsets, findings and backups of this checkpoint" in text


def test_a_mapped_task_shows_its_own():
    assert "backup[0] (success) 7 newest" in shown("backup", 0)
    assert "gone" in shown("backup", 1) and "7 newest" not in shown("backup", 1)


def test_the_link_leads_to_the_page_in_airflows_frame(place):
    _, page = tab("dag_id=tabs&run_id=tuesday&task_id=gate&map_index=-1")
    assert f'href="/plugin/checkpoints?at={place}/roots/orders" data-leave' in page


@pytest.mark.parametrize("map_index", ["%7BMAP_INDEX%7D", "", "-1"])
def test_a_part_that_airflow_does_not_fill_is_no_error(map_index):
    status, page = tab(f"dag_id=tabs&run_id=tuesday&task_id=gate&map_index={map_index}")
    assert status == 200 and "7</b>newest" in page


def test_a_task_without_a_checkpoint_says_so():
    assert "This task was given no checkpoint, so there is nothing to show here." in shown("hello")
    assert "Airflow has no rendered fields of this task" in shown("waiting")


@pytest.mark.parametrize("task_id", ["secret", "out"])
def test_what_is_not_below_the_roots_is_not_read(task_id):
    text = shown(task_id)
    assert "Its location is not below the roots that these pages may open" in text
    assert "newest committed batch" not in text
    assert "orders" not in text, "who may see the task may not see where its connection leads"


def test_hostile_locations_are_text():
    _, page = tab("dag_id=tabs&run_id=tuesday&task_id=hostile&map_index=-1")
    assert "<script>alert" not in page and "&lt;script&gt;" in page


def test_a_task_page_shows_the_newest_run_and_a_run_page_all_its_checkpoints_once():
    status, page = tab("dag_id=tabs&task_id=backup")
    assert status == 200 and page.count("<section>") == 2
    status, page = tab("dag_id=tabs&run_id=tuesday", kind="run")
    assert status == 200
    assert [page.count(f"<code>{name}") for name in ("gate", "backup[0]", "hello")] == [1, 1, 0]


def test_without_roots_nothing_is_read(configure):
    configure(roots="")
    assert "No roots are configured that these pages may open" in shown("gate")


@pytest.mark.parametrize(
    "query",
    [
        "dag_id=tabs&run_id=tuesday&task_id=nothing&map_index=-1",
        "dag_id=tabs&run_id=tuesday&task_id=gate&map_index=5",
        "dag_id=nothing&run_id=tuesday&task_id=gate&map_index=-1",
        "dag_id=~&run_id=tuesday&task_id=gate&map_index=-1",
    ],
)
def test_what_is_not_there_is_not_found(query):
    assert tab(query)[0] == 404


@pytest.mark.parametrize("query", ["", "dag_id=tabs", "dag_id=tabs&task_id=", "task_id=gate", "dag_id=&task_id=gate"])
def test_an_address_that_is_not_complete_is_refused(query):
    assert tab(query)[0] in (404, 422)


@pytest.mark.parametrize("kind", ["task", "run"])
def test_nobody_sees_a_tab_without_a_login(kind):
    assert tab("dag_id=tabs&run_id=tuesday&task_id=gate", None, kind)[0] == 401


@pytest.mark.parametrize("kind", ["task", "run"])
def test_who_may_not_see_the_task_instances_of_a_dag_sees_no_tab(monkeypatch, kind):
    asked = []

    def refuse(self, *, method, user, access_entity=None, details=None):
        asked.append((method, access_entity.value, details.id))
        return False

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", refuse)
    status, page = tab("dag_id=tabs&run_id=tuesday&task_id=gate", "admin", kind)
    assert (status, asked) == (403, [("GET", "TASK_INSTANCE", "tabs")])
    assert "orders" not in page


def test_one_dag_id_is_asked_for_and_the_same_one_is_shown(monkeypatch):
    """An address that names two DAGs."""
    allowed = SimpleAuthManager.is_authorized_dag

    def only_mine(self, *, details=None, **given):
        return details.id == "mine" and allowed(self, details=details, **given)

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", only_mine)
    for query in ("dag_id=mine&dag_id=tabs", "dag_id=tabs&dag_id=mine"):
        assert tab(f"{query}&run_id=tuesday&task_id=gate")[0] in (403, 404)


def test_credentials_of_a_location_are_left_out(configure):
    root = "s3://user:pass-word@lake/roots"
    configure(roots=root)
    add_run("tabs", "wednesday", {("gate", -1): {"checkpoint": f"{root}/orders"}})
    _, page = tab("dag_id=tabs&run_id=wednesday&task_id=gate&map_index=-1")
    assert "pass-word" not in page and "<code>s3://user@lake/roots/orders</code>" in page
