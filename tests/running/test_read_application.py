"""What is started is kept with the content of the files that it names, none of which may hold a secret."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.running.find_unit import find_unit
from airflow_provider_ckpt.running.read_application import read_application
from airflow_provider_ckpt.storage.store import Store

FILE = """
format_version: 1
queries: {orders: {checkpoint: c, engine: kubeflow, application: {manifest: orders.yaml}}}
"""


def application(tmp_path, text: str | None):
    if text is not None:
        (tmp_path / "orders.yaml").write_text(text)
    return read_application(find_unit(parse_query_file(FILE, f"{tmp_path}/ckpt.yaml"), "orders", Store.open))


def test_a_manifest_is_kept_as_it_is(tmp_path):
    found = application(tmp_path, "kind: SparkApplication\n")
    assert (found.said, found.files) == (
        {"manifest": f"{tmp_path}/orders.yaml"},
        {"manifest": "kind: SparkApplication\n"},
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "the manifest of orders cannot be read"),
        ("a: b\nspec:\n  password: hunter2\n", "orders.yaml line 3, may hold a secret"),
        ("a: " + "b" * (1 << 20), "is larger than 1 MiB"),
    ],
)
def test_one_that_cannot_be_kept_is_refused(tmp_path, text, says):
    with pytest.raises(EngineError, match=says) as raised:
        application(tmp_path, text)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("args", "is_refused"),
    [
        ("--db-password, hunter2secret", True),
        ("--password-file, /run/secrets/db", False),
        ("--token, '{token}'", False),
        ("password, --verbose", False),
    ],
)
def test_words_that_may_be_a_secret_are_refused(args, is_refused):
    text = FILE.replace(
        "kubeflow, application: {manifest: orders.yaml}", f"local, application: {{file: a.py, args: [{args}]}}"
    )
    unit = find_unit(parse_query_file(text, "ckpt.yaml"), "orders", Store.open)
    if not is_refused:
        assert read_application(unit).said["file"] == "a.py"
        return
    with pytest.raises(EngineError, match="the word behind --db-password in args of orders may be a secret") as raised:
        read_application(unit)
    assert "hunter2" not in str(raised.value)
