"""What a live session says of the deploy that it is."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.spark_confs import CATALOGUE
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.spark_version import parse_spark_version
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.spark import deploy_of
from airflow_provider_ckpt.storage.store import Store

pytestmark = pytest.mark.spark

PARTITIONS = "spark.sql.shuffle.partitions"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


@pytest.fixture
def session(spark):
    return spark.newSession()


def test_explicit_confs_are_there_and_defaults_are_not(session):
    session.conf.set(POLICY, "max")
    session.sql("SET spark.sql.streaming.stateStore.compression.codec = zstd")
    confs = deploy_of(session).confs
    assert confs[POLICY] == "max" and confs["spark.sql.streaming.stateStore.compression.codec"] == "zstd"
    assert confs[PARTITIONS] == "2" and confs["spark.sql.session.timeZone"] == "UTC", "those of the application"
    explicit = {PARTITIONS, POLICY, "spark.sql.streaming.stateStore.compression.codec"}
    assert {conf.key for conf in CATALOGUE} & confs.keys() == explicit
    session.conf.unset(POLICY)
    assert POLICY not in deploy_of(session).confs


def test_sessions_of_one_application_are_told_apart(spark, session):
    session.conf.set(PARTITIONS, "7")
    assert deploy_of(session).confs[PARTITIONS] == "7" and deploy_of(spark).confs[PARTITIONS] == "2"


def test_the_version_and_what_was_declared(session):
    deploy = deploy_of(session, sources=["kafka"], sink="noop", operators=[], confs={PARTITIONS: 5})
    assert deploy.spark_version == parse_spark_version(session.version)
    assert deploy.sources == (Source("0", "kafka"),)
    assert (deploy.sink, deploy.operators, deploy.confs[PARTITIONS]) == (Sink("noop"), (), "5")
    with pytest.raises(ValueError, match="unknown key 'source'"):
        deploy_of(session, source="kafka")


def test_a_session_can_be_gated(session, goldens):
    view = examine(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint")), deep=True)
    foretold = forecast(view, deploy_of(session))
    assert (foretold.decision, foretold.unknown) == ("warn", ("sources", "operators", "sink"))
    session.conf.set(PARTITIONS, "8")
    assert forecast(view, deploy_of(session)).decision == "block"
