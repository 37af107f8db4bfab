"""Airflow's REST API, as somebody who is logged in."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

#: Of one request, seconds: a machine that does much else answers late.
TIMEOUT_S = 300.0


class AirflowApi:
    """The API of one Airflow.

    Args:
        url: Of Airflow, without a slash at its end.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._token: str | None = None
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def log_in(self, user: str, password: str) -> None:
        """Ask as this user from now on."""
        self._token = self.token_of(user, password)

    def token_of(self, user: str, password: str) -> str:
        """What a user is known by; also what the cookie ``_token`` of a browser holds."""
        login = {"username": user, "password": password}
        return str(AirflowApi(self.url).request("POST", "/auth/token", login)["access_token"])

    def request(self, method: str, path: str, body: object = None) -> Any:
        """One request; the answer from its JSON. Raises urllib.error.HTTPError."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        data = None if body is None else json.dumps(body).encode()
        with self._opener.open(request, data, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null")

    def get(self, path: str) -> Any:
        """GET below ``/api/v2``."""
        return self.request("GET", f"/api/v2{path}")

    def has_dag(self, dag_id: str) -> bool:
        """Whether Airflow knows a DAG."""
        try:
            return bool(self.get(f"/dags/{dag_id}"))
        except urllib.error.HTTPError:
            return False

    def start_run(self, dag_id: str, conf: dict[str, object]) -> str:
        """Start a run of a DAG that is there; its id."""
        body = {"logical_date": None, "conf": conf}
        return str(self.request("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"])
