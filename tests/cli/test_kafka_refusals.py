"""Every command that asks a Kafka broker: right credentials, wrong ones, and a broker that is not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from tests.kafka_query import KafkaQuery
from tests.kafka_security import PASSWORDS

pytestmark = pytest.mark.timeout(180)
WRONG = "wrong-hunter2"
#: Commands by name; LOCATION, SOURCE and GROUP are put in their places.
COMMANDS = {
    "lag": ("lag", "LOCATION", "--source", "SOURCE"),
    "lag with ages": ("lag", "LOCATION", "--source", "SOURCE", "--ages"),
    "show": ("show", "LOCATION", "--source", "SOURCE"),
    "gate": ("gate", "LOCATION", "--source", "SOURCE", "--quick"),
    "wait": ("wait", "LOCATION", "--caught-up", "--source", "SOURCE", "--timeout", "PT1S"),
    "publish-offsets": ("publish-offsets", "LOCATION", "--source", "SOURCE", "--group", "GROUP"),
    "reset-offsets": ("reset-offsets", "LOCATION", "--source", "SOURCE", "--to-earliest", "--sink", "kafka"),
    "reset-offsets to a time": (
        "reset-offsets", "LOCATION", "--source", "SOURCE", "--by-duration", "PT1H", "--sink", "kafka", "--execute"
    ),
}  # fmt: skip


#: What each needs on the topics besides Describe, and on the group (docs/positions.md).
RIGHTS = {"lag with ages": ("DESCRIBE_CONFIGS",), "publish-offsets": ("READ",)}


@pytest.fixture
def topic(kafka) -> str:
    topic = kafka.create()
    kafka.produce(topic, 5)
    kafka.allow("reader", "DESCRIBE", topic=topic)
    return topic


@pytest.fixture
def checkpoint(topic, tmp_path) -> Path:
    query = KafkaQuery(tmp_path / "orders")
    query.commit({topic: {"0": 4}})
    query.commit({topic: {"0": 5}})
    return query.checkpoint


def arguments(command: tuple[str, ...], topic: str, checkpoint: Path, place: str, config: dict[str, str]) -> list[str]:
    given = {"LOCATION": str(checkpoint), "SOURCE": f"0=kafka:{place}", "GROUP": f"group-{topic}"}
    words = [given.get(word, word) for word in command]
    return [*words, *(word for item in config.items() for word in ("--kafka-config", "=".join(item)))]


def credentials(password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "reader",
        "sasl.password": password,
    }


def contents(checkpoint: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if "--execute" not in command])
def test_who_has_the_rights_and_no_more_is_answered(kafka, topic, checkpoint, capfd, name):
    given = arguments(COMMANDS[name], topic, checkpoint, kafka.at("SASL_PLAINTEXT"), credentials(PASSWORDS["reader"]))
    if needed := RIGHTS.get(name):
        assert run(given) == 3
        assert "the broker does not allow it to this user" in capfd.readouterr().err
    for operation in needed or ():
        kafka.allow("reader", operation, topic=topic)
    if "GROUP" in COMMANDS[name]:
        kafka.allow("reader", "READ", group=f"group-{topic}")
    code = run(given)
    said = capfd.readouterr()
    assert code == 0, said
    assert "hunter2" not in said.out + said.err


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_who_is_refused_gets_one_sentence_and_code_3(kafka, topic, checkpoint, capfd, command):
    before, config = contents(checkpoint), {**credentials(WRONG), "socket.timeout.ms": "60000"}
    place = kafka.at("SASL_PLAINTEXT")
    assert run(arguments(command, topic, checkpoint, place, config)) == 3
    said = capfd.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 2), said  # with the hint
    assert f"kafka:{place}: topic {topic}: the broker refuses the credentials" in said.err
    assert "sasl.password" in said.err
    assert "hunter2" not in said.err
    assert contents(checkpoint) == before


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=name, marks=[] if name in ("lag", "reset-offsets") else [pytest.mark.exhaustive])
        for name, command in COMMANDS.items()
    ],
)
def test_a_broker_that_is_not_there_is_code_5(topic, checkpoint, capfd, command):
    before = contents(checkpoint)
    config = {**credentials(PASSWORDS["reader"]), "socket.timeout.ms": "1000"}
    assert run([*arguments(command, topic, checkpoint, "127.0.0.1:1", config), "--json"]) == 5
    said = capfd.readouterr()
    assert said.err.count("\n") <= 3, said  # a wait says that it tries again
    error = json.loads(said.out)["error"]
    assert error["code"] == "STORE_UNAVAILABLE"
    assert "the broker did not answer (asked for 1 s): Connect to" in error["message"]
    assert "hunter2" not in said.out + said.err
    assert contents(checkpoint) == before


def test_a_process_that_is_refused_ends_by_itself(kafka, topic, checkpoint):
    """No thread of a client keeps it alive, none writes to stderr when it ends."""
    given = arguments(COMMANDS["lag"], topic, checkpoint, kafka.at("SASL_PLAINTEXT"), credentials(WRONG))
    command = [sys.executable, "-c", "from airflow_provider_ckpt.cli import main; main()", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 2), done


def test_nothing_that_a_reset_leaves_behind_has_the_password(kafka, topic, checkpoint, tmp_path, capfd):
    given = arguments(
        COMMANDS["reset-offsets"], topic, checkpoint, kafka.at("SASL_PLAINTEXT"), credentials(PASSWORDS["reader"])
    )
    assert run([*given, "--plan-out", str(tmp_path / "plan.json")]) == 0
    assert (
        run([*given, "--execute", "--i-know-it-is-stopped", "--quiet-period", "0", "--accept-sink", "duplicated"]) == 0
    )
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"plan.json", "1"}
    assert not [path for path in files if b"hunter2" in path.read_bytes()]
    said = capfd.readouterr()
    assert "hunter2" not in said.out + said.err
