"""The page on stops and starts: its query file is one, and its answer is read as it says."""

from __future__ import annotations

import re
from pathlib import Path

from airflow_provider_ckpt.engines.answer import parse_answer
from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.query.query_parser import parse_query_file

PAGE = (Path(__file__).parents[2] / "docs/how-to/stop-and-start.md").read_text()


def block(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_answer_of_the_page_means_what_the_page_says():
    engine = parse_query_file(block("yaml")).queries["orders"].engine
    assert engine is not None
    seen = parse_answer(block("json"), "orders", engine.application["states"])
    assert [(run.presence, run.generation) for run in seen.runs] == [(Presence.LIVE, 3), (Presence.ENDED, 2)]
    assert {*engine.application["states"].values()} == {"live", "ended"}
