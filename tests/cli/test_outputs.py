"""What ``check`` and ``gate`` give to CI: documents, files, baselines, and the exit code that goes with them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml

from airflow_provider_ckpt.cli import run
from tests.package import loaded_by
from tests.sarif import valid_run

IGNORED = ("--conf", "spark.sql.shuffle.partitions=8")
FORMATS: dict[str, Callable[[str], object]] = {
    "text": lambda text: text,
    "json": json.loads,
    "junit": lambda text: JUnitXml.fromstring(text.encode()),
    "sarif": valid_run,
}


@pytest.fixture
def ckpt(capsys):
    """The command as the shell runs it: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def sound(golden) -> Path:
    return golden("agg-hdfs")


@pytest.fixture
def broken(golden) -> Path:
    """The newest offset entry is cut short."""
    checkpoint = golden("file-to-parquet-12")
    truncate(checkpoint, 11)
    return checkpoint


def truncate(checkpoint: Path, batch_id: int) -> None:
    entry = checkpoint / "offsets" / str(batch_id)
    entry.write_bytes(entry.read_bytes()[:100])


# --- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", FORMATS)
@pytest.mark.parametrize("command", ["check", "gate"])
def test_every_document_goes_to_stdout_alone(ckpt, sound, command, document):
    code, out, err = ckpt(command, sound, "--format", document)
    assert (code, err) == (0, "")
    FORMATS[document](out)


@pytest.mark.parametrize("document", FORMATS)
def test_the_exit_code_is_that_of_the_findings_in_every_document(ckpt, broken, document):
    for command in ("check", "gate"):
        code, out, _ = ckpt(command, broken, "--format", document)
        assert code == 1 and "CKPT102" in out


@pytest.mark.parametrize("command", ["check", "gate"])
def test_json_has_two_names(ckpt, broken, command):
    assert ckpt(command, broken, "--json") == ckpt(command, broken, "--format", "json")
    assert ckpt(command, broken, "--json") == ckpt(command, broken, "--json", "--format", "json")


def test_json_and_another_format_is_a_usage_error(ckpt, sound):
    code, _, err = ckpt("check", sound, "--json", "--format", "sarif")
    assert code == 2 and "--format sarif" in err


def test_an_unknown_format_is_a_usage_error(ckpt, sound):
    assert ckpt("check", sound, "--format", "html")[0] == 2


@pytest.mark.parametrize("document", FORMATS)
def test_the_output_file_has_the_document_and_stdout_has_text(ckpt, broken, tmp_path, document):
    target = tmp_path / "verdict"
    code, out, _ = ckpt("gate", broken, "--format", document, "--output", target)
    assert code == 1
    FORMATS[document](target.read_text())
    assert "CKPT102" in target.read_text()
    assert f"BLOCK {broken}: Spark stops with" in out and "error CKPT102: offsets/11:" in out


def test_an_output_that_cannot_be_written_is_a_usage_error(ckpt, sound, tmp_path):
    code, _, err = ckpt("check", sound, "--format", "junit", "--output", tmp_path / "nope" / "junit.xml")
    assert code == 2 and "--output" in err and "does not exist; make it first" in err


@pytest.mark.sweep
@pytest.mark.parametrize("document", ["json", "junit", "sarif"])
@pytest.mark.parametrize("command", ["check", "gate"])
def test_documents_are_cheap(goldens, tmp_path, command, document):
    checkpoint = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    arguments = [command, str(checkpoint), "--format", document, "--output", str(tmp_path / "verdict")]
    loaded = loaded_by(f"from airflow_provider_ckpt.cli import run\nrun({arguments!r})")
    assert (tmp_path / "verdict").exists()
    assert not loaded & {"airflow", "pyspark", "pandas", "rich", "pendulum", "jsonschema"}


