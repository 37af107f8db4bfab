"""Chromium without a window, and a person who logs in to Airflow with it. ``tests/install.sh chromium`` installs it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, Page, expect, sync_playwright

#: A program in /dev/shm finds little room in a container, and nothing that is asked is beyond this machine.
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, which ends with the context."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "no Chromium was found: run sh tests/install.sh chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def log_in(page: Page, user: str, password: str) -> None:
    """Through Airflow's own page, which is shown."""
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Browse").first).to_be_visible()
