"""Brokers that ask who is there, and clients who are right, or wrong in one thing: what each of them is told, and when.

Every listener is one of the real broker; the certificates are made when it starts (tests/kafka_security.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup
from tests.kafka_security import PASSWORDS

pytestmark = pytest.mark.timeout(180)
#: So long the client would try; who is refused is told at once.
PATIENCE_MS = 60_000
#: So long it tries where nobody says what is wrong.
SHORT_MS = 3_000


def sasl(user: str = "reader", mechanism: str = "SCRAM-SHA-256", **more: str) -> dict[str, str]:
    credentials = {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": PASSWORDS[user]}
    return {"security.protocol": "SASL_PLAINTEXT", **credentials, **more}


def tls(**more: str) -> dict[str, str]:
    return {"security.protocol": "SSL", "ssl.ca.location": "AUTHORITY", **more}


SASL_TLS = {**sasl(), **tls(), "security.protocol": "SASL_SSL"}
CLIENT = {"ssl.certificate.location": "CLIENT", "ssl.key.location": "CLIENT"}
TOKEN = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "principal=reader"}
WRONG = "wrong-hunter2"


@pytest.fixture(scope="module")
def topic(kafka) -> str:
    """Two records in one of two partitions; the reader may see that they are there."""
    topic = kafka.create(2)
    kafka.produce(topic, 2)
    kafka.allow("reader", "DESCRIBE", topic=topic)
    return topic


def broker_of(kafka, listener: str, config: Mapping[str, Any], timeout_ms: int = PATIENCE_MS) -> KafkaBroker:
    files = {
        "AUTHORITY": kafka.certificates.authority,
        "OTHER": kafka.certificates.other_authority,
        "CLIENT": kafka.certificates.client,
    }
    config = {key: str(files.get(value, value)) for key, value in config.items()}
    return KafkaBroker(kafka.at(listener), {**config, "socket.timeout.ms": timeout_ms})


RIGHT = {
    "SCRAM": ("SASL_PLAINTEXT", sasl()),
    "PLAIN": ("SASL_PLAINTEXT", sasl(mechanism="PLAIN")),
    "as Spark takes it": ("SASL_PLAINTEXT", {f"kafka.{key}": value for key, value in sasl().items()}),
    "TLS": ("SSL", tls()),
    "SCRAM over TLS": ("SASL_SSL", SASL_TLS),
    "a certificate of its own": ("MUTUAL", tls(**CLIENT)),
    "a token": (
        "SASL_PLAINTEXT",
        {"security.protocol": "SASL_PLAINTEXT", "enable.sasl.oauthbearer.unsecure.jwt": "true", **TOKEN},
    ),
}


@pytest.mark.parametrize(("listener", "config"), RIGHT.values(), ids=RIGHT)
def test_who_is_right_gets_an_answer(kafka, topic, listener, config):
    broker = broker_of(kafka, listener, config)
    (found,) = broker.topics([topic]).values()
    assert found.partitions == (0, 1)
    assert broker.latest([(topic, 0), (topic, 1)]) == {(topic, 0): 2, (topic, 1): 0}


def test_a_function_that_gives_tokens_is_called(kafka, topic):
    import base64
    import json

    def token(asked: str) -> tuple[str, float]:
        until = time.time() + 3_600
        claims = {"sub": asked, "iat": until - 7_200, "exp": until}
        parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({"alg": "none"}, claims))
        return f"{'.'.join(part.rstrip('=') for part in parts)}.", until

    config = {**TOKEN, "sasl.oauthbearer.config": "reader", "security.protocol": "SASL_PLAINTEXT", "oauth_cb": token}
    broker = KafkaBroker(kafka.at("SASL_PLAINTEXT"), config)
    assert broker.earliest([(topic, 0)]) == {(topic, 0): 0}


REFUSED = {
    "wrong password": ("SASL_PLAINTEXT", sasl(**{"sasl.password": WRONG}), "refuses the credentials", "sasl.password"),
    "wrong password of PLAIN": (
        "SASL_PLAINTEXT", sasl(mechanism="PLAIN", **{"sasl.password": WRONG}), "refuses the credentials", "sasl.password"
    ),
    "wrong password over TLS": ("SASL_SSL", {**SASL_TLS, "sasl.password": WRONG}, "refuses the credentials", "sasl."),
    "unknown user": ("SASL_PLAINTEXT", sasl(**{"sasl.username": "nobody"}), "refuses the credentials", "sasl.username"),
    "a mechanism that the broker does not have": (
        "SASL_PLAINTEXT", sasl(mechanism="SCRAM-SHA-512"), "supported mechanisms: ", "sasl.mechanism"
    ),
    "SASL where there is none": ("PLAINTEXT", sasl(), "refuses the credentials", "security.protocol"),
    "unknown authority": ("SSL", tls(**{"ssl.ca.location": "OTHER"}), "could not be verified", "ssl.ca.location"),
    "the authorities of the system": ("SSL", {"security.protocol": "SSL"}, "could not be verified", "ssl.ca.location"),
    "expired certificate": ("EXPIRED", tls(), "could not be verified", "has not expired"),
    "certificate of another host": ("ELSEWHERE", tls(), "could not be verified", "the host in bootstrap.servers"),
    "no certificate of the client": ("MUTUAL", tls(), "refuses the certificate of the client", "ssl.certificate.loc"),
    "no right to the topic": (
        "SASL_PLAINTEXT", sasl("stranger"), "does not allow it to this user: Broker: Topic auth", "Describe"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("listener", "config", "says", "hint"), REFUSED.values(), ids=REFUSED)
def test_who_is_refused_is_told_at_once(kafka, topic, capfd, listener, config, says, hint):
    broker, began = broker_of(kafka, listener, config), time.monotonic()
    with pytest.raises(StoreError) as refused:
        broker.topics([topic])
    assert time.monotonic() - began < PATIENCE_MS / 1_000
    assert not isinstance(refused.value, StoreUnavailableError)
    said = str(refused.value)
    assert said.startswith(f"kafka:{kafka.at(listener)}: topic {topic}: the ")
    assert says in said
    assert hint in refused.value.hint
    assert "hunter2" not in said
    assert (len(said) < 500, "\n" in said) == (True, False)
    assert capfd.readouterr() == ("", ""), "the client itself says nothing"


UNCLEAR = {
    "TLS where there is none": ("PLAINTEXT", tls(), "ended the connection", "without TLS"),
    "no TLS where there is": ("SSL", {}, "ended the connection", "TLS or SASL"),
    "no SASL where there is": ("SASL_PLAINTEXT", {}, "ended the connection", "TLS or SASL"),
    "nobody gives tokens": (
        "SASL_PLAINTEXT",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "reader",
            "sasl.oauthbearer.client.secret": WRONG,
            "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        },
        "no token could be had",
        "sasl.oauthbearer",
    ),
}


@pytest.mark.parametrize(
    ("listener", "config", "says", "hint"),
    [
        pytest.param(*case, marks=[pytest.mark.exhaustive] if number else [], id=name)
        for number, (name, case) in enumerate(UNCLEAR.items())
    ],
)
def test_what_may_pass_is_tried_for_as_long_as_the_configuration_says(
    kafka, topic, capfd, listener, config, says, hint
):
    broker = broker_of(kafka, listener, config, SHORT_MS)
    with pytest.raises(StoreUnavailableError) as failed:
        broker.topics([topic])
    assert says in str(failed.value)
    assert "(asked for 3 s)" in str(failed.value)
    assert hint in failed.value.hint
    assert "hunter2" not in str(failed.value)
    assert capfd.readouterr() == ("", "")


def test_of_two_topics_one_may_not_be_seen(kafka, topic):
    hidden = kafka.create()
    broker = broker_of(kafka, "SASL_PLAINTEXT", sasl())
    with pytest.raises(StoreError, match=f"topic {hidden}: the broker does not allow it"):
        broker.topics([topic, hidden])
    with pytest.raises(StoreError, match=f"partition {hidden}-0: the broker does not allow it"):
        broker.latest([(topic, 0), (hidden, 0)])
    with pytest.raises(StoreError, match=f"configuration of topic {topic}: the broker does not allow it") as refused:
        broker.retention([topic])
    assert "DescribeConfigs" in refused.value.hint
    assert broker.topics([topic])[topic].partitions == (0, 1), "and what may be seen is answered as before"


def test_a_group_needs_the_right_to_read_it(kafka, topic):
    group = ConsumerGroup(broker_of(kafka, "SASL_PLAINTEXT", sasl()), f"group-{topic}")
    for call in (group.members, group.committed, lambda: group.commit({(topic, 0): 1}, "")):
        with pytest.raises(StoreError, match=f"consumer group {group.name}: the broker does not allow it") as refused:
            call()
        assert "Read on the group" in refused.value.hint
    assert group.name not in kafka.groups()

    kafka.allow("reader", "READ", group=group.name)
    assert group.members() == 0
    refused = group.commit({(topic, 0): 1}, "")
    assert refused == {(topic, 0): "Broker: Topic authorization failed"}, "the group alone is not enough"
    kafka.allow("reader", "READ", topic=topic)
    assert group.commit({(topic, 0): 1}, "") == {}
    assert group.committed()[topic, 0].offset == 1
