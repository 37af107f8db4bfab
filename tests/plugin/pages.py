"""The app as Airflow mounts it, and whoever asks it for pages: with Airflow's own authentication, without its server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser

from airflow.api_fastapi.app import create_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from fastapi import FastAPI
from fastapi.testclient import TestClient

from airflow_provider_ckpt.plugin.app import build_app

HTML = {"Accept": "text/html,application/xhtml+xml"}


def mounted(sub_path: str = "") -> FastAPI:
    """Airflow's app with ours in it, below a sub-path or not."""
    outer = FastAPI(root_path=sub_path)
    outer.mount("/ckpt", build_app())
    return outer


def asking(role: str | None, sub_path: str = "", headers: Mapping[str, str] = HTML) -> TestClient:
    """A browser of somebody with a role in Airflow; of nobody who is logged in for None."""
    client = TestClient(mounted(sub_path), base_url="http://testserver", raise_server_exceptions=False)
    client.headers.update(headers)
    if role:
        token = create_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role, role=role))
        client.cookies.set("_token", token)
    return client


def text_of(page: str) -> str:
    """What of a page can be read, in one line."""
    parser = _Text()
    parser.feed(page)
    return re.sub(r"\s+", " ", " ".join(parser.found)).strip()


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)
