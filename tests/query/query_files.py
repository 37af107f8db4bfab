"""Query files: a whole one, and broken ones with what is said of them."""

from __future__ import annotations

WHOLE = """
format_version: 1
defaults: {spark_version: "4.3", backups: "s3://lake/backups/{query}", undo: "s3://lake/ckpt-undo/{query}"}
kafka:
  main: {bootstrap.servers: "b1:9092,b2:9092", conn_id: kafka_default}
storage: {conn_id: lake, options: {endpoint_url: "http://s3:9000"}}
paths: {"dbfs:/mnt/lake": "abfss://lake@account.dfs.core.windows.net"}
queries:
  orders:
    checkpoint: s3://lake/checkpoints/orders
    sources:
    - kafka:main/orders
    - {from: "file:s3://lake/in", options: {maxFilesPerTrigger: 3}}
    sink: file:s3://lake/orders
    trigger: processingTime
    confs: {spark.sql.shuffle.partitions: 8}
    alert: {behind: 5m, delay: 10m, rows: 1000}
    keep: {last: 7, daily: 14, tag: [before-4.3]}
  totals:
    checkpoint: dbfs:/mnt/lake/c/totals
    sources: {clicks: "delta:dbfs:/mnt/lake/clicks", views: "rate"}
    sink: foreachBatch
    sinks: ["delta:dbfs:/mnt/lake/totals#txnAppId=t"]
    spark_version: "4.2"
    engine: kubeflow
    engine_connection: k8s
    application: {manifest: totals.yaml}
    stop: {wait_for_batch: 2m, otherwise: interrupt}
    start: {commit_within: 600, on_failure: stop}
    application_group: shop
pipelines: {shop: {spec: spark-pipeline.yml, remote: "sc://host:15002"}}
"""


def query(text: str) -> str:
    return f"format_version: 1\nqueries:\n  a:\n    checkpoint: /c/a\n    {text}\n"