@pytest.mark.parametrize("document", FORMATS)
@pytest.mark.parametrize("command", ["check", "gate"])
def test_a_location_that_is_no_text_breaks_no_document(ckpt, broken, tmp_path, command, document):
    location = broken.rename(tmp_path / os.fsdecode(b"orders-\xff\x1b"))
    code, out, _ = ckpt(command, location, "--format", document)
    assert code == 1 and "CKPT102" in out
    FORMATS[document](out)


# --- several checkpoints ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", FORMATS)
def test_one_that_cannot_be_read_hides_no_other(ckpt, broken, sound, tmp_path, document):
    """The worst comes first, in the middle and last; the exit code is always that of the worst."""
    gone = tmp_path / "gone"
    for locations in ([gone, broken, sound], [broken, gone, sound], [sound, broken, gone]):
        code, out, err = ckpt("check", *locations, "--format", document)
        assert code == 3 and "does not exist" in err and str(gone) in err
        assert "CKPT102" in out and str(sound) in out + (out if document != "sarif" else str(sound))


def test_the_documents_have_an_entry_for_it(ckpt, broken, sound, tmp_path):
    gone = tmp_path / "gone"
    everything = ("check", sound, gone, broken, "--format")
    by_location = {item["location"]: item for item in json.loads(ckpt(*everything, "json")[1])["checkpoints"]}
    assert by_location.keys() == {str(sound), str(gone), str(broken)}
    assert by_location[str(gone)]["error"]["code"] == "NOT_FOUND" and by_location[str(sound)]["findings"] == []
    suites = {suite.name: suite for suite in JUnitXml.fromstring(ckpt(*everything, "junit")[1].encode())}
    assert {name: (suite.errors, suite.failures) for name, suite in suites.items()} == {
        str(sound): (0, 0),
        str(gone): (1, 0),
        str(broken): (0, 1),
    }
    run = valid_run(ckpt(*everything, "sarif")[1])
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [result["ruleId"] for result in run["results"]] == ["CKPT102"]


def test_a_gate_that_cannot_read_writes_its_document_as_well(ckpt, tmp_path):
    code, out, err = ckpt("gate", tmp_path / "gone", "--json")
    assert code == 3 and json.loads(out)["error"]["code"] == "NOT_FOUND" and "does not exist" in err
    code, out, _ = ckpt("gate", tmp_path / "gone", "--format", "junit")
    assert code == 3 and JUnitXml.fromstring(out.encode()).errors == 1


def test_storage_that_is_down_is_worse_than_findings(ckpt, broken, s3_down):
    options = [part for option in s3_down.items() for part in ("--storage-option", "=".join(option))]
    code, out, _ = ckpt("check", broken, "s3://bucket/orders", "--json", *options)
    found, down = json.loads(out)["checkpoints"]
    assert code == 5 and found["findings"] and down["error"]["code"] == "STORE_UNAVAILABLE"


# --- baselines -------------------------------------------------------------------------------------------------------


@pytest.fixture
def baseline(tmp_path) -> Path:
    return tmp_path / "baseline.json"


def test_known_findings_are_shown_and_do_not_count(ckpt, broken, baseline):
    assert ckpt("check", broken, "--write-baseline", baseline)[0] == 1, "writing a baseline does not change the answer"
    code, out, _ = ckpt("check", broken, "--baseline", baseline)
    assert code == 0 and "CKPT102" in out and "Known findings" in out
    _, out, _ = ckpt("check", broken, "--baseline", baseline, "--json")
    assert [(finding["code"], finding["known"]) for finding in json.loads(out)["findings"]] == [("CKPT102", True)]
    code, out, _ = ckpt("check", broken, "--deep", "--baseline", baseline, "--format", "junit")
    xml = JUnitXml.fromstring(out.encode())
    assert code == 0 and (xml.failures, xml.skipped) == (0, 2), "the finding that is known, and what was not judged"
    _, out, _ = ckpt("check", broken, "--baseline", baseline, "--format", "sarif")
    (result,) = valid_run(out)["results"]
    assert result["baselineState"] == "unchanged" and result["suppressions"]


