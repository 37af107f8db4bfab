"""``ckpt wait``: what it waits for, how it ends, and what it says meanwhile."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.cli.positions import wait as wait_command
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from tests.package import loaded_by

WATERMARK_MS = 1767225640000
FAST = ("--poll-interval", "0.05")
NOW = ("--timeout", "0", *FAST)


@pytest.fixture
def ckpt(capsys):
    """The command as the shell runs it: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["wait", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def checkpoint(golden) -> Path:
    """Eight committed batches, watermark 2026-01-01T00:00:40Z, file source at log entry 5."""
    return golden("agg-hdfs")


@pytest.fixture
def in_pauses(monkeypatch):
    """Lets things happen while the command waits: one in each pause between two polls; all of them have to."""
    left: deque[Callable[[], object]] = deque()
    sleep, own = time.sleep, threading.get_ident()

    def pause(seconds: float) -> None:
        if left and threading.get_ident() == own:  # other tests of this process have left threads, which sleep as well
            left.popleft()()
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", pause)
    yield lambda *happen: left.extend(happen)
    assert not left, "the command did not wait for it"


REACHED = {
    "batch": ("--batch", 7),
    "watermark": ("--watermark", "2026-01-01T00:00:40Z"),
    "watermark, milliseconds": ("--watermark", WATERMARK_MS),
    "offsets": ("--offsets", '{"0": {"logOffset": 5}}', "--source", "0=file"),
    "idle": ("--idle", "0"),
    "stalled": ("--stalled", "PT0S"),
    "condition": ("--condition", '{"condition": "batch", "batch_id": "7"}'),
    "two of two": ("--batch", 7, "--watermark", "2026-01-01"),
    "one of two is enough": ("--batch", 99, "--watermark", "2026-01-01", "--any"),
    "two spelled out": (
        "--condition",
        '{"condition": "batch", "batch_id": 7}',
        "--condition",
        '{"condition": "idle", "for_ms": 0}',
    ),
}
NOT_REACHED = {
    "batch": ("--batch", 8),
    "watermark": ("--watermark", "2026-01-01T00:00:40.001Z"),
    "offsets": ("--offsets", '{"0": {"logOffset": 6}}', "--source", "0=file"),
    "next batch": ("--next-batch",),
    "idle": ("--idle", "P36500D"),
    "stalled": ("--stalled", "P36500D"),
    "one of two": ("--batch", 7, "--watermark", "2030-01-01"),
    "none of two": ("--batch", 8, "--watermark", "2030-01-01", "--any"),
}
NO_USAGE = {
    "no condition is given": (),
    "no time": ("--watermark", "yesterday-ish"),
    "no duration": ("--idle", "P1M"),
    "no JSON": ("--offsets", "{"),
    "no object": ("--condition", "5"),
    "no lag": ("--lag", "soon"),
    "more lag than Python reads": ("--lag", "9" * 5_000),
    "a lag in other digits": ("--lag", "\uff17"),
    "more batches than Python reads": ("--batch", "9" * 5_000),
    "a batch in other digits": ("--batch", "\uff17"),
    "more in JSON than Python reads": ("--condition", '{"condition": "batch", "batch_id": ' + "9" * 5_000 + "}"),
    "more in a text than Python reads": ("--condition", '{"condition": "batch", "batch_id": "' + "9" * 5_000 + '"}'),
    "more time than Python reads": ("--until", "9" * 5_000),
    "more pause than Python reads": ("--idle", "9" * 5_000),
    "no source": ("--batch", 7, "--source", "kafka"),
    "no pause": ("--batch", 7, "--poll-interval", 0),
    "ends that nobody declared": ("--caught-up",),
    "no such target": ("--condition", '{"condition": "bach"}'),
}
NO_SENSE = {
    "a source that the query does not have": (("--offsets", '{"7": 5}'), "no source '7'"),
    "a source without a type": (("--offsets", '{"0": 5}'), "type is not known"),
    "an end that is still to come": (("--until", "2999-01-01", "--source", "0=file:/landing"), "is in the future"),
}


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", REACHED.values(), ids=REACHED)
def test_what_is_reached_ends_at_once_with_0(ckpt, checkpoint, options):
    code, out, err = ckpt(checkpoint, *options)
    assert (code, err) == (0, "") and out.startswith("Reached: ")


@pytest.mark.parametrize("options", NOT_REACHED.values(), ids=NOT_REACHED)
def test_what_is_not_reached_in_time_ends_with_1(ckpt, checkpoint, options):
    code, out, err = ckpt(checkpoint, *options, *NOW)
    assert code == 1 and out.startswith("Timed out: ")
    assert out.removeprefix("Timed out: ").strip() in err, "it says on stderr what it waits for"


@pytest.mark.parametrize("options", [*REACHED.values(), *(NOT_REACHED[name] + NOW for name in ("batch", "stalled"))])
def test_the_end_tells_the_watermark_whatever_was_waited_for(ckpt, checkpoint, options):
    _, out, _ = ckpt(checkpoint, *options, "--json")
    assert json.loads(out)["watermark_ms"] == WATERMARK_MS


def test_a_wait_ends_without_the_watermark_where_the_entry_cannot_be_read(ckpt, checkpoint):
    (checkpoint / "offsets/7").unlink()
    code, out, _ = ckpt(checkpoint, "--batch", 7, "--json")
    assert (code, json.loads(out)["watermark_ms"]) == (0, None)


@pytest.mark.parametrize("options", NO_USAGE.values(), ids=NO_USAGE)
def test_what_cannot_be_read_is_a_usage_error_2(ckpt, checkpoint, options):
    code, out, err = ckpt(checkpoint, *options, *(() if "--poll-interval" in options else NOW))
    assert (code, out) == (2, "") and err


@pytest.mark.parametrize(("options", "problem"), NO_SENSE.values(), ids=NO_SENSE)
def test_what_does_not_fit_the_query_ends_with_3(ckpt, checkpoint, options, problem):
    code, _, err = ckpt(checkpoint, *options, *FAST)
    assert code == 3 and problem in err


@pytest.fixture
def no_watermark(golden) -> Path:
    """Twelve committed batches of a query without a watermark."""
    return golden("file-to-parquet-12")


KAFKA_OFFSETS = '{"0": {"orders": {"0": 1, "7": 1}}}'
NEVER = {
    "a watermark that the query has not": ("watermark", ("--watermark", "2026-01-01"), "has no watermark up to batch 11"),
    "the same beside what will be met": ("watermark", ("--watermark", "2026-01-01", "--batch", 99), "has no watermark"),
    "a location that is not there": ("nowhere", ("--batch", 1), "does not exist; "),
    "a location that is no checkpoint": ("other", ("--batch", 1), "is not a checkpoint: it has neither offsets/ nor commits/"),
    "a partition that is not read": ("kafka", ("--offsets", KAFKA_OFFSETS, "--source", "0=kafka"), "has not read orders-7"),
}  # fmt: skip


@pytest.fixture
def home(golden, tmp_path) -> Callable[[str], Path]:
    """A checkpoint, or none, for each way never to be met."""

    def make(name: str) -> Path:
        if name == "nowhere":
            return tmp_path / "checkpoints" / "orders"
        if name == "other":
            (tmp_path / "other").mkdir()
            (tmp_path / "other" / "part-0.parquet").write_bytes(b"x")
            return tmp_path / "other"
        checkpoint = golden("file-to-parquet-12")
        if name == "kafka":
            for entry in (checkpoint / "offsets").glob("[0-9]*"):
                *head, _ = entry.read_text().split("\n")
                entry.write_text("\n".join([*head, '{"orders":{"0":1}}']))
        return checkpoint

    return make


@pytest.mark.parametrize(("where", "options", "said"), NEVER.values(), ids=NEVER)
def test_what_will_never_be_met_is_said_at_once_and_once(ckpt, home, where, options, said):
    code, _, err = ckpt(home(where), *options, "--timeout", "0.3", "--poll-interval", "0.05")
    assert code == 1 and err.startswith("Warning: ") and err.count("Warning: ") == 1 and said in err
    assert "1970" not in err


@pytest.mark.parametrize(("where", "options", "said"), NEVER.values(), ids=NEVER)
def test_what_will_never_be_met_fails_fast_with_4(ckpt, home, where, options, said):
    code, _, err = ckpt(home(where), *options, "--fail-fast", *FAST)
    assert code == 4 and said in err and err.startswith("Error: ")


def test_one_of_two_that_can_be_met_is_waited_for(ckpt, no_watermark):
    options = ("--watermark", "2026-01-01", "--batch", 99, "--any", "--fail-fast")
    assert ckpt(no_watermark, *options, *NOW)[0] == 1


def test_the_directory_above_that_exists_is_named(ckpt, tmp_path):
    _, _, err = ckpt(tmp_path / "a" / "b", "--batch", 1, *NOW)
    assert f"{tmp_path / 'a' / 'b'} does not exist; {tmp_path} does." in err


def test_a_pause_as_long_as_the_rhythm_is_no_stall(ckpt, checkpoint):
    for number, entry in enumerate(sorted((checkpoint / "commits").glob("[0-9]*"))):
        os.utime(entry, (time.time() - 300 * (8 - number),) * 2)
    code, _, err = ckpt(checkpoint, "--idle", "4m", "--batch", "99", "--fail-fast", *NOW)
    assert (code, "Warning: " in err) == (1, False), "idle is reached"
    code, _, err = ckpt(checkpoint, "--batch", "99", "--stalled", "310s", "--fail-fast", *NOW)
    assert code == 1 and "Warning" not in err
    (checkpoint / "commits/7").touch()
    code, _, err = ckpt(checkpoint, "--stalled", "4m", "--fail-fast", *NOW)
    assert code == 1 and "Warning: The query commits about every" in err


def test_the_declaration_that_is_missing_is_offered_as_the_log_has_it(ckpt, checkpoint):
    code, _, err = ckpt(checkpoint, "--caught-up")
    assert code == 2 and err.endswith("--source 0=file:/golden/agg-hdfs/input/orders\n")
    code, _, err = ckpt(checkpoint, "--caught-up", "--source", "0=file:/nowhere", *NOW)
    assert code == 3 and "such as /golden/agg-hdfs/input/orders/000.json" in err
    assert err.endswith("0=file:/golden/agg-hdfs/input/orders.\n")


def test_a_damaged_checkpoint_ends_with_3(ckpt, checkpoint):
    (checkpoint / "offsets/7").write_bytes(b"")
    code, _, err = ckpt(checkpoint, "--watermark", "2030-01-01", *FAST)
    assert code == 3 and "offsets/7" in err


def test_a_target_that_cannot_come_any_more_ends_with_4(ckpt, checkpoint, in_pauses):
    in_pauses((checkpoint / "commits/7").unlink)
    code, out, err = ckpt(checkpoint, "--batch", 9, "--json", *FAST)
    assert code == 4
    error = json.loads(out or err.splitlines()[-1])["error"]
    assert error["code"] == "WAIT_LOST" and error["location"] == str(checkpoint)


def test_a_storage_that_is_away_is_asked_again_until_the_time_is_up(ckpt, checkpoint, monkeypatch):
    asked, ls = [], Store.ls

    def away(self: Store, directory: str = ""):
        asked.append(directory)
        if len(asked) < 4:
            raise StoreUnavailableError("away", location=self.location)
        return ls(self, directory)

    monkeypatch.setattr(Store, "ls", away)
    assert ckpt(checkpoint, "--batch", 7, *FAST)[0] == 0
    assert len(asked) == 4
    asked.clear()
    code, _, err = ckpt(checkpoint, "--batch", 7, *NOW)
    assert code == 5 and "away" in err, "whether it was reached, nobody knows"


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_it_ends_when_the_batch_is_committed(ckpt, checkpoint, tmp_path, in_pauses):
    """A planned batch does not count."""
    commit = checkpoint / "commits/7"
    commit.rename(tmp_path / "7")
    in_pauses(lambda: None, lambda: None, lambda: shutil.copy(tmp_path / "7", commit))
    code, _, err = ckpt(checkpoint, "--batch", 7, *FAST)
    assert code == 0
    assert err == "committed batch 6, waiting for batch 7\n", "one line as long as nothing changes"


def test_a_checkpoint_that_does_not_exist_yet_is_waited_for(ckpt, checkpoint, tmp_path, in_pauses):
    later = tmp_path / "later"
    in_pauses(lambda: shutil.copytree(checkpoint, later))
    assert ckpt(later, "--batch", 7, *FAST)[0] == 0


def test_the_deadline_is_a_time_and_the_earlier_one_counts(ckpt, checkpoint):
    assert ckpt(checkpoint, "--batch", 8, "--deadline", "2026-01-01", "--timeout", "PT1H", *FAST)[0] == 1
    began = time.monotonic()
    assert ckpt(checkpoint, "--batch", 8, "--deadline", "2999-01-01", "--timeout", 0.5, *FAST)[0] == 1
    assert time.monotonic() - began >= 0.5
    assert ckpt(checkpoint, "--batch", 7, "--deadline", "2026-01-01", *FAST)[0] == 0, "it looks once all the same"


def test_the_end_of_a_directory_is_waited_for(ckpt, checkpoint, tmp_path):
    landing = tmp_path / "orders"
    landing.mkdir()
    for entry in (checkpoint / "sources/0").glob("[0-9]*"):
        entry.write_text(entry.read_text().replace("/golden/agg-hdfs/input/orders", str(landing)))
    declared = ("--source", f"0=file:{landing}")
    (landing / "000.json").write_text("{}")
    for option in (("--caught-up",), ("--lag", "PT0S")):
        assert ckpt(checkpoint, *option, *declared, *FAST)[0] == 0, "the query has read that file"
    (landing / "unread.json").write_text("{}")
    for option in (("--caught-up",), ("--lag", "PT0S")):
        code, _, err = ckpt(checkpoint, *option, *declared, *NOW)
        assert code == 1 and "still has to read 1 files, such as" in err and "unread.json" in err
    assert ckpt(checkpoint, "--until", "2026-01-01", *declared, *FAST)[0] == 0, "it came later"


def test_looking_writes_nothing(ckpt, checkpoint):
    before = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
    ckpt(checkpoint, "--batch", 8, "--idle", "PT1H", *NOW)
    assert {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")} == before


# --- what it says ----------------------------------------------------------------------------------------------------


def test_json_goes_to_stdout_alone(ckpt, checkpoint):
    code, out, err = ckpt(checkpoint, "--batch", 99, "--watermark", "2026-01-01", "--any", "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document.pop("query_id") and document.pop("text")
    assert document == {
        "format_version": 1,
        "location": str(checkpoint),
        "reached": True,
        "status": "reached",
        "batch_id": 7,
        "watermark_ms": WATERMARK_MS,
        "met": ["watermark"],
        "condition": {
            "condition": "any_of",
            "conditions": [
                {"condition": "batch", "batch_id": 99},
                {"condition": "watermark", "watermark_ms": 1767225600000},
            ],
        },
    }


def test_json_of_a_timeout_says_where_the_query_stands(ckpt, checkpoint):
    code, out, _ = ckpt(checkpoint, "--next-batch", "--json", *NOW)
    document = json.loads(out)
    assert code == 1 and document["status"] == "timeout" and document["reached"] is False
    assert document["batch_id"] == 7 and document["met"] == []
    assert document["condition"]["after_ms"] > WATERMARK_MS, "what now meant"


def test_the_condition_of_one_wait_can_be_given_to_another(ckpt, checkpoint):
    _, out, _ = ckpt(checkpoint, "--next-batch", "--batch", 9, "--json", *NOW)
    target = json.loads(out)["condition"]
    _, again, _ = ckpt(checkpoint, "--condition", json.dumps(target), "--json", *NOW)
    assert json.loads(again)["condition"] == target


def test_lines_on_stderr_tell_of_progress_and_of_the_time_that_is_left(ckpt, checkpoint, tmp_path, in_pauses):
    for number in (6, 7):
        (checkpoint / f"commits/{number}").rename(tmp_path / str(number))
    for number in range(6):
        at_s = time.time() - (6 - number) * 30
        os.utime(checkpoint / f"commits/{number}", (at_s, at_s))
    in_pauses(*(lambda n=n: shutil.copy(tmp_path / n, checkpoint / "commits" / n) for n in ("6", "7")))
    code, _, err = ckpt(checkpoint, "--batch", 7, *FAST)
    lines = [line.partition(", about ")[0] for line in err.splitlines()]
    assert code == 0 and "left" in err
    assert list(dict.fromkeys(lines)) == [f"committed batch {number}, waiting for batch 7" for number in (5, 6)]


def test_a_terminal_gets_a_live_bar(checkpoint):
    leader, follower = pty.openpty()
    command = [str(Path(sys.executable).with_name("ckpt")), "wait", str(checkpoint), "--batch", "8", "--timeout", "1"]
    done = subprocess.run(
        [*command, *FAST], stdout=subprocess.PIPE, stderr=follower, env={**os.environ, "TERM": "xterm"}
    )
    os.close(follower)
    shown = os.read(leader, 1 << 20).decode()
    os.close(leader)
    assert done.returncode == 1 and done.stdout.startswith(b"Timed out: ")
    assert "\x1b[" in shown and "waiting for batch 8" in shown


def test_waiting_is_cheap(checkpoint):
    arguments = ["wait", str(checkpoint), "--batch", "7", "--json"]
    loaded = loaded_by(f"from airflow_provider_ckpt.cli import run\nrun({arguments!r})")
    assert not loaded & {
        "airflow",
        "pyspark",
        "pandas",
        "s3fs",
        "pendulum",
        "confluent_kafka",
        "deltalake",
        "pyiceberg",
    }


@pytest.mark.parametrize(
    ("timeout_ms", "given", "options"),
    [
        (None, (), ()),
        (60_000, (), ()),
        (20_000, (), ("socket.timeout.ms=10000",)),
        (3_000, (), ("socket.timeout.ms=1500",)),
        (100, ("security.protocol=SSL",), ("security.protocol=SSL", "socket.timeout.ms=1000")),
        (3_000, ("kafka.socket.timeout.ms=9000",), ("kafka.socket.timeout.ms=9000",)),
    ],
)
def test_a_silent_broker_does_not_keep_a_short_wait_for_long(timeout_ms, given, options):
    assert wait_command._answering_within(timeout_ms, given) == options
