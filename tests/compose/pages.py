"""The index that the stack writes, and the pages of the plugin that show it: as a viewer and as nobody."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from urllib.parse import quote

from tests.compose.api import Airflow
from tests.compose.native import Services


def see_pages(services: Services, location: str) -> str:
    """Run ``checkpoint_index``, and see a checkpoint in the fleet and on its own page; what was seen.

    Args:
        location: Of the one checkpoint that the stack has. Its query is stopped, and it has a backup.
    """
    batch_id = json.loads(services.execute("streaming-job", "ckpt", "show", location, "--json"))[
        "latest_committed_batch"
    ]
    operator = Airflow(services, "operator")
    operator.finish(operator.trigger("checkpoint_index"), "write_index")
    viewer = Airflow(services, "viewer")
    token = viewer.request("POST", "/auth/token", {"username": viewer.user, "password": viewer.password})
    own = f"/ckpt/checkpoint?at={quote(location)}"
    wanted = {
        "/ckpt/": ("1 of 1 checkpoints", "Index of", own[1:]),
        own: (f"<code>{location}</code>", f"<b>{batch_id}</b>newest committed batch", "Backups of this query"),
    }
    for path, texts in wanted.items():
        status, page = look(viewer.url + path, token["access_token"])
        missing = [text for text in texts if text not in page]
        assert (status, missing) == (200, []), f"{path} answered {status} without {missing}:\n{page[:4000]}"
        status, page = look(viewer.url + path, None)
        assert status in (401, 403) and location not in page, f"{path} answered nobody with {status}"
    return f"checkpoint_index has run, the fleet has {location}, its page has batch {batch_id}, and nobody sees them"


def look(url: str, token: str | None) -> tuple[int, str]:
    """Status and text of a page, for whom the token is, or for nobody."""
    request = urllib.request.Request(url, headers={"Accept": "text/html"})
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")
