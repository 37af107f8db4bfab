"""The notifier: what it says and sends, in which bounds, and that it never raises."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from airflow.providers.smtp.notifications.smtp import SmtpNotifier

from airflow_provider_ckpt.explain.explain import ask_checkpoint
from airflow_provider_ckpt.notifications import checkpoint as module
from airflow_provider_ckpt.notifications.checkpoint import EXPLAINED, ExplainNotifier, try_of
from tests.docs.blocks import ROOT, blocks_of
from tests.docs.shell import shows
from tests.goldens import GOLDEN, unpack

NAME = "dag_id=streams/run_id=r/task_id=orders/attempt=1.log"


@pytest.fixture
def gap(tmp_path):
    """A checkpoint whose offset log lacks the entry before the newest one, and the number of that."""
    unpack(next(GOLDEN.glob("spark-4.3.0/agg-hdfs.tar.gz")), tmp_path / "query")
    place = tmp_path / "query" / "checkpoint"
    missing = max(int(path.name) for path in (place / "offsets").iterdir() if path.name.isdigit()) - 1
    for name in (str(missing), f".{missing}.crc"):
        (place / "offsets" / name).unlink(missing_ok=True)
    return str(place), missing


@pytest.fixture
def context(tmp_path, monkeypatch, gap):
    """The context of a task that failed, with its log."""
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/sub/")
    monkeypatch.setattr("airflow_provider_ckpt.hooks.read_task_log._SETTLES_S", 0.0)
    path = tmp_path / NAME
    path.parent.mkdir(parents=True)
    path.write_text(f"java.lang.IllegalStateException: batch {gap[1]} doesn't exist\n")
    ti = SimpleNamespace(id="t", dag_id="streams", run_id="r", task_id="orders", map_index=-1, try_number=1)
    return {"ti": ti, "params": {"checkpoint": gap[0]}, "exception": RuntimeError("Error code is: 1")}


def called(context, **arguments) -> dict:
    """The context that a function gets which is told of the failure."""
    got: list[dict] = []
    ExplainNotifier(notifiers=[got.append], **arguments)(context)
    (told,) = got
    return told


def test_it_reads_the_log_and_the_checkpoint(context, gap, capsys):
    told = called(context, checkpoint="{{ params.checkpoint }}")
    text = told["explanation"]
    assert text.startswith("streams.orders (run r, try 1) failed: ")
    assert f"CKPT110 (offsets/{gap[1]})" in text
    assert "Page: https://airflow.example.com/sub/plugin/checkpoints?at=" in text
    assert told["explanation_headline"] == text.split("\n")[0]
    assert text in capsys.readouterr().out
    assert "explanation" not in context and "checkpoint" not in context, "others get their own context"


def test_the_page_about_it_shows_what_it_says(context, gap, tmp_path, monkeypatch):
    unpack(next(GOLDEN.glob("spark-4.3.0/agg-hdfs.tar.gz")), tmp_path / "whole")
    place, sink = tmp_path / "whole/checkpoint", tmp_path / "whole/output"
    (place / "state/0/0/8.delta").unlink()
    condition = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    (tmp_path / NAME).write_text(f"StateStoreException: [{condition}] An error occurred during loading state.\n")
    told = called(context, checkpoint=str(place), sink=f"file:{sink}")["explanation"]
    (shown,) = [block for block in blocks_of(ROOT / "docs/how-to/explain-on-failure.md") if "run by" in block.notes]
    for here, there in (
        (quote(str(place), safe=""), quote("s3://lake/checkpoints/orders", safe="")),
        (str(place), "s3://lake/checkpoints/orders"),
        (str(sink), "s3://lake/orders"),
        ("(run r,", "(run scheduled__2026-11-27,"),
        ("example.com/sub/", "example.com/"),
    ):
        told = told.replace(here, there)
    assert shows(shown.text, told), told


def test_one_notifier_serves_many_tasks(context):
    notifier = ExplainNotifier(checkpoint="{{ params.checkpoint }}")
    notifier(context)
    assert notifier.checkpoint == "{{ params.checkpoint }}"
    assert try_of(context["ti"]) in EXPLAINED


def test_without_a_checkpoint_the_log_is_explained(context):
    text = called(context)["explanation"]
    assert ("Evidence" not in text and "Cause: " in text) or "Possible cause: " in text


def test_a_mapped_task_and_a_dag_are_named(context):
    context["ti"].map_index = 4
    assert called(context)["explanation_headline"].startswith("streams.orders[4] (run r, try 1) failed")
    alone = called({"dag": SimpleNamespace(dag_id="streams"), "reason": "task_failure"})
    assert alone["explanation_headline"].startswith("The DAG streams failed: ")


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [
        ("/nowhere/at/all", "The checkpoint was not read: "),
        ("{{ params.missing.name }}", "The checkpoint was not read: its template cannot be rendered: "),
        ("nothing://x/y", "The checkpoint was not read: "),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_said(context, checkpoint, said):
    text = called(context, checkpoint=checkpoint)["explanation"]
    assert said in text


def test_a_secret_in_what_cannot_be_opened_is_left_out(context):
    text = called(context, checkpoint="s3x://user:hunter2hunter2@lake/ck")["explanation"]
    assert "hunter2" not in text


def test_the_time_is_bounded_and_what_is_known_is_said(context, monkeypatch):
    def slow(*arguments):
        time.sleep(5)
        return ask_checkpoint(*arguments)

    monkeypatch.setattr(module, "ask_checkpoint", slow)
    begun = time.monotonic()
    text = called(context, checkpoint="{{ params.checkpoint }}", seconds=1.5)["explanation"]
    assert time.monotonic() - begun < 4
    assert "ckpt was given 1.5 s, and the checkpoint was not read to its end." in text
    assert "ause: " in text


def test_a_notifier_that_fails_is_named_and_the_next_one_called(context, capsys):
    def fails(context):
        raise OSError("https://u:hunter2hunter2@chat is down")

    got: list[dict] = []
    ExplainNotifier(notifiers=[fails, got.append])(context)
    assert len(got) == 1
    told = capsys.readouterr().out
    assert "failed: OSError" in told and "hunter2" not in told
    one: list[dict] = []
    ExplainNotifier(notifiers=one.append)(context)
    assert len(one) == 1


def test_a_notifier_that_exits_ends_nothing(context, capsys):
    got: list[dict] = []
    ExplainNotifier(notifiers=[lambda context: sys.exit(3), got.append])(context)
    assert len(got) == 1
    assert "failed: SystemExit" in capsys.readouterr().out


@pytest.mark.parametrize(
    "context", [{}, {"ti": None}, {"ti": object()}, {"exception": object()}, {"ti": 3, "params": 4}]
)
def test_no_context_breaks_it(context):
    ExplainNotifier(checkpoint="{{ params.x }}")(context)


def test_no_argument_breaks_it(capsys):
    ExplainNotifier()()
    ExplainNotifier()(None)
    assert capsys.readouterr().out.count("ckpt could not explain the failure") == 2


def test_a_query_is_named(context, gap, tmp_path):
    """Its checkpoint and its sink are those of the query file; a name that is not there is said."""
    file = tmp_path / "ckpt.yaml"
    file.write_text(
        f"format_version: 1\nqueries:\n  orders:\n    checkpoint: {gap[0]}\n    sink: file:{tmp_path}/out\n"
    )
    text = called(context, query="{{ 'orders' }}", query_file=str(file))["explanation"]
    assert f"CKPT110 (offsets/{gap[1]})" in text and f"--sink file:{tmp_path}/out" in text
    text = called(context, query="other", query_file=str(file))["explanation"]
    assert "The checkpoint was not read: " in text and "other" in text


def test_a_source_that_does_not_answer_leaves_what_the_checkpoint_shows(context, gap, tmp_path):
    sources = {"0": f"delta:{tmp_path}/nowhere"}
    text = called(context, checkpoint="{{ params.checkpoint }}", sources=sources)["explanation"]
    assert f"CKPT110 (offsets/{gap[1]})" in text


@pytest.mark.parametrize("sources", [{"0": "kafka"}, {"0": 3}, ["kafka"], "kafka:x/y"])
def test_declarations_that_make_no_sense_are_said(context, sources):
    text = called(context, checkpoint="{{ params.checkpoint }}", sources=sources)["explanation"]
    assert text.startswith("streams.orders")


def test_the_declared_sink_is_in_the_commands(context, tmp_path):
    text = called(context, checkpoint="{{ params.checkpoint }}", sink=f"file:{tmp_path}/out")["explanation"]
    assert f"--sink file:{tmp_path}/out" in text


def test_the_text_is_bounded(context):
    assert len(called(context, checkpoint="{{ params.checkpoint }}", text_length=300)["explanation"]) <= 300


def test_a_mail_has_the_text(context, monkeypatch):
    """Airflow's own notifier renders its templates with the text."""
    sent: list[SmtpNotifier] = []
    monkeypatch.setattr(SmtpNotifier, "notify", lambda self, context: sent.append(self))
    mail = SmtpNotifier(
        to="a@b.c", subject="{{ explanation_headline }}", html_content="<pre>{{ explanation | e }}</pre>"
    )
    for _ in range(2):  # the templates are still there the second time
        ExplainNotifier(checkpoint="{{ params.checkpoint }}", notifiers=[mail])(context)
    assert [item.subject.startswith("streams.orders (run r, try 1) failed: ") for item in sent] == [True, True]
    assert "CKPT110" in sent[1].html_content and "&#39;" in sent[1].html_content
