"""A query file is read into values, and what is wrong in it is told with file, line and key."""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.query.query_file import Alert, Cluster
from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.query.broken_files import OF_FILE, OF_QUERY, WHOLE_TEXTS
from tests.query.query_files import BROKEN, WHOLE, query


def test_each_query_has_what_the_file_says_of_it():
    file = parse_query_file(WHOLE)
    orders, totals = file.queries["orders"], file.queries["totals"]
    assert [source.text for source in orders.deploy.sources] == [
        "kafka:b1:9092,b2:9092/orders",
        "file:s3://lake/in",
    ]
    assert orders.deploy.source_options == {"1.maxFilesPerTrigger": "3"}
    assert orders.clusters == {"0": Cluster("b1:9092,b2:9092", {}, "kafka_default")}
    assert (orders.deploy.sink.text, orders.deploy.trigger) == ("file:s3://lake/orders", "processingTime")
    assert orders.alert == Alert(behind_ms=300_000, delay_ms=600_000, rows=1000)
    assert (orders.keep, totals.keep) == ({"last": 7, "daily": 14, "tag": ("before-4.3",)}, {})
    assert (orders.backups, orders.undo) == ("s3://lake/backups/orders", "s3://lake/ckpt-undo/orders")
    assert (orders.deploy.spark_version, totals.deploy.spark_version) == ((4, 3), (4, 2))
    assert totals.checkpoint == "abfss://lake@account.dfs.core.windows.net/c/totals"
    assert totals.deploy.by_id["clicks"].place == "abfss://lake@account.dfs.core.windows.net/clicks"
    assert [sink.text for sink in totals.sinks] == ["delta:abfss://lake@account.dfs.core.windows.net/totals#txnAppId=t"]
    shop = file.pipelines["shop"]
    assert (shop.spec, shop.remote, shop.flows) == ("spark-pipeline.yml", "sc://host:15002", {})
    assert (shop.any_flow.backups, shop.any_flow.deploy.spark_version) == ("s3://lake/backups/<flow>", (4, 3))


def test_the_rules_of_a_query_are_in_the_place_of_those_of_the_defaults():
    text = "format_version: 1\ndefaults: {keep: {last: 7, daily: 14}}\nqueries: {a: {checkpoint: c, keep: {last: 1}}, b: {checkpoint: d}}"
    queries = parse_query_file(text).queries
    assert (queries["a"].keep, queries["b"].keep) == ({"last": 1}, {"last": 7, "daily": 14})


def test_a_relative_path_is_one_beside_the_file():
    text = "format_version: 1\nqueries: {a: {checkpoint: c/a, sink: 'file:out', sources: ['file:in', rate]}}"
    query = parse_query_file(text, "/etc/lake/ckpt.yaml").queries["a"]
    assert query.checkpoint == "/etc/lake/c/a"
    assert (query.deploy.sink.text, query.deploy.sources[0].text) == ("file:/etc/lake/out", "file:/etc/lake/in")
    assert query.deploy.sources[1].text == "rate"


def test_what_is_declared_of_a_flow_is_what_is_declared_of_a_query():
    text = "format_version: 1\npipelines:\n  shop:\n    spec: p/spark-pipeline.yml\n    flows:\n"
    file = parse_query_file(f"{text}      db.bronze: {{sink: 'file:out', alert: {{rows: 3}}}}\n", "/etc/ckpt.yaml")
    flow = file.pipelines["shop"].flows["db.bronze"]
    assert (file.pipelines["shop"].spec, flow.deploy.sink.text) == ("/etc/p/spark-pipeline.yml", "file:/etc/out")
    assert (flow.alert, flow.lines["sink"]) == (Alert(rows=3), 6)


#: Each text with what is said of it.
EACH = [
    *BROKEN.values(),
    *((query(text), says) for text, says in OF_QUERY.items()),
    *((f"format_version: 1\n{text}", says) for text, says in OF_FILE.items()),
    *WHOLE_TEXTS.items(),
    (query(f"alert: {{rows: {'9' * 5000}}}"), "line 5, queries.a.alert.rows: it is a number with more than 30 digits"),
    (f"format_version: 1\nqueries: {'{a: ' * 60}1{'}' * 60}", "line 2 is nested deeper than 50 levels"),
    (f"format_version: 1\n{'#' * (1 << 20)}", "more than 1,048,576 characters"),
]


def test_there_are_at_least_200_and_each_is_another():
    assert len({text for text, _ in EACH}) == len(EACH) >= 200


