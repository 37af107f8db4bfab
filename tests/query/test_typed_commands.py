"""Commands in messages are what somebody types next: with a query file by the name of the query."""

from __future__ import annotations

import shlex

import pytest

from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.query.typed_commands import Typed

pytestmark = pytest.mark.unit

FILE = parse_query_file("""\
format_version: 1
kafka: {main: {bootstrap.servers: "b1:9092"}}
paths: {"dbfs:/mnt/lake": "s3://lake"}
queries:
  orders:
    checkpoint: s3://lake/c/orders
    sources: ["kafka:main/orders"]
    sink: file:s3://lake/orders
    backups: "s3://lake/backups/{query}"
    undo: "s3://lake/undo/{query}"
  both: {checkpoint: /c/both, sources: ["file:/in", "kafka:main/b"]}
  bare: {checkpoint: /c/bare}
  odd: {checkpoint: "/c/it's $(touch x); \\"odd\\"", sink: "file:/out of it"}
""")
ORDERS, BARE, ODD = FILE.queries["orders"], FILE.queries["bare"], FILE.queries["odd"]


@pytest.mark.parametrize(
    "message, said",
    [
        ("ckpt rollback s3://lake/c/orders --to-batch 6 --sink TYPE[:URI]", "ckpt rollback orders --to-batch 6"),
        ("Roll back: ckpt rollback s3://lake/c/orders --to-batch 6.", "Roll back: ckpt rollback orders --to-batch 6."),
        ("ckpt salvage s3://lake/c/orders --sink TYPE[:URI]; ckpt log /x", "ckpt salvage orders; ckpt log /x"),
        ("It helps: ckpt fence s3://lake/c/orders. Then start it.", "It helps: ckpt fence orders. Then start it."),
        (
            "Finish it (ckpt repartition s3://lake/c/orders --partitions 8), or",
            "Finish it (ckpt repartition orders --partitions 8), or",
        ),
        (
            "ckpt check s3://lake/c/orders --deep says whether it is whole",
            "ckpt check orders --deep says whether it is whole",
        ),
        ("ckpt explain TEXT s3://lake/c/orders", "ckpt explain TEXT orders"),
        ("ckpt show dbfs:/mnt/lake/c/orders", "ckpt show orders"),
        ("ckpt show s3a://lake/c/orders/", "ckpt show orders"),
    ],
)
def test_a_name_stands_for_the_location_and_for_what_the_file_declares(message: str, said: str) -> None:
    assert Typed(FILE).text(message) == said


@pytest.mark.parametrize(
    "message, said",
    [
        # the sink of the file and another one
        (
            "ckpt rollback s3://lake/c/orders --to-batch 6 --sink file:s3://lake/orders --trim-sink-log",
            "ckpt rollback orders --to-batch 6 --trim-sink-log",
        ),
        (
            "ckpt rollback s3://lake/c/orders --sink kafka --to-batch 6",
            "ckpt rollback orders --sink kafka --to-batch 6",
        ),
        # what the file says nothing of
        ("ckpt rollback /c/bare --to-batch 6 --sink TYPE[:URI]", "ckpt rollback bare --to-batch 6 --sink TYPE[:URI]"),
        # an option wins over the file, so one of several sources stays as it is
        (
            "ckpt gate /c/both --source 0=file:/other --source 1=kafka:b1:9092/b",
            "ckpt gate both --source 0=file:/other --source 1=kafka:b1:9092/b",
        ),
        ("ckpt gate /c/both --source 0=file:/in --source 1=kafka:b1:9092/b", "ckpt gate both"),
        # commands that the file says less for
        ("ckpt export s3://lake/c/orders --as csv --source 0", "ckpt export orders --as csv --source 0"),
        (
            "ckpt reset-offsets s3://lake/c/orders --source 0=kafka:HOST:PORT --to-earliest",
            "ckpt reset-offsets orders --to-earliest",
        ),
        (
            "ckpt reset-offsets /c/both --source 1=kafka:b1:9092 --to-earliest",
            "ckpt reset-offsets both --source 1=kafka:b1:9092 --to-earliest",
        ),
    ],
)
def test_an_option_that_the_file_does_not_say_stays(message: str, said: str) -> None:
    assert Typed(FILE).text(message) == said


def test_the_root_of_backups_is_that_of_the_query() -> None:
    typed = Typed(FILE, ORDERS)
    assert typed.text("(ckpt backups ROOT lists the IDs)") == "(ckpt backups orders lists the IDs)"
    assert (
        typed.text("ckpt restore ROOT ID --to NEW_LOCATION --sink TYPE[:URI]")
        == "ckpt restore orders ID --to NEW_LOCATION"
    )
    assert (
        typed.text("ckpt rollback s3://lake/c/orders --to-backup ROOT/ID --sink TYPE[:URI]")
        == "ckpt rollback orders --to-backup s3://lake/backups/orders/ID"
    )
    assert typed.text("ckpt verify s3://lake/backups/orders latest") == "ckpt verify orders latest"
    assert Typed(FILE, BARE).text("ckpt backups ROOT") == "ckpt backups ROOT", "the file names no root"


def test_a_hostile_location_is_one_word_and_becomes_a_name() -> None:
    place = shlex.quote(ODD.checkpoint)
    assert Typed(FILE).text(f"Run ckpt rollback {place} --to-batch 3 --sink 'file:/out of it'.") == (
        "Run ckpt rollback odd --to-batch 3."
    )


@pytest.mark.parametrize(
    "text",
    [
        "ckpt rollback s3://lake/c/others --to-batch 6 --sink TYPE[:URI]",
        "ckpt rollback s3://lake/c/orders-2 --to-batch 6",
        "ckpt rollback orders --to-batch 6 --sink file:s3://lake/orders",
        "ckpt restore ROOT ID --to NEW_LOCATION --sink TYPE[:URI]",
        "s3://lake/c/orders: 3 findings",
        "ckpt rollback 's3://lake/c/orders",
        "my-ckpt rollback s3://lake/c/orders",
    ],
)
def test_what_names_no_query_of_the_file_by_its_location_stays_to_the_letter(text: str) -> None:
    assert Typed(FILE).text(text) == text
    assert Typed(QueryFile()).text(text) == text


def test_to_say_it_twice_changes_nothing() -> None:
    typed = Typed(FILE, ORDERS, "/home/me/my own.yaml")
    once = typed.text("Do: ckpt rollback s3://lake/c/orders --to-batch 6 --sink TYPE[:URI].")
    assert once == "Do: ckpt rollback orders --to-batch 6 --file '/home/me/my own.yaml'."
    assert typed.text(once) == once


def test_a_document_has_such_commands_and_its_plan_stays_to_the_letter() -> None:
    command = "ckpt show s3://lake/c/orders"
    document = {
        "plan": {"warnings": [command]},
        "apply_command": command,
        "findings": [{"commands": [command]}],
        "n": 1,
    }
    assert Typed(FILE).document(document) == {**document, "findings": [{"commands": ["ckpt show orders"]}]}
