"""``ckpt queries --watch``: a line for each change, a table in a terminal, and a clean end."""

from __future__ import annotations

import sys

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.queries import watch as module
from tests.fleets import damage


@pytest.fixture
def pauses(monkeypatch):
    """What happens in each pause of the watch, after which it is interrupted; gets how long the pauses were."""

    def in_pauses(*happens):
        steps, slept = iter(happens), []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            for step in steps:
                step()
                return
            raise KeyboardInterrupt

        monkeypatch.setattr(module.time, "sleep", sleep)
        return slept

    return in_pauses


def test_without_a_terminal_each_change_is_a_line(declared, capsys, pauses):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}\n  gone: {{checkpoint: gone, alert: {{age: 100000d}}}}")
    away = declared.checkpoint.rename(declared.root / "gone")
    away.rename(declared.checkpoint)
    slept = pauses(
        lambda: None,
        lambda: damage(declared.checkpoint / "commits/7"),
        lambda: None,
        lambda: declared.checkpoint.rename(declared.root / "gone"),
    )
    assert run(["queries", "--watch", "--poll-interval", "7s"]) == 130
    lines = [line.partition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "2 queries: 1 not readable" and lines[1].startswith(f"gone: {declared.root}/gone: the location")
    told = "\n".join(lines[2:])
    assert "orders: error CKPT" in told and "gone: it can be read again." in told
    assert any(line.startswith("orders: ") and "does not exist" in line for line in lines)
    assert len(slept) == 5 and all(0 < seconds <= 7 for seconds in slept)


def test_a_query_that_goes_on_is_no_line(declared, capsys, pauses):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    pauses(*[lambda: None] * 3)
    assert run(["queries", "--watch"]) == 130
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("Z 1 query: nothing is wrong in what was judged")


def test_the_file_is_read_again_and_a_broken_one_ends_nothing(declared, capsys, pauses):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    pauses(
        lambda: declared("  orders: ["),
        lambda: declared(f"  orders: {{checkpoint: {declared.checkpoint}, alert: {{age: 1ms}}}}"),
    )
    assert run(["queries", "--watch"]) == 130
    told = capsys.readouterr()
    assert "the queries are read as before" in told.err
    assert "the age of the newest commit" in told.out


def test_a_terminal_gets_the_table_anew(declared, capsys, pauses, monkeypatch):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    pauses(lambda: None)
    assert run(["queries", "--watch"]) == 130
    out = capsys.readouterr().out
    assert out.count("read again each 10 s; Ctrl-C ends it.") == 2 and out.count("orders") == 6