@pytest.mark.parametrize(("text", "says"), EACH, ids=range(len(EACH)))
def test_what_is_wrong_is_told_in_one_sentence_with_line_and_key(text, says):
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        parse_query_file(text)
    told = str(raised.value)
    assert re.match(r"ckpt\.yaml(:| line \d+(:|,| is | has | gives ))", told)
    assert told.isprintable()
    assert len(told) < 600


SECRETS = {
    "kafka.main.sasl.password": 'format_version: 1\nkafka: {main: {bootstrap.servers: "b:1", sasl.password: hunter2}}',
    "storage.options.secret": "format_version: 1\nstorage: {options: {secret: hunter2}}",
    "queries.a.confs.spark.hadoop.fs.s3a.secret.key": query("confs: {spark.hadoop.fs.s3a.secret.key: hunter2}"),
    "queries.a.sink": query("sink: delta:s3://user:hunter2@lake/t"),
    "queries.a.confs.spark.x": query("confs: {spark.x: AKIAABCDEFGHIJKLMNOP}"),
    "queries.a.confs.spark.my.pass": query("confs: {spark.my.pass: hunter2}"),
    "queries.a.confs.spark.my.keypass": query("confs: {spark.my.keypass: 12345}"),
    "queries.a.confs.spark.driver.extraJavaOptions": query(
        'confs: {spark.driver.extraJavaOptions: "-Djavax.net.ssl.trustStorePassword=hunter2"}'
    ),
    "queries.a.trigger": query("trigger: 'token=hunter2'"),
    "queries.a.sources.0": query("sources: ['secret=hunter2']"),
    "queries.a.confs.fs.azure.account.key.acc": query("confs: {fs.azure.account.key.acc: abcdef}"),
}


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_is_refused_and_not_repeated(key):
    with pytest.raises(ValueError, match=f"{re.escape(key)}: it may be a secret") as raised:
        parse_query_file(SECRETS[key])
    assert "hunter2" not in str(raised.value)
    assert "AKIA" not in str(raised.value)


@pytest.mark.parametrize(
    "said",
    [
        "spark.hadoop.fs.s3a.aws.credentials.provider: com.amazonaws.auth.InstanceProfileCredentialsProvider",
        "spark.kafka.clusters.a.sasl.token.mechanism: SCRAM-SHA-512",
        "spark.my.bypass: 'yes'",
        "spark.redaction.regex: '(?i)secret|password|token'",
        "spark.driver.extraJavaOptions: -Dtoken.file=/etc/token -Xmx2g",
        'spark.x.password: "{{ conn.lake.password }}"',
    ],
)
def test_where_a_secret_is_and_how_it_is_used_is_none(said):
    assert parse_query_file(query(f"confs: {{{said}}}")).queries["a"].deploy.confs


@pytest.mark.parametrize("text", ["token=hunter2: 1", "format_version: 1\nqueries: {a: {password=hunter2: 1}}"])
def test_a_key_that_is_a_secret_is_not_repeated(text):
    with pytest.raises(ValueError, match="a key in it may be a secret") as raised:
        parse_query_file(text)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", ["no", "on", "off"])
def test_a_word_that_yaml_takes_for_a_boolean_is_a_name(name):
    assert list(parse_query_file(f"format_version: 1\nqueries: {{{name}: {{checkpoint: /c}}}}").queries) == [name]


@pytest.mark.parametrize("around", ["\ufeff{}", "---\n{}", "{}...\n"])
def test_what_editors_write_around_a_file_does_no_harm(around):
    assert parse_query_file(around.format(query("sink: noop"))).queries.keys() == {"a"}
    assert parse_query_file(query("sink: noop").replace("\n", "\r\n")).queries["a"].deploy.sink.text == "noop"


@pytest.mark.parametrize(
    "text",
    [
        "sink: !!str noop", "sink: noop  # file:/o", "alert: {behind: 300}", "spark_version: 4.3.0", "sink_name: 2026-01-01",
        "sources: [~, 'kafka:[::1]:9092/t']", "sources: {0: rate}", "confs: {a: 1.5, b: -1, c: no, d: '${env:X}'}",
        '"sink": "noop"', "backups: s3://b/x", "sources: ['file:/a/*']", "confs: {a: '010'}", "trigger:\tavailableNow",
    ],
)  # fmt: skip
def test_what_is_odd_and_means_one_thing_is_read(text):
    assert parse_query_file(query(text)).queries.keys() == {"a"}
