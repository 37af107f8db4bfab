"""The app: nobody sees anything without a login, nothing can be written, and every answer has the headers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore

import pytest
from fastapi.routing import APIRoute

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreUnavailableError
from airflow_provider_ckpt.plugin import fleet
from airflow_provider_ckpt.plugin.access import require_login
from airflow_provider_ckpt.plugin.app import HEADERS, MOST_AT_ONCE, STATIC, build_app
from airflow_provider_ckpt.storage.roots import OutsideRootsError
from tests.plugin.pages import asking, text_of

PATHS = ("/ckpt/", *(f"/ckpt/static/{name}" for name in STATIC), "/ckpt/static/nothing")


def test_there_is_no_route_that_writes():
    routes = build_app().routes
    assert {method for route in routes for method in getattr(route, "methods", ())} <= {"GET", "HEAD"}
    assert all(isinstance(route, APIRoute) for route in routes), "no mounted app, which has no authentication of ours"


def test_every_route_wants_a_login():
    for route in build_app().routes:
        assert require_login in [wanted.call for wanted in route.dependant.dependencies], route.path


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"])
def test_who_is_not_logged_in_gets_nothing(path, method):
    answer = asking(None).request(method, path)
    assert answer.status_code == (401 if method == "GET" else 405)
    assert "<table" not in answer.text


@pytest.mark.parametrize("path", PATHS[:-1])
@pytest.mark.parametrize("role", ["viewer", "user", "op", "admin"])
def test_every_role_sees_the_pages(path, role):
    assert asking(role).get(path).status_code == 200


def test_a_token_that_is_none_is_refused():
    client = asking(None)
    client.cookies.set("_token", "garbage")
    assert client.get("/ckpt/").status_code == 403
    assert client.get("/ckpt/", headers={"Authorization": "Bearer garbage"}).status_code == 403


@pytest.mark.parametrize(("accept", "kind"), [("text/html", "text/html; charset=utf-8"), ("*/*", "application/json")])
@pytest.mark.parametrize(
    ("path", "role", "status"), [("/ckpt/", None, 401), ("/ckpt/", "viewer", 200), ("/ckpt/x", "viewer", 404)]
)
def test_every_answer_has_the_headers(path, role, status, accept, kind):
    answer = asking(role, headers={"Accept": accept}).get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind if status != 200 else PAGE)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


PAGE = "text/html; charset=utf-8"


def test_scripts_and_styles_come_from_us_alone():
    rules = dict(rule.split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split("; "))
    assert rules.pop("default-src") == rules.pop("base-uri") == "'none'"
    assert set(rules.values()) == {"'self'"}
    assert {"script-src", "style-src", "frame-ancestors", "form-action", "connect-src"} <= rules.keys()


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (OutsideRootsError(), 404, "There is no such page, or it is not for you to see."),
        (
            CheckpointNotFoundError("there is no checkpoint here.", location="/x"),
            404,
            "/x: there is no checkpoint here.",
        ),
        (StoreUnavailableError("the storage does not answer", location="/x"), 503, "/x: the storage does not answer"),
        (ZeroDivisionError("secret"), 500, "This page could not be made. The log of the API server has the error."),
    ],
)
def test_an_error_is_a_page_and_says_what_is_wrong(monkeypatch, error, status, text):
    def fail() -> None:
        raise error

    monkeypatch.setattr(fleet, "read_settings", fail)
    answer = asking("viewer").get("/ckpt/")
    assert answer.status_code == status
    assert text in text_of(answer.text)
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("sub_path", ["", "/team/airflow"])
def test_links_stay_below_the_sub_path(sub_path):
    page = asking("viewer", sub_path).get(f"{sub_path}/ckpt/").text
    assert f'src="{sub_path}/ckpt/static/ckpt.js"' in page
    assert f'href="{sub_path}/ckpt/?all"' in page
    logged_out = asking(None, sub_path).get(f"{sub_path}/ckpt/").text
    assert f'<a href="{sub_path}/" data-leave>' in logged_out


def test_pages_that_wait_for_a_storage_leave_airflow_its_threads(monkeypatch):
    begun, answered = Semaphore(0), Event()

    def wait():
        begun.release()
        answered.wait(60)

    monkeypatch.setattr(fleet, "read_settings", wait)
    with asking("viewer") as client, ThreadPoolExecutor(MOST_AT_ONCE) as people:
        waiting = [people.submit(client.get, "/ckpt/") for _ in range(MOST_AT_ONCE)]
        for _ in waiting:
            begun.acquire()
        refused = client.get("/ckpt/")
        answered.set()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert "no more at once" in refused.text and refused.headers["x-content-type-options"] == "nosniff"
        assert {item.result().status_code for item in waiting} == {500}, "the page had no settings"
        assert client.get("/ckpt/static/ckpt.css").status_code == 200, "the places are free again"
