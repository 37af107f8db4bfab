"""Bad input: each kind gets a readable message that names the place and what to do, and its own exit code."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_ckpt import errors
from airflow_provider_ckpt.cli import cli, run
from tests.permissions import without_rights

NEWEST = 11


@pytest.fixture
def checkpoint(golden) -> Path:
    """Twelve batches of a stateless query, healthy."""
    return golden("file-to-parquet-12")


def ckpt(capsys, *arguments: object) -> tuple[int, str, str]:
    """Run the command as the shell would: exit code, stdout, stderr."""
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("scheme", ["file://localhost", "FILE://", "file://"])
def test_every_way_to_write_a_file_of_this_machine(capsys, checkpoint, scheme):
    assert ckpt(capsys, "show", f"{scheme}{checkpoint}") == ckpt(capsys, "show", checkpoint)


@pytest.mark.parametrize("location", ["s3://", "s3a:///", "gs://"])
def test_a_store_without_a_bucket(capsys, location):
    code, _, err = ckpt(capsys, "show", location)
    assert code == 3 and "does not have a bucket" in err


def test_the_option_of_offsets_that_cannot_be_read_is_named(capsys, checkpoint):
    code, _, err = ckpt(capsys, "rollback", checkpoint, "--to-offsets", "x")
    assert code == 2 and "--to-offsets" in err


def test_missing_location(capsys, tmp_path):
    code, _, err = ckpt(capsys, "show", tmp_path / "nope")
    assert code == 3 and "does not exist" in err and str(tmp_path / "nope") in err and "checkpointLocation" in err


def test_empty_location(capsys, tmp_path):
    code, _, err = ckpt(capsys, "show", tmp_path)
    assert code == 3 and "is empty" in err


def test_not_a_checkpoint(capsys, tmp_path):
    (tmp_path / "part-0.parquet").write_text("x")
    code, _, err = ckpt(capsys, "show", tmp_path)
    assert code == 3 and "not a checkpoint" in err and "data files" in err


def damage(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def apply(checkpoint: Path) -> None:
        path = checkpoint / name
        path.write_bytes(change(path.read_bytes()))
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

    return apply


DAMAGE = {
    "empty last entry": (damage(f"offsets/{NEWEST}", lambda data: b""), f"offsets/{NEWEST}", "Incomplete log file"),
    "truncated last entry": (damage(f"offsets/{NEWEST}", lambda data: data[:100]), f"offsets/{NEWEST}", "not JSON"),
    "version line alone": (damage(f"offsets/{NEWEST}", lambda data: b"v1"), f"offsets/{NEWEST}", "ends after its version"),
    "later format version": (damage(f"offsets/{NEWEST}", lambda data: b"v9" + data[2:]), f"offsets/{NEWEST}", "v9; the latest known version is v2"),
    "later commit version": (damage(f"commits/{NEWEST}", lambda data: b"v7" + data[2:]), f"commits/{NEWEST}", "v7; the latest known version is v3"),
    "a conf that is not a string": (damage(f"offsets/{NEWEST}", lambda data: data.replace(b'"conf":{', b'"conf":{"x.y":true,')), f"offsets/{NEWEST}", "the conf 'x.y' is not a text but 'True'"),
    "garbage": (damage(f"offsets/{NEWEST}", lambda data: os.urandom(100_000_000)), f"offsets/{NEWEST}", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_entries(capsys, checkpoint, case):
    apply, name, message = DAMAGE[case]
    apply(checkpoint)
    code, out, err = ckpt(capsys, "show", checkpoint)
    assert code == 3 and message in err and name in err and len(err) < 600
    code, out, _ = ckpt(capsys, "check", checkpoint, "--json")
    assert code == 1
    assert [(item["code"], item["name"]) for item in json.loads(out)["findings"] if item["severity"] == "error"] == [
        ({"empty last entry": "CKPT101"}.get(case, "CKPT103" if "later" in case else "CKPT102"), name)
    ]
    code, out, _ = ckpt(capsys, "gate", checkpoint, "--json")
    assert code == 1 and json.loads(out)["decision"] == "block" and json.loads(out)["spark_error"]


def test_metadata_gone(capsys, checkpoint):
    (checkpoint / "metadata").unlink()
    code, out, _ = ckpt(capsys, "show", checkpoint, "--json")
    assert code == 0 and json.loads(out)["query_id"] is None
    code, out, _ = ckpt(capsys, "gate", checkpoint, "--json")
    assert code == 1 and json.loads(out)["spark_error"] == "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"
    code, out, _ = ckpt(capsys, "gate", checkpoint, "--spark-version", "3.5", "--json")
    assert code == 1 and json.loads(out)["spark_error"] is None, "Spark 3.5 starts, under a new id"


def test_a_gap(capsys, checkpoint):
    (checkpoint / "offsets" / str(NEWEST - 1)).unlink()
    code, out, _ = ckpt(capsys, "check", checkpoint)
    assert code == 1 and "CKPT110" in out and f"offsets/{NEWEST - 1} is missing" in out
    (checkpoint / "commits" / str(NEWEST - 1)).unlink()
    assert ckpt(capsys, "check", checkpoint)[0] == 0, "missing in both logs is async progress tracking"


def test_commits_ahead_of_offsets(capsys, checkpoint):
    (checkpoint / "offsets" / str(NEWEST)).unlink()
    code, out, _ = ckpt(capsys, "gate", checkpoint, "--json")
    assert code == 1 and json.loads(out)["spark_error"] == "CONCURRENT_STREAM_LOG_UPDATE"


def test_names_that_are_no_batch_ids(capsys, checkpoint):
    for name in ("abc", "12.tmp", "_12", "1_000", "12.json"):
        (checkpoint / "offsets" / name).write_text("x")
    assert ckpt(capsys, "check", checkpoint)[0] == 0, "Spark ignores these"
    (checkpoint / "offsets" / "012").write_text("x")
    code, out, _ = ckpt(capsys, "check", checkpoint)
    assert code == 1 and "CKPT115" in out and "offsets/012" in out


def test_permission_denied(capsys, checkpoint):
    assert ckpt(capsys, "show", checkpoint)[0] == 0, "and has loaded what another user may not read"
    with tempfile.TemporaryDirectory() as place:  # the directories that pytest makes are for its own user alone
        Path(place).chmod(0o755)
        commits = shutil.copytree(checkpoint, Path(place) / "checkpoint") / "commits"
        commits.chmod(0)
        with without_rights():
            code, _, err = ckpt(capsys, "show", commits.parent)
        commits.chmod(0o755)
    assert code == 3 and "permission denied" in err and "commits" in err


def test_storage_down(capsys, s3_down):
    arguments = [part for option in s3_down.items() for part in ("--storage-option", "=".join(option))]
    code, out, err = ckpt(capsys, "show", "s3://bucket/cp", "--json", *arguments)
    assert code == 5 and json.loads(out)["error"]["code"] == "STORE_UNAVAILABLE" and "s3://bucket/cp" in err


def test_unknown_scheme(capsys):
    code, _, err = ckpt(capsys, "show", "nosuch://bucket/cp")
    assert code == 3 and "nosuch" in err


#: Locations that cannot be opened: the exit code, what is said, and what is to be done.
LOCATIONS = {
    "hdfs://name:8020/orders": (3, "hdfs:// cannot be opened here", "pip install pyarrow"),
    "abfss://c@a.dfs.core.windows.net/orders": (3, "no fsspec driver is known for abfss://", "spark-ckpt[azure]"),
    "gs://lake/orders": (3, "gcsfs", "spark-ckpt[gcs]"),
    "wasbs://c@a/orders": (3, "no fsspec driver is known for wasbs://", "abfss://"),
    "viewfs://c/orders": (3, "no fsspec driver is known for viewfs://", "hdfs://"),
    "dbfs:/orders": (3, "dbfs:/ is not the beginning of a URI", "/dbfs/"),
    "s3:/lake/orders": (3, "s3:/ is not the beginning of a URI", "s3://"),
    "dbfs://orders": (2, "refuses these storage options", "--storage-option"),
    "ftp://no.such.host.invalid/orders": (5, "does not answer", ""),
    "zip://orders::/no/such.zip": (3, "not found", ""),
    "": (3, "the location is empty", "Give a path"),
    "  ": (3, "the location is empty", "Give a path"),
}  # fmt: skip


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("command", [("show",), ("check",), ("wait", "--batch", "1", "--timeout", "0"), ("backups",)])
def test_a_location_that_cannot_be_opened_is_one_sentence(capsys, command, location):
    code, said, to_do = LOCATIONS[location]
    name, *options = command
    found, _, err = ckpt(capsys, name, location, *options)
    assert found == code and said in err and to_do in err, err
    assert "Traceback" not in err and len(err.strip().splitlines()) <= 3


#: What is given in the place of a checkpoint, by what is at its top.
LOOKALIKES = {
    "a Delta table": ("_delta_log/0.json", "part-0.parquet"),
    "a Hudi table": (".hoodie/hoodie.properties",),
    "an Iceberg table": ("metadata/v1.metadata.json", "data/0.parquet"),
    "the output directory of a file sink": ("_spark_metadata/0", "part-0.parquet"),
    "a directory of data files": ("part-0.parquet", "_SUCCESS"),
    "the root of backups": ("20261121T094345.815Z-0a3c26f7/manifest.json",),
    "a backup": ("manifest.json", "checkpoint/metadata"),
}


@pytest.mark.parametrize("what", LOOKALIKES)
def test_what_is_given_in_the_place_of_a_checkpoint_is_named(capsys, tmp_path, what):
    for name in LOOKALIKES[what]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    for command in ("show", "check", "gate"):
        code, _, err = ckpt(capsys, command, tmp_path)
        assert code == 3 and f"not a checkpoint, but {what}." in err, err


@pytest.mark.parametrize("arguments", [
    ("show",), ("wait", "/x"), ("wait", "/x", "--watermark", "yesterday-ish"), ("wait", "/x", "--offsets", "{"),
    ("gate", "/x", "--conf", "novalue"), ("gate", "/x", "--spark-version", "2.4"), ("rollback", "/x"),
    ("rollback", "/x", "--to-batch", "1", "--trim-sink-log"), ("nosuch",),
    ("log", "/x", "--batch", "1", "--batch", "9"), ("log", "/x", "--batch=1", "--last", "1", "--batch=1"),
    ("gate", "/x", "--conf", "a=1", "--conf", "a=2"), ("wait", "/x", "--batch", "1", "--timeout", "1", "--timeout", "2"),
    ("gate", "/x", "--sink", "console", "--sink", "kafka"), ("rollback", "/x", "--to-batch", "1", "--to-batch", "2"),
    ("show", "/x", "--storage-option", "anon=true", "--storage-option", "anon=false"),
    ("show", "/x", "--storage-option", "client_kwargs={'region_name': 1}"),
])  # fmt: skip
def test_usage_errors_have_code_2(capsys, arguments):
    code, _, err = ckpt(capsys, *arguments)
    assert code == 2 and err


@pytest.mark.parametrize(
    ("offsets", "says"),
    [
        ('{"0": {"t": {"0": -1}}}', "source 0 has a negative offset"),
        ('{"0": {}}', "source 0 has no partition to wait for"),
        ('{"0": {"t": {}}}', "source 0 has no partition to wait for"),
        ('{"0": {"t": {"0": 5}}}', ""),
        ('{"0": {"logOffset": -1}}', ""),
    ],
)
def test_offsets_that_every_position_has_reached_are_not_waited_for(capsys, tmp_path, offsets, says):
    wait = ("wait", tmp_path / "absent", "--offsets", offsets, "--source", "0=kafka", "--timeout", "0.1")
    code, _, err = ckpt(capsys, *wait)
    assert (code == 2) == bool(says) and says in err


def test_a_batch_that_cannot_be_restored_names_those_that_can(capsys, golden):
    checkpoint = golden("agg-hdfs")
    shutil.rmtree(checkpoint / "state" / "0" / "1")
    code, _, err = ckpt(capsys, "rollback", checkpoint, "--to-batch", "5")
    assert code == 4 and "batch 5 cannot be restored" in err and "state/0/1" in err
    assert "None of the batches in the logs can be restored" in err
    assert f"ckpt salvage {checkpoint} searches" in " ".join(err.split())


def test_unknown_backup(capsys, tmp_path):
    code, _, err = ckpt(capsys, "verify", tmp_path, "nothing")
    assert code == 3 and "the backup root is empty" in err
    (tmp_path / "something").mkdir()
    code, _, err = ckpt(capsys, "verify", tmp_path, "nothing")
    assert code == 3 and "no backup 'nothing'" in err


def test_every_error_has_an_exit_code_of_the_reference():
    """The table in the reference, checked against the classes."""
    table = (Path(__file__).parents[2] / "docs/reference.md").read_text().partition("### Errors")[0]
    classes = {
        name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
    }
    rows = {
        name.strip(" `"): int(row.split("|")[1])
        for row in table.splitlines()
        if row.startswith("| ") and "Error`" in row
        for name in row.split("|")[3].split(",")
        if name.strip()
    }
    assert rows == {name: kind.exit_code for name, kind in classes.items()}


def test_json_errors_are_one_document(capsys, tmp_path):
    code, out, _ = ckpt(capsys, "show", tmp_path / "nope", "--json")
    assert code == 3 and json.loads(out)["error"]["code"] == "NOT_FOUND"


def test_help_names_the_exit_codes():
    assert "5 storage or Spark unavailable" in " ".join(CliRunner().invoke(cli, ["--help"]).output.split())
