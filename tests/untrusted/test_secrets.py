"""What is a secret, in options of storage drivers and of Kafka clients, and how it is kept out of what is shown."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of, without_secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ckpt gate /ck --sink 'kafka:u:hunter2$@h' --json", "ckpt gate /ck --sink 'kafka:u@h' --json"),
        ("0=kafka:u:p/w@h:9092/orders", "0=kafka:u@h:9092/orders"),
        ("Failed to resolve '[u:hunter2@h:9092]:9092'", "Failed to resolve '[u@h:9092]:9092'"),
        ("s3://u:hunter2@h/x", "s3://u@h/x"),
        *((same, same) for same in ("kafka:h:9092/orders", "kafka:u@h:9092", "file:/data/a:b@c:1", "ann@host:22")),
    ],
)
def test_a_place_is_shown_without_its_password_also_where_it_is_no_url(text, shown):
    assert scrub(text) == shown


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("sasl.password=abc", "sasl.password=***"),
        ("kafka.sasl.jaas.config=x required password=abc;", "kafka.sasl.jaas.config=***"),
        ("--kafka-config=ssl.key.password=abc", "--kafka-config=ssl.key.password=***"),
        ("sasl.oauthbearer.client.secret=a=b", "sasl.oauthbearer.client.secret=***"),
        ("ssl.key.pem=-----BEGIN", "ssl.key.pem=***"),
        ("--storage-option=secret=abc", "--storage-option=secret=***"),
        ("aws_secret_access_key=abc", "aws_secret_access_key=***"),
        ("ssl.key.location=/etc/kafka/client.pem", "ssl.key.location=/etc/kafka/client.pem"),
        ("sasl.oauthbearer.token.endpoint.url=https://a/token", "sasl.oauthbearer.token.endpoint.url=https://a/token"),
        ("spark.sql.shuffle.partitions=8", "spark.sql.shuffle.partitions=8"),
        ("--to-earliest", "--to-earliest"),
        ('--storage-option=client_kwargs={"region_name": "x", "secret": "a=b"}', "--storage-option=client_kwargs=***"),
        ('--storage-option=req_kw={"ACL": "private"}', '--storage-option=req_kw={"ACL": "private"}'),
    ],
)
def test_a_word_of_a_command_line_says_what_is_set_and_not_to_what_where_that_is_secret(word, shown):
    assert without_secret(word) == shown


def test_secrets_of_a_kafka_client_are_found_the_longest_first():
    config = {"sasl.password": "hunter2", "sasl.username": "reader", "sasl.jaas.config": 'password="hunter2";'}
    assert secrets_of("", config) == ('password="hunter2";', "hunter2")
