"""What the client of librdkafka tells, in its own words, and the cause that is made of it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka.causes import CAUSES, Complaint, cause_of, is_final, plain

DOWN = Complaint("_ALL_BROKERS_DOWN", "1/1 brokers are down")
SILENT = Complaint("_TIMED_OUT", "Failed while waiting for controller: Local: Timed out")
#: As librdkafka 2.16 told them, each with what is said, a word of the hint, and whether it is final.
TOLD = [
    ("TOPIC_AUTHORIZATION_FAILED", "Broker: Topic authorization failed", "does not allow it", "Describe", True),
    ("GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed", "does not allow it", "Read", True),
    (
        "_AUTHENTICATION",
        "SASL authentication error: Authentication failed",
        "refuses the credentials",
        "sasl.pass",
        True,
    ),
    ("_AUTHENTICATION", "Failed to acquire SASL OAUTHBEARER token: x", "no token could be had", "oauthbearer", False),
    (
        "_SSL",
        "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed",
        "verified",
        "ssl.ca",
        True,
    ),
    ("_SSL", "Receive failed: ssl/tls alert bad certificate: SSL alert number 42", "of the client", "ssl.key", True),
    ("_SSL", "ssl/tls alert certificate required: SSL alert number 116", "of the client", "ssl.key", True),
    ("_TRANSPORT", "connecting to a PLAINTEXT broker listener?", "ended the connection", "security.protocol", False),
    ("_RESOLVE", "Failed to resolve 'a:1': Name or service not known", "host is not known", "bootstrap", False),
    ("_TRANSPORT", "Connect to ipv4#127.0.0.1:1 failed: Connection refused", "did not answer", "bootstrap", False),
    ("", "Disconnected: connection closed by peer: receive 0", "ended the connection", "TLS or SASL", False),
    ("_TRANSPORT", "no route", "did not answer", "socket.timeout.ms", False),
]


@pytest.mark.parametrize(("name", "text", "says", "hint", "final"), TOLD)
def test_each_has_its_cause(name, text, says, hint, final):
    own = Complaint(name, text)
    cause, complaint = cause_of([SILENT, DOWN, own])
    assert says in cause.says
    assert hint in cause.hint
    assert (cause.is_final, complaint) == (final, own)
    assert is_final([SILENT, DOWN, own]) == final
    assert not is_final([SILENT, own]), "another broker may answer"


def test_every_cause_is_in_the_table():
    assert {cause_of([Complaint(name, text)])[0] for name, text, *_ in TOLD} >= set(CAUSES)


def test_silence_has_a_cause_as_well():
    cause, complaint = cause_of([SILENT, DOWN])
    assert (cause.says, complaint) == ("the broker did not answer", None)


def test_what_the_broker_answers_counts_before_what_the_client_tells():
    answer = Complaint("GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed")
    refused = Complaint("_AUTHENTICATION", "SASL authentication error")
    assert cause_of([answer, refused])[1] is cause_of([refused, answer])[1] is answer


@pytest.mark.parametrize(
    "text",
    [
        "sasl_plaintext://127.0.0.1:9092/bootstrap: a reason (after 331ms in state AUTH_REQ)",
        "[thrd:127.0.0.1:9092/bootstrap]: 127.0.0.1:9092/bootstrap: a reason (after 0ms in state UP)",
        "[thrd:main]: broker.example.com:9092/1: a reason (after 5ms in state CONNECT, 3 identical error(s) suppressed)",
        "a reason: broker certificate could not be verified, verify that (after 2ms in state SSL_HANDSHAKE)",
    ],
)
def test_what_differs_each_time_is_left_out(text):
    assert plain(text) == "a reason"


def test_a_long_text_is_cut():
    assert plain("x" * 10_000) == "x" * 300 + "…"