#: Texts with the line and the key that the error names, and a part of what it says.
BROKEN = {
    "empty": ("", "line 1, format_version: it is None"),
    "a list": ("- 1", "line 1: it is not a mapping"),
    "not YAML": ("a: [", "not YAML"),
    "form: no version": ("queries: {}", "line 1, format_version: it is None"),
    "form: a later version": ("format_version: 2", "line 1, format_version: it is 2, and this ckpt reads 1"),
    "form: version as text": ("format_version: '1'", "line 1, format_version: it is '1'"),
    "form: unknown key": ("format_version: 1\nquery: {}", "line 2, query: it is unknown here"),
    "form: key of a query": (query("sinc: file:/o"), "line 5, queries.a.sinc: it is unknown here"),
    "form: no checkpoint": ("format_version: 1\nqueries:\n  a: {sink: noop}", "line 3, queries.a: it has no check"),
    "form: nothing said": ("format_version: 1\nqueries:\n  a:", "line 3, queries.a: it has no checkpoint"),
    "form: a text": ("format_version: 1\nqueries:\n  a: /c/a", "line 3, queries.a: it is not a mapping"),
    "form: a list of queries": ("format_version: 1\nqueries:\n- checkpoint: /c", "line 2, queries: it is not a map"),
    "form: checkpoint number": ("format_version: 1\nqueries: {a: {checkpoint: 1}}", "queries.a.checkpoint: it is 1"),
    "a name with a slash": ("format_version: 1\nqueries: {a/b: {checkpoint: /c}}", "queries.a/b: it is no name"),
    "a name with a space": ("format_version: 1\nqueries: {a b: {checkpoint: /c}}", "queries.a b: it is no name"),
    "a name of another script": ("format_version: 1\nqueries: {ü: {checkpoint: /c}}", "queries.ü: it is no name"),
    "a name that is a number": ("format_version: 1\nqueries: {1: {checkpoint: /c}}", "queries.1: it is not a text"),
    "form: sink": (query("sink: fle:/o"), "line 5, queries.a.sink: 'fle:/o' is not a sink"),
    "sink without a place": (query("sink: delta"), "line 5, queries.a.sink: 'delta' is not a sink"),
    "form: sink as mapping": (query("sink: {file: /o}"), "line 5, queries.a.sink: sink is not a str"),
    "form: sinks as text": (query("sinks: delta:/t"), "line 5, queries.a.sinks: it is a list"),
    "source type": (query("sources: [kafak:b:1/t]"), "line 5, queries.a.sources.0: unknown source type 'kafak'"),
    "cluster": (query("sources: [kafka:mian/t]"), "queries.a.sources.0: 'mian' is no host with a port and no cluster"),
    "form: sources as text": (query("sources: kafka:b:1/t"), "queries.a.sources: they are a number, a list"),
    "form: sources empty": (query("sources: 0"), "queries.a.sources: sources must be a number"),
    "form: source key": (query("sources: [{form: rate}]"), "queries.a.sources.0.form: it is unknown here"),
    "source option": (query("sources: [{from: rate, options: {rows: 1}}]"), "no option of a source"),
    "form: trigger": (query("trigger: ProcessingTime"), "queries.a.trigger: trigger must be one of"),
    "version": (query("spark_version: 4.10"), "queries.a.spark_version: it is 4.10, which YAML takes"),
    "old version": (query('spark_version: "2.4"'), "queries.a.spark_version: Spark 2.4 is not supported"),
    "form: confs": (query("confs: [a]"), "queries.a.confs: confs is not a mapping"),
    "form: conf without a value": (query("confs: {spark.a: }"), "queries.a.confs: the conf spark.a has no value"),
    "form: keep": (query("keep: {last: many}"), "line 5, queries.a.keep.last: it is 'many', and has to be a whole"),
    "form: keep of a tag": (query("keep: {tag: a}"), "line 5, queries.a.keep.tag: it is a list of tags"),
    "form: alert": (query("alert: {behnd: 5m}"), "queries.a.alert.behnd: it is unknown here"),
    "duration": (query("alert: {behind: soon}"), "line 5, queries.a.alert.behind: 'soon'"),
    "form: rows": (query("alert: {rows: many}"), "queries.a.alert.rows: it is 'many', and has to be a whole number"),
    "form: engine": (query("engine: {yarn: 1}"), "line 5, queries.a.engine: it is {'yarn': 1}, which is unknown here"),
    "form: unknown engine": (query("engine: kubeflw"), "queries.a.engine: it is 'kubeflw', which is unknown here; did"),
    "no application": (query("engine: yarn"), "queries.a: its application has no file, which the engine yarn needs"),
    "application without engine": (query("application: {file: a}"), "queries.a.application: it needs the key engine"),
    "application of another engine": (
        query("engine: yarn\n    application: {file: a.jar, manifest: b.yaml}"),
        "line 6, queries.a.application.manifest: it is unknown here; the keys are args, class, file, spark_submit, submit",
    ),
    "a number as an argument": (
        query("engine: local\n    application: {file: a.py, args: [a, 1]}"),
        "line 6, queries.a.application.args.1: it is 1, and has to be a text; write it in quotes",
    ),
    "a state of no run": (
        query("engine: command\n    application: {status: [s], end: [e], start: [s], states: {RUNNING: alive}}"),
        "line 6, queries.a.application.states.RUNNING: it is 'alive', which is unknown here; did you mean live?",
    ),
    "a command as a text": (
        query("engine: command\n    application: {status: ./s, end: [e], start: [s]}"),
        "queries.a.application.status: it is a list of texts",
    ),
    "form: stop": (
        query("engine: yarn\n    application: {file: a}\n    stop: {wait: 5}"),
        "line 7, queries.a.stop.wait: it is unknown here; the keys are otherwise, wait_for_batch",
    ),
    "form: start": (
        query("engine: yarn\n    application: {file: a}\n    start: {on_failure: undo}"),
        "line 7, queries.a.start.on_failure: it is 'undo', which is unknown here",
    ),
    "duration of a stop": (
        query("engine: yarn\n    application: {file: a}\n    stop: {wait_for_batch: long}"),
        "line 7, queries.a.stop.wait_for_batch: 'long'",
    ),
    "duration of a stop without an engine": (
        query("stop: {wait_for_batch: long}"),
        "line 5, queries.a.stop.wait_for_batch: 'long'",
    ),
    "tab": ("format_version: 1\nqueries:\n\ta: {}", "ckpt.yaml line 3 is not YAML: found character"),
    "two documents": (query("sink: noop\n---\na: 1"), "ckpt.yaml line 6 is not YAML: but found another document"),
    "merged keys": ("format_version: 1\nqueries: {a: {<<: {sink: noop}}}", "line 2 has the key <<, which is refused"),
    "a template": (query("backups: {{ var.value.x }}"), "line 5 has a key that is not a text"),
    "minutes": (query("alert: {behind: 1:30}"), "behind: it is 1:30, which YAML takes for 90; write that"),
    "a variable": (query("backups: s3://${BUCKET}/b"), "queries.a.backups: it is 's3://${BUCKET}/b', and no variable"),
    "a space": (query("undo: ' /u'"), "queries.a.undo: it is ' /u', with a space"),
    "form: false for a trigger": (query("trigger: no"), "queries.a.trigger: trigger must be one of"),
    "form: key in upper case": (query("Sink: noop"), "queries.a.Sink: it is unknown here"),
    "form: queries as a list": ("format_version: 1\nqueries: [{name: a}]", "line 2, queries: it is not a mapping"),
    "form: too far to the left": (
        "format_version: 1\nqueries:\n  a:\n  checkpoint: /c",
        "queries.a: it has no checkpoint",
    ),
    "form: a format of readStream": (query("sources: [{format: kafka}]"), "queries.a.sources.0.format: it is unknown"),
    "form: a deploy file": ("spark_version: '4.3'\nsources: [kafka]", "line 1, spark_version: it is unknown here"),
    "form: a conf as a list": (query("confs: {a: [1]}"), "queries.a.confs: the conf a is a list"),
    "form: less than nothing": (query("alert: {rows: -1}"), "queries.a.alert.rows: it is -1"),
    "a tag": (query("sink: !!python/object/apply:os.system [ls]"), "line 5 has the tag !!python/object/apply:os"),
    "a type is missing": (query("sources: ['s3://lake/in']"), "queries.a.sources.0: unknown source type 's3'"),
    "twice": (query("sink: noop\n    sink: noop"), "ckpt.yaml line 6 gives 'sink' again"),
    "alias": ("format_version: 1\na: &x 1\nb: *x", "ckpt.yaml line 3 has the alias"),
    "one checkpoint": (
        "format_version: 1\nqueries:\n  a: {checkpoint: s3://l/c}\n  b: {checkpoint: s3a://l/c/}",
        "line 4, queries.b.checkpoint: the query a has the same checkpoint",
    ),
    "one checkpoint by a relative path": (
        "format_version: 1\nqueries:\n  a: {checkpoint: l/c}\n  b: {checkpoint: ./l/../l//c}",
        "line 4, queries.b.checkpoint: the query a has the same checkpoint",
    ),
    "one output directory": (
        "format_version: 1\nqueries:\n  a: {checkpoint: a, sink: 'file:s3://l/o'}\n  b:\n    checkpoint: b\n"
        "    sinks: [noop, 'parquet:s3a://l/o/']",
        "line 6, queries.b.sinks.1: a has the same sink, and a file sink is of one query",
    ),
    "one root of backups": (
        "format_version: 1\nqueries:\n  a: {checkpoint: a, backups: s3://l/b}\n  b: {checkpoint: b, backups: s3a://l/b/}",
        "line 4, queries.b.backups: a has the same, and ckpt prune of b would delete backups of the other as well; put {q",
    ),
    "one root of backups by default": (
        "format_version: 1\ndefaults: {backups: k}\nqueries:\n  a: {checkpoint: a}\n  b: {checkpoint: b}",
        "line 2, defaults.backups: a has the same, and ckpt prune of b would delete backups of the other as well; put",
    ),
    "one root of backups of a pipeline": (
        "format_version: 1\ndefaults: {backups: k}\npipelines: {shop: {spec: a.yml}}",
        "line 2, defaults.backups: each flow of the pipeline shop has it, and ckpt prune of one would delete backups of",
    ),
    "one root of backups of a flow": (
        "format_version: 1\nqueries: {a: {checkpoint: a, backups: b}}\npipelines:\n  shop:\n    spec: a.yml\n    flows:\n"
        "      bronze: {backups: b}",
        "line 7, pipelines.shop.flows.bronze.backups: a has the same, and ckpt prune of shop.bronze would",
    ),
    "form: default of one query": ("format_version: 1\ndefaults: {sink: noop}", "defaults.sink: it is of one query"),
    "form: cluster without servers": ("format_version: 1\nkafka: {main: {conn_id: k}}", "kafka.main: it has no boot"),
    "form: checkpoint of a flow": (
        "format_version: 1\npipelines: {shop: {spec: a.yml, flows: {f: {checkpoint: /c}}}}",
        "line 2, pipelines.shop.flows.f.checkpoint: it is unknown here",
    ),
    "form: flow": (
        "format_version: 1\npipelines: {shop: {spec: a.yml, flows: {f: {sink: x}}}}",
        "line 2, pipelines.shop.flows.f.sink: ",
    ),
    "form: pipeline": ("format_version: 1\npipelines: {shop: {}}", "pipelines.shop: it has no spec"),
    "form: paths": ("format_version: 1\npaths: [a]", "line 2, paths: it is not a mapping"),
}
