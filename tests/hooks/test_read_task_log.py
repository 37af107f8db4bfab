"""The log of a try: where it is, what of it is read, and what is said where it cannot be."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.hooks.read_task_log import log_name, plain_lines, read_task_log

MOST = 1 << 20
TI = SimpleNamespace(dag_id="streams", run_id="r", task_id="orders", map_index=-1, try_number=2)
NAME = "dag_id=streams/run_id=r/task_id=orders/attempt=2.log"


def record(event: str, **more: object) -> str:
    return json.dumps({"timestamp": "2026-11-27T14:53:07Z", "level": "info", "event": event, **more})


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes the log of the try, and returns its path."""
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))

    def write(*lines: str):
        path = tmp_path / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def test_the_log_is_where_airflow_writes_it():
    assert log_name(TI) == NAME
    assert log_name(SimpleNamespace(**{**vars(TI), "map_index": 3})) == NAME.replace("attempt", "map_index=3/attempt")


def test_lines_are_those_of_the_application(written):
    written(
        record("24/11/27 14:53:04 ERROR MicroBatchExecution: stopped"),
        record("java.lang.IllegalStateException: batch 3 doesn't exist\n\tat a.B.c(D.scala:1)"),
        "a line of something else",
        '{"event": "JSON of the application"}',
        "{broken",
        record("[base] of a pod", logger="airflow.providers.cncf.kubernetes.utils.pod_manager.PodManager"),
        record("[base] of another", logger="other"),
    )
    log = read_task_log({"ti": TI}, most=MOST)
    assert log.notes == ()
    assert [line for line in log.lines if line] == [
        "24/11/27 14:53:04 ERROR MicroBatchExecution: stopped",
        "java.lang.IllegalStateException: batch 3 doesn't exist",
        "\tat a.B.c(D.scala:1)",
        "a line of something else",
        '{"event": "JSON of the application"}',
        "{broken",
        "of a pod",
        "[base] of another",
    ]


def test_an_exception_of_python_is_as_python_prints_it():
    frames = [{"filename": "/opt/job.py", "lineno": 7, "name": "parse"}]
    detail = [
        {"exc_type": "RuntimeError", "exc_value": "two\nlines", "frames": frames},
        {"exc_type": "ValueError", "exc_value": "first", "frames": None},
        "odd",
    ]
    assert list(plain_lines([record("Task failed", error_detail=detail)])) == [
        "Task failed",
        *("Traceback (most recent call last):", "ValueError: first"),
        "Traceback (most recent call last):",
        '  File "/opt/job.py", line 7, in parse',
        *("RuntimeError: two", "lines"),
    ]
    assert list(plain_lines([record("x", error_detail="odd")])) == ["x"]


def test_of_a_long_log_the_beginning_and_the_end_are_read(written):
    path = written(*(f"line {number:06}" for number in range(10_000)))
    log = read_task_log({"ti": TI}, most=4096)
    lines = [line for line in log.lines if line]
    assert (lines[0], lines[-1]) == ("line 000000", "line 009999")
    assert sum(len(line) + 1 for line in lines) <= 4096
    assert all(len(line) == 11 for line in lines), "whole lines"
    (note,) = log.notes
    assert note.endswith("bytes in the middle of the log were not read.")
    left_out = int(note.split()[0].replace(",", ""))
    assert left_out > path.stat().st_size - 4096


def test_it_waits_for_what_was_said_before(written):
    path = written("before")

    def say(line: str) -> None:
        with path.open("a") as file:
            file.write(f"the last line\n{line}\n")

    assert "the last line" in read_task_log({"ti": TI}, most=MOST, say=say).lines


def test_it_does_not_wait_for_ever(written, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.hooks.read_task_log._SETTLES_S", 0.2)
    written("before")
    assert "before" in read_task_log({"ti": TI}, most=MOST, say=lambda line: None).lines


def test_a_log_that_is_not_here_is_said_and_the_exception_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    log = read_task_log({"ti": TI, "exception": ValueError("batch 3 doesn't exist")}, most=MOST)
    assert log.lines == ("ValueError: batch 3 doesn't exist",)
    assert log.notes == (
        f"The log cannot be read: {tmp_path}/{NAME} is not on this host, and this Airflow has no remote logging. "
        "Only the exception of the task was explained.",
    )
    without = read_task_log({"ti": TI}, most=MOST)
    assert without.lines == () and without.notes[0].endswith("has no remote logging.")


def test_without_a_task_nothing_is_guessed():
    log = read_task_log({"reason": "task_failure"}, most=MOST)
    assert log.notes[0].startswith("The log cannot be read: Airflow has not said which task failed.")


@pytest.mark.parametrize(("said", "lines"), [(["one\ntwo"], ("one", "two")), ([], ()), (None, ())])
def test_the_remote_log(tmp_path, monkeypatch, said, lines):
    """Where the log is in the remote storage; a storage that raises is said as well."""
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    remote = SimpleNamespace(read=lambda name, ti: (["s3://logs"], said))
    monkeypatch.setattr("airflow.sdk.log.load_remote_log_handler", lambda: remote)
    log = read_task_log({"ti": TI}, most=MOST)
    assert log.lines == lines
    assert bool(log.notes) == (not lines)


def test_a_remote_storage_that_fails(tmp_path, monkeypatch):
    def read(name, ti):
        raise PermissionError("Access Denied")

    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    monkeypatch.setattr("airflow.sdk.log.load_remote_log_handler", lambda: SimpleNamespace(read=read))
    assert read_task_log({"ti": TI}, most=MOST).notes == ("The log cannot be read: PermissionError: Access Denied.",)


def test_a_long_remote_log(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__LOGGING__BASE_LOG_FOLDER", str(tmp_path))
    texts = [f"line {number:06}" for number in range(10_000)]
    remote = SimpleNamespace(read=lambda name, ti: ([], texts))
    monkeypatch.setattr("airflow.sdk.log.load_remote_log_handler", lambda: remote)
    log = read_task_log({"ti": TI}, most=4096)
    assert (log.lines[0], log.lines[-1]) == (texts[0], texts[-1])
    assert "were not read" in log.notes[0]
