"""``ckpt queries``: rows, exit codes and documents."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.queries import command
from tests.fleets import damage


def ckpt(capsys, *words: str) -> tuple[int, str, str]:
    code = run(["queries", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("", 0),
        (", alert: {age: 100000d}", 0),
        (", alert: {age: 1ms}", 1),
        (", alert: {behind: 100000d}", 1),  # no source is declared, so nobody knows
        (", alert: {rows: 1000000}, sources: [rate]", 1),
        (", sources: ['file:/nowhere/at/all']", 1),
        (", sources: [kafka]", 0),  # nobody was to be asked
        (", sources: 1", 0),
    ],
)
def test_the_exit_code(declared, capsys, more, code):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}{more}}}")
    assert ckpt(capsys)[0] == code


def test_the_worst_counts_and_stands_first(declared, capsys):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}, alert: {{age: 1ms}}}}\n  gone: {{checkpoint: gone}}")
    code, out, _ = ckpt(capsys)
    assert code == 3
    assert out.startswith("2 queries: 1 not readable, 1 past a threshold")
    assert out.index("│ gone") < out.index("│ orders")
    assert "orders: the age of the newest commit is " in out
    assert f"and alert.age ({declared.root}/ckpt.yaml line 3) is 0 s." in out
    assert "Whether they run is not known: no engine is declared." in out


def test_an_error_of_a_rule_is_the_answer_no(declared, capsys):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    damage(declared.checkpoint / "commits/7")
    code, out, _ = ckpt(capsys)
    assert code == 1 and "with an error" in out


def test_a_threshold_of_the_defaults_is_of_each_query(declared, capsys):
    declared(
        f"  orders: {{checkpoint: {declared.checkpoint}}}\n  mine: {{checkpoint: {declared.root}/x, alert: {{}}}}",
        "defaults: {alert: {age: 1ms}}\n",
    )
    code, out, _ = ckpt(capsys, "--json")
    orders, mine = json.loads(out)["queries"]
    assert code == 3 and [item["origin"] for item in orders["thresholds"]] == [f"{declared.root}/ckpt.yaml line 2"]
    assert mine["thresholds"] == []


def test_the_document_is_in_the_order_of_the_file_and_names_choose(declared, capsys):
    declared(f"  b: {{checkpoint: gone}}\n  a: {{checkpoint: {declared.checkpoint}}}\n  c: {{checkpoint: gone2}}")
    document = json.loads(ckpt(capsys, "--json")[1])
    assert document["format_version"] == 1 and document["file"] == f"{declared.root}/ckpt.yaml"
    assert [row["name"] for row in document["queries"]] == ["b", "a", "c"]
    assert [row["name"] for row in json.loads(ckpt(capsys, "a", "--format", "json")[1])["queries"]] == ["a"]
    assert document["queries"][1]["checkpoint"]["latest_committed_batch"] == 7


def test_metrics_say_which_thresholds_hold(declared, capsys):
    declared(
        f"  a: {{checkpoint: {declared.checkpoint}, alert: {{age: 1ms, delay: 100000d, rows: 1}}}}\n  b: {{checkpoint: g}}"
    )
    out = ckpt(capsys, "--format", "openmetrics")[1]
    held = {line.split('threshold="')[1].split('"')[0]: line[-3:] for line in out.splitlines() if "_holds{" in line}
    assert held == {"age": "0.0", "delay": "1.0", "rows": "0.0"} or held == {
        "age": "} 0",
        "delay": "} 1",
        "rows": "} 0",
    }
    assert "ckpt_committed_batch" in out and "ckpt_checkpoint_readable" in out and out.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ordres",), "did you mean orders?"),
        (("--watch", "--json"), "--watch shows text"),
        (("--timeout", "nonsense"), "is not a duration"),
        (("--file", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_a_wrong_use_is_said(declared, capsys, words, said):
    declared(f"  orders: {{checkpoint: {declared.checkpoint}}}")
    code, _, err = ckpt(capsys, *words)
    assert code == 2 and said in err


def test_without_a_file_or_a_query_that_is_said(declared, capsys):
    assert "there is no query file: ckpt.yaml is neither in this directory nor above it" in ckpt(capsys)[2]
    (declared.root / "ckpt.yaml").write_text("format_version: 1")
    code, _, err = ckpt(capsys)
    assert code == 2 and "declares no query" in err


def test_the_options_of_storage_and_clients_come_from_the_file_and_the_command(declared, monkeypatch):
    taken = {}

    class Reader:
        def __init__(self, file, opened, config, **_):
            taken.update(opened.keywords, config=config)

        def read(self):
            return iter(())

    monkeypatch.setattr(command, "QueryReader", Reader)
    declared("  a: {checkpoint: b}", "storage: {options: {anon: true, endpoint_url: 'http://s3:9000'}}\n")
    assert run(["queries", "--storage-option", "anon=false", "--kafka-config", "security.protocol=SSL"]) == 0
    assert taken["storage_options"] == ("endpoint_url=http://s3:9000", "anon=false")
    assert taken["config"] == {"security.protocol": "SSL"}
