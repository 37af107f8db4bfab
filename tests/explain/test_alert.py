"""The text of an alert: what is known, what is not, in how many characters, and nothing of the log itself."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.alert import MOST_CHARS, alert_of
from airflow_provider_ckpt.explain.explain import ask_checkpoint, explain
from airflow_provider_ckpt.explain.given import Given
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import GOLDEN, unpack
from tests.package import PACKAGE

TRACES = PACKAGE.parent / "tests" / "explain" / "traces" / "4.3"
SUBJECT = "streams.orders (run r, try 1)"


def traced(name: str) -> list[str]:
    return (TRACES / f"{name}.log").read_text().splitlines()


@pytest.fixture
def gap(tmp_path):
    """A checkpoint whose offset log lacks the entry before the newest one."""
    unpack(next(GOLDEN.glob("spark-4.3.0/agg-hdfs.tar.gz")), tmp_path)
    offsets = tmp_path / "checkpoint" / "offsets"
    newest = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
    for name in (str(newest - 1), f".{newest - 1}.crc"):
        (offsets / name).unlink(missing_ok=True)
    return tmp_path / "checkpoint", newest


def test_cause_evidence_command_and_page(gap):
    checkpoint, newest = gap
    text = f"java.lang.IllegalStateException: batch {newest - 1} doesn't exist"
    explained = ask_checkpoint(explain([text]), Store.open(str(checkpoint)))
    alert = alert_of(explained, SUBJECT, link="https://airflow/plugin/checkpoints?at=x")
    assert alert.is_known and alert.text.startswith(f"{alert.headline}\n")
    assert alert.headline.startswith(f"{SUBJECT} failed: ")
    for part in ("Cause: ", "Evidence: The checkpoint shows this cause: CKPT110", f"CKPT110 (offsets/{newest - 1}): ",
                 f"  ckpt rollback {checkpoint} ", "Runbook: ckpt explain ", "Page: https://airflow/plugin/"):  # fmt: skip
        assert part in alert.text


def test_the_cause_of_a_recorded_log_is_named_without_a_checkpoint():
    alert = alert_of(explain(traced("state-delta-missing")), SUBJECT)
    assert alert.is_known
    assert "failed: CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS" in alert.headline


def test_what_the_users_code_throws_is_not_known_and_its_message_is_not_told():
    lines = [
        "Traceback (most recent call last):",
        '  File "/opt/jobs/orders.py", line 7, in parse',
        "ValueError: no such user: admin / hunter2",
    ]
    alert = alert_of(explain(lines), SUBJECT, location="s3://lake/ck")
    assert not alert.is_known
    assert alert.headline == f"{SUBJECT} failed: ckpt does not know why, and does not guess"
    assert "Not known: ValueError, which the query's own code threw" in alert.text
    assert "/opt/jobs/orders.py" in alert.text and "hunter2" not in alert.text
    assert "ckpt check s3://lake/ck --deep says whether the checkpoint is whole." in alert.text


def test_the_last_failure_counts():
    """What the query's own code threw after Spark's failure stopped it; before it, it did not."""
    own = [
        "Traceback (most recent call last):",
        '  File "/opt/jobs/orders.py", line 7, in parse',
        "ValueError: x",
    ]
    spark = traced("state-delta-missing")
    assert not alert_of(explain([*spark, *own]), SUBJECT).is_known
    assert alert_of(explain([*own, *spark]), SUBJECT).is_known


WARNS = (
    "26/11/27 10:00:00 WARN OffsetSeqMetadata: Updating the value of conf 'spark.sql.shuffle.partitions' in current "
    "session from '200' to '2'."
)


def test_a_warning_is_no_cause_of_a_failure():
    """Spark goes on after it; what the query's own code threw is not known, with it and without."""
    assert explain([WARNS]).explanations[0].met.is_warning
    own = ["Traceback (most recent call last):", '  File "/opt/jobs/orders.py", line 7, in parse', "ValueError: x"]
    for lines in ([WARNS], [WARNS, *own]):
        alert = alert_of(explain(lines), SUBJECT)
        assert not alert.is_known and alert.headline.endswith("ckpt does not know why, and does not guess")
        assert "shuffle.partitions" not in alert.text
    assert alert_of(explain([WARNS, *traced("state-delta-missing")]), SUBJECT).is_known


def test_several_causes_are_possible_until_one_is_shown(gap):
    checkpoint, newest = gap
    explained = explain([f"java.lang.IllegalStateException: batch {newest - 1} doesn't exist"])
    alert = alert_of(explained, SUBJECT)
    assert not alert.is_known and alert.text.count("Possible cause: ") == 2
    shown = alert_of(ask_checkpoint(explained, Store.open(str(checkpoint))), SUBJECT)
    assert shown.is_known and "\nCause: " in shown.text and "Possible cause" not in shown.text


def test_a_shared_word_is_possible_at_most():
    alert = alert_of(explain(['java.lang.NumberFormatException: For input string: "N/A"']), SUBJECT)
    assert not alert.is_known and " failed: possibly " in alert.headline
    assert "Not proven: " in alert.text and "N/A" not in alert.text
    assert not [line for line in alert.text.splitlines() if line.startswith("  ckpt ") and "--execute" in line]


def test_an_empty_log():
    alert = alert_of(explain([]), SUBJECT, notes=["The log cannot be read: x."])
    assert alert.text.splitlines() == [
        f"{SUBJECT} failed: ckpt does not know why, and does not guess",
        "The text that was read has no exception that ckpt can tell.",
        "The log cannot be read: x.",
    ]


@pytest.mark.parametrize("most", [200, 500, MOST_CHARS])
def test_the_length_is_bounded_and_the_page_stays(gap, most):
    checkpoint, newest = gap
    text = f"java.lang.IllegalStateException: batch {newest - 1} doesn't exist"
    explained = ask_checkpoint(explain([text]), Store.open(str(checkpoint)))
    alert = alert_of(explained, SUBJECT, link="page", most=most)
    assert len(alert.text) <= most and alert.headline in alert.text
    assert alert.text.endswith("Page: page")


def test_secrets_and_hidden_characters_are_left_out():
    given = Given(sink="file:s3://user:hunter2hunter2@lake/out")
    explained = explain(traced("state-delta-missing"), given=given)
    alert = alert_of(explained, "streams.\x1b[31morders", notes=["https://u:hunter2hunter2@host failed"], location="s3://u:hunter2hunter2@lake/ck")  # fmt: skip
    assert "hunter2" not in alert.text and "\x1b" not in alert.text


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.log")), ids=lambda path: path.stem)
def test_no_recorded_log_breaks_it(path):
    alert = alert_of(explain(path.read_text().splitlines()), SUBJECT)
    assert len(alert.text) <= MOST_CHARS and "\n\n" not in alert.text
