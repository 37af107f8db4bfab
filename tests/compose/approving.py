"""A person who approves what waits for a person, in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.chromium import chromium, log_in

PATIENCE_MS = 120_000


def approve(url: str, user: str, password: str, screenshots: Path) -> None:
    """Log in, open Required Actions, read the plan and approve it.

    Args:
        url: Of Airflow.
        screenshots: A directory for what was seen.
    """
    screenshots.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE_MS)
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        try:
            page.goto(url)
            log_in(page, user, password)
            page.goto(f"{url}/required_actions")
            page.get_by_role("link", name="Roll back").first.click()
            expect(page.get_by_text("Approve only when the query is stopped.").first).to_be_visible()
            page.screenshot(path=screenshots / "asked.png", full_page=True)
            with page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
                page.get_by_role("button", name="Approve", exact=True).click()
            assert answered.value.ok, answered.value.text()
        finally:
            page.screenshot(path=screenshots / "end.png", full_page=True)
