"""A specification of a pipeline is read as ``spark-pipelines`` reads it; what Spark would refuse is told by key."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.pipeline_spec import parse_pipeline_spec

WHOLE = """
name: shop
storage: s3a://lake/pipelines/shop/
catalog: lake
database: sales
configuration:
  spark.sql.sources.default: Delta
  spark.hadoop.fs.s3a.secret.key: hunter2
libraries:
  - glob: {include: flows/**}
  - glob: {include: one.sql}
"""


def test_what_it_says():
    spec = parse_pipeline_spec(WHOLE, "spark-pipeline.yml")
    assert (spec.name, spec.storage, spec.namespace) == ("shop", "s3a://lake/pipelines/shop", ("lake", "sales"))
    assert (spec.format, spec.libraries) == ("delta", ("flows/**", "one.sql"))
    assert spec.configuration == {"spark.sql.sources.default": "Delta"}, "a secret goes nowhere"


@pytest.mark.parametrize(
    ("configuration", "namespace"),
    [("{}", ("spark_catalog", "db")), ("{spark.sql.defaultCatalog: lake}", ("lake", "db"))],
)
def test_names_without_a_catalog_are_of_the_one_that_counts(configuration, namespace):
    text = f"name: a\nstorage: file:///s\nschema: db\nconfiguration: {configuration}\n"
    assert parse_pipeline_spec(text, "s.yml").namespace == namespace


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: a", "s.yml: it has no storage, and Spark refuses it"),
        ("storage: file:///s", "s.yml: it has no name, and Spark refuses it"),
        ("name: a\nstorage: pipeline-storage", "s.yml, storage: it is 'pipeline-storage', and has to be a whole"),
        ("name: a\nstorage: file:///s\ntarget: b", "s.yml, target: it is unknown to Spark"),
        ("name: a\nstorage: file:///s\nconfiguration: {spark.x: 8}", "s.yml, configuration.spark.x: it is 8"),
        ("name: a\nstorage: file:///s\nconfiguration: [a]", "s.yml, configuration: it is not a mapping"),
        ("name: a\nstorage: file:///s\nlibraries: [{file: a.py}]", "s.yml, libraries: each is a glob"),
        (
            "name: a\nstorage: file:///s\nlibraries: [{glob: {include: src/*.py}}]",
            "s.yml, libraries: 'src/*.py' is neither a file nor a directory with /** behind it, and Spark refuses it",
        ),
        ("name: a\nstorage: file:///s\nlibraries: [{glob: {include: t/**/*.sql}}]", "s.yml, libraries: 't/**/*.sql'"),
        ("name: a\nstorage: file:///s\ndefinitions: []", "s.yml, definitions: it is unknown to Spark"),
        ("name: [a]\nstorage: file:///s", "s.yml, name: it is ['a'], and has to be a text"),
        ("- a", "s.yml: it is no specification of a pipeline"),
        ("name: a\n\tstorage: b", "s.yml: line 2 is not YAML"),
    ],
)
def test_what_is_wrong_is_told(text, says):
    with pytest.raises(ValueError) as raised:  # the text is compared whole below
        parse_pipeline_spec(text, "s.yml")
    assert str(raised.value).startswith(says)
