"""Links to the page of a checkpoint: one form for every version of Airflow, with and without a sub-path."""

from __future__ import annotations

from urllib.parse import quote

from airflow_provider_ckpt.untrusted.secrets import scrub

#: Where the app is mounted, below the URL of Airflow.
MOUNT = "/ckpt"
#: The route of Airflow's user interface that shows the pages in a frame.
ROUTE = "checkpoints"


def page_link(location: str) -> str:
    """The relative link to the page of a checkpoint, such as ``plugin/checkpoints?at=s3%3A%2F%2Flake%2Forders``.

    It is relative to Airflow's own URL, so that a sub-path stays. The script of the pages opens the checkpoint in the
    frame, also on Airflow 3.1 and 3.2, whose frames always begin with the same page.

    Args:
        location: URL of the checkpoint; credentials in it are left out.
    """
    return f"plugin/{ROUTE}?at={quote(scrub(location), safe='')}"
