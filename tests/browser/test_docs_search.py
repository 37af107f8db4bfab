"""The search of the documents' site in a real browser: who pastes an error finds its page of the runbook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site as ``make docs`` makes it, on a port of this machine; its URL."""
    place = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("pasted", "page"),
    [
        ("concurrent stream", "runbook/concurrent-stream-log-update.html"),
        ("Multiple streaming jobs detected for 4", "runbook/concurrent-stream-log-update.html"),
        ("Incomplete log file", "runbook/incomplete-log-file.html"),
    ],
)
def test_an_error_text_finds_its_page(browser, site, pasted, page):
    tab = browser.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    try:
        tab.goto(f"{site}/index.html")
        tab.get_by_role("textbox", name="Search").fill(pasted)
        found = tab.locator(f".md-search-result__link[href*='{page}']").first
        expect(found).to_be_visible()
        assert page in str(tab.locator(".md-search-result__link").first.get_attribute("href")), "it is the first result"
        found.click()
        tab.wait_for_url(f"**/{page}*")
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
    finally:
        tab.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith((site, "blob:", "data:"))] == [], "the site asks nobody else"
