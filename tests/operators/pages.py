"""The operators of a page, carried out as the page shows them, on a checkpoint of a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow.sdk import DAG

from tests.docs.blocks import ROOT, blocks_of
from tests.operators.task import Task


def carried_out(page: str, test: str, places: Mapping[str, str], **more: Any) -> Iterator[Any]:
    """What each operator returns of the blocks of a page that a test runs, in their order.

    Args:
        page: Its path below the root of the project.
        test: The test that the page names.
        places: What stands for each location of the page; the longest first.
        more: Arguments beside those of the page, such as how long is waited.
    """
    for block in blocks_of(ROOT / page):
        if block.notes.get("run by") == test:
            text = block.text
            for said, place in places.items():
                text = text.replace(said, place)
            with DAG("of_a_page", schedule=None) as dag:
                exec(text, {})
            for task in dag.tasks:
                for name, value in more.items():
                    if hasattr(task, name):
                        setattr(task, name, value)
                yield task.execute({"ti": Task(task_id=task.task_id)})
