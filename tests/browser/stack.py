"""A real Airflow on PostgreSQL with the pages, and people with a browser: nobody, a viewer, an operator, an administrator."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, FrameLocator, Page

from tests.airflow_stack import AirflowStack
from tests.postgres import cluster

#: Passwords by user; the name of each is its role.
PEOPLE = ("viewer", "user", "op", "admin")
SUB_PATH = "/team/airflow"
#: The frame that Airflow shows a plugin's page in.
FRAME = "iframe"


class Stack(AirflowStack):
    """Airflow with one user of each role, and an API server below a sub-path beside it where that is wanted."""

    def __init__(self, home: Path, dags: Path, env: Mapping[str, str], database: str) -> None:
        home.mkdir(parents=True)
        users = {"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{name}" for name in PEOPLE)}
        super().__init__(home, dags, {**users, **env}, database=database)
        (home / "passwords.json").write_text(json.dumps({name: name for name in PEOPLE}))

    def token(self, user: str) -> str:
        """What a user's cookie holds."""
        return self.token_of(user, user)


class BelowSubPath(Stack):
    """A second API server on the same database, whose URL has a path."""

    def __init__(self, home: Path, dags: Path, env: Mapping[str, str], database: str) -> None:
        super().__init__(home, dags, env, database)
        self.components = ("api-server",)
        self.url += SUB_PATH
        self.env["AIRFLOW__API__BASE_URL"] = self.url


class Person:
    """Somebody with a browser of their own.

    Args:
        stack: Whose pages.
        browser: A Chromium.
        user: Who is logged in; None for nobody.
        dark: Whether their Airflow is dark.
    """

    def __init__(self, stack: Stack, browser: Browser, user: str | None, *, dark: bool = False) -> None:
        self.stack = stack
        self.context: BrowserContext = browser.new_context(viewport={"width": 1360, "height": 900})
        self.context.set_default_timeout(60_000)
        if user is not None:
            self.context.add_cookies([{"name": "_token", "value": stack.token(user), "url": stack.url}])
        theme = json.dumps("dark" if dark else "light")
        self.context.add_init_script(f"if (!localStorage.theme) localStorage.theme = {theme}")
        self.page: Page = self.context.new_page()
        #: What the browser has complained about: blocked scripts, errors of scripts.
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        ours = "/ckpt/" in str(message.location.get("url", "")) or "Content Security Policy" in message.text
        if message.type == "error" and ours:
            self.complaints.append(message.text)

    def open(self, path: str) -> Page:
        """Go to a path below Airflow's URL."""
        self.page.goto(f"{self.stack.url}/{path.lstrip('/')}")
        return self.page

    @property
    def frame(self) -> FrameLocator:
        """What is inside Airflow's frame."""
        return self.page.frame_locator(FRAME)

    def of_pages(self) -> Any:
        """The frame of the pages itself, for scripts; Airflow's own address has their path as well."""
        inner = [frame for frame in self.page.frames if frame is not self.page.main_frame]
        return next(frame for frame in inner if "/ckpt/" in frame.url)


@contextlib.contextmanager
def airflow(place: Path, dags: Path, env: Mapping[str, str]) -> Iterator[Stack]:
    """Airflow on a PostgreSQL of its own; both end with the context.

    Args:
        place: An empty directory.
        dags: The folder with its DAGs.
        env: More environment variables.
    """
    with cluster() as database:
        stack = Stack(place / "airflow", dags, env, database)
        try:
            yield stack.start()  # type: ignore[misc]
        finally:
            stack.stop()