def test_new_damage_counts_beside_known_damage(ckpt, broken, baseline):
    ckpt("check", broken, "--write-baseline", baseline)
    truncate(broken, 10)
    code, out, _ = ckpt("check", broken, "--baseline", baseline, "--json")
    known = {finding["name"]: finding["known"] for finding in json.loads(out)["findings"]}
    assert code == 1 and known == {"offsets/11": True, "offsets/10": False}


def test_a_gate_lets_a_known_finding_pass(ckpt, sound, baseline):
    assert ckpt("gate", sound, *IGNORED, "--write-baseline", baseline)[0] == 1
    code, out, _ = ckpt("gate", sound, *IGNORED, "--baseline", baseline, "--json")
    assert code == 0 and json.loads(out)["decision"] == "warn" and json.loads(out)["findings"][0]["known"] is True
    code, out, _ = ckpt("gate", sound, *IGNORED, "--baseline", baseline)
    assert code == 0 and out.startswith("WARN ") and "Known findings" in out
    other_value = ("--conf", "spark.sql.shuffle.partitions=16")
    assert ckpt("gate", sound, *other_value, "--baseline", baseline)[0] == 1, "another value is another deploy"


def test_a_gate_is_never_open_when_spark_would_stop(ckpt, broken, baseline):
    ckpt("gate", broken, "--write-baseline", baseline)
    for document, read in FORMATS.items():
        code, out, _ = ckpt("gate", broken, "--baseline", baseline, "--format", document)
        assert code == 1, document
        read(out)
    _, out, _ = ckpt("gate", broken, "--baseline", baseline, "--json")
    assert json.loads(out)["decision"] == "block" and json.loads(out)["findings"][0]["known"] is False


def test_a_baseline_is_written_for_what_was_judged_alone(ckpt, broken, sound, tmp_path, baseline):
    ckpt("check", broken, "--write-baseline", baseline)
    ckpt("gate", sound, *IGNORED, "--write-baseline", baseline)
    assert json.loads(baseline.read_text())["accepted"].keys() == {str(broken), str(sound)}
    moved = broken.rename(tmp_path / "moved")
    assert ckpt("check", broken, sound, "--write-baseline", baseline)[0] == 3
    assert json.loads(baseline.read_text())["accepted"].keys() == {str(broken)}, "what could not be judged stays"
    moved.rename(broken)
    assert ckpt("check", broken, "--baseline", baseline)[0] == 0


def test_a_bad_baseline_is_a_usage_error_before_anything_is_judged(ckpt, sound, baseline):
    baseline.write_text("[]")
    for option in ("--baseline", "--write-baseline"):
        code, out, err = ckpt("check", sound, option, baseline)
        assert (code, out) == (2, "") and option in err and str(baseline) in err and "version 1" in err
    assert baseline.read_text() == "[]"


def test_a_baseline_that_is_not_there_is_a_usage_error(ckpt, sound, baseline):
    code, _, err = ckpt("gate", sound, "--baseline", baseline)
    assert code == 2 and "No such file" in err


def test_a_baseline_that_is_no_text_is_a_usage_error(ckpt, sound, baseline):
    baseline.write_bytes(b"\xff\xfe\x00")
    assert ckpt("gate", sound, "--baseline", baseline)[0] == 2


def test_a_program_gets_the_document_on_one_line_and_a_person_on_several(ckpt, sound, monkeypatch):
    """What Airflow's BashOperator gives to the next task is the last line."""
    for words in (["check", sound], ["gate", sound], ["fence", sound], ["fleet", sound.parent], ["show", sound / "no"]):
        lines = ckpt(*words, "--json")[1].splitlines()
        assert len(lines) == 1 and json.loads(lines[0])["format_version"] == 1
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for words in (["check", sound], ["fleet", sound.parent]):
        said = ckpt(*words, "--json")[1]
        assert len(said.splitlines()) > 2 and json.loads(said)["format_version"] == 1
