"""``ckpt queries --watch``: a line for each change, a table in a terminal, and a clean end."""

from __future__ import annotations

import sys

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.queries import command as module_of_command
from airflow_provider_ckpt.cli.queries import watch as module
from airflow_provider_ckpt.fleet.queries import read_queries
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
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


@pytest.mark.parametrize("breaks", ["broken", "empty", "gone", "without the name"])
def test_the_file_is_read_again_and_a_broken_one_is_one_line_and_ends_nothing(declared, capsys, pauses, breaks):
    texts = {"broken": "  orders: [", "empty": "", "without the name": "  totals: {checkpoint: /gone}"}
    path = declared.root / "ckpt.yaml"
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    pauses(
        lambda: path.unlink() if breaks == "gone" else declared(texts[breaks]),
        lambda: None,
        lambda: None,
        lambda: declared(f"  orders: {{checkpoint: {declared.checkpoint}, alert: {{age: 1ms}}}}"),
    )
    assert run(["queries", "--watch", *(["orders"] if breaks == "without the name" else [])]) == 130
    told = capsys.readouterr()
    assert told.err.strip().count("\n") == 0 and str(path) in told.err
    assert told.err.strip().endswith("; the queries are read as the file said before.")
    assert "the age of the newest commit" in told.out and "gone" not in told.out


def test_a_terminal_shows_that_the_file_is_broken_above_each_table(declared, capsys, pauses, monkeypatch):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    pauses(
        lambda: declared("  orders: ["),
        lambda: None,
        lambda: declared(f"  orders: {{checkpoint: {declared.checkpoint}}}"),
    )
    assert run(["queries", "--watch"]) == 130
    told = capsys.readouterr()
    assert (told.out.count("the queries are read as the file said before."), told.err.strip()) == (2, "")


def test_changed_settings_of_storage_and_of_a_cluster_count_from_the_next_reading_on(
    declared, capsys, pauses, monkeypatch
):
    opened, asked = [], []
    real = module_of_command.opening
    monkeypatch.setattr(module_of_command, "opening", lambda options: opened.append(options) or real(()))
    monkeypatch.setattr(read_queries, "Brokers", lambda config, *more, **named: asked.append(more) or Brokers(config))
    query = f"  orders: {{checkpoint: {declared.checkpoint}, sources: ['kafka:main/t']}}"

    def declare(endpoint: str, protocol: str) -> None:
        kafka = f"kafka: {{main: {{bootstrap.servers: 'b:9092', security.protocol: {protocol}}}}}\n"
        declared(query, f"storage: {{options: {{endpoint_url: '{endpoint}'}}}}\n{kafka}")

    declare("http://old", "PLAINTEXT")
    pauses(lambda: declare("http://new", "SSL"))
    assert run(["queries", "--watch", "--timeout", "1s"]) == 130
    assert [options[0] for options in opened][:2] == ["endpoint_url=http://old", "endpoint_url=http://new"]
    configs = [more[1]["b:9092"]["security.protocol"] for more in asked if more]
    assert (configs[0], configs[-1]) == ("PLAINTEXT", "SSL")
    connections = [more[0] for more in asked if more]
    assert connections[-1] == {}, "the connection of the settings before is not used again"


def test_a_terminal_gets_the_table_anew(declared, capsys, pauses, monkeypatch):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    pauses(lambda: None)
    assert run(["queries", "--watch"]) == 130
    out = capsys.readouterr().out
    assert out.count("read again each 10 s; Ctrl-C ends it.") == 2 and out.count("orders") == 6
