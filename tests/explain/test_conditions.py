"""The catalogue against the Spark that is installed, its Kafka connector, and what the oracle has met.

Which conditions a checkpoint or a deploy can raise is written down here: all of the families below, but those that are
listed as being about something else. A condition that a later Spark adds to a family is seen.
"""

from __future__ import annotations

import re

import pytest

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.failure import Failure, Thrown
from airflow_provider_ckpt.explain.read_index import read_index
from tests.explain.facts import filled
from tests.explain.raised import DELTA, KAFKA, about, is_explained, met_by_the_oracle
from tests.explain.slow_patterns import too_slow
from tests.explain.spark_catalogue import names_in, spark_names
from tests.package import PACKAGE

INDEX = read_index()
#: The page of torn copies, to which a condition leads that no salvage ends: all entries of both logs are gone.
ABOUT_COPIES = "copied-checkpoint-does-not-start"
#: What the issue counted in Spark 4.3 at least.
AT_LEAST = 102


def test_every_condition_that_a_checkpoint_can_raise_is_explained():
    names = about()
    explained = [name for name in names if is_explained(name)]
    print(f"{len(explained)} of {len(names)} conditions of Spark that a checkpoint or a deploy can raise are explained")
    assert set(names) - set(explained) == set()
    assert len(names) >= AT_LEAST


def test_what_a_salvage_repairs_ends_with_it_under_each_of_its_names():
    """One Spark prints a condition and another one a text, for the same loss."""
    salvaged = {
        page.name for page in INDEX.pages if "ckpt salvage {location} --sink TYPE[:URI]" in page.causes[0].commands
    }
    ends = {entry.cause.commands[-1] for entry in INDEX.entries if entry.page in salvaged - {ABOUT_COPIES}}
    assert ends == {"ckpt salvage {location} --sink TYPE[:URI]"}


@pytest.mark.parametrize("names", [KAFKA, DELTA], ids=["kafka", "delta"])
def test_the_conditions_of_connectors_are_explained(names):
    print(f"{len(names)} conditions")
    assert [name for name in names if not is_explained(name)] == []


def test_the_conditions_of_kafka_are_those_of_its_connector():
    """Where ``make`` has fetched it."""
    jars = sorted((PACKAGE.parent / ".kafka-connector").glob("spark-sql-kafka-*.jar"))
    for jar in jars[:1]:
        assert sorted(names_in(jar, "error/kafka-error-conditions.json")) == sorted(KAFKA)


def test_the_names_of_the_other_conditions_are_those_of_the_newest_spark():
    """Written by ``python -m tests.explain.record_conditions``."""
    new = [name for name in spark_names() if name not in INDEX.others]
    assert new == [], "run python -m tests.explain.record_conditions with the newest Spark"


def test_what_is_explained_is_still_a_condition_of_something():
    """One that vanished from Spark is seen; earlier versions and other systems are listed."""
    known = {*INDEX.others, *KAFKA, *DELTA, *(name.partition(".")[0] for name in (*INDEX.others, *KAFKA))}
    earlier = {"BATCH_METADATA_FILE_NOT_FOUND", "DELTA_STREAMING_SCHEMA_EVOLUTION"}
    said = {name for entry in INDEX.entries for name in entry.conditions}
    said |= {name for page in INDEX.pages for name in page.conditions}
    said |= {name for page in INDEX.pages for cause in page.causes for name in cause.conditions}
    assert said - known - earlier == set()


def test_a_condition_is_in_one_entry_or_on_one_page():
    names = [name for entry in INDEX.entries for name in entry.conditions]
    names += {name for page in INDEX.pages for name in page.conditions}
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("entry", INDEX.entries, ids=lambda entry: entry.title[:60])
def test_an_entry_is_whole(entry):
    assert [code for code in entry.cause.rules if code not in RULES] == []
    texts = (*entry.texts, *entry.told.shared_texts)
    assert {text.pattern: too_slow(text.pattern) for text in texts if too_slow(text.pattern)} == {}
    assert bool(entry.told.maybe) >= bool(entry.told.shared_texts)
    assert entry.examples or entry.conditions
    for text in texts:
        assert any(text.search(example) for example in entry.examples), text.pattern
    for example in entry.examples:
        found = INDEX.match(Failure([Thrown(None, [example])], 1))
        assert found is not None and (found.entry is entry or (found.page and found.page.name == entry.page)), example
    assert 20 < len(entry.cause.text) < 500
    assert entry.cause.text.endswith(".") and entry.repair.endswith(".")
    filled(entry.cause.commands, texts, entry.examples)


#: What no text tells: the exception of a damaged file or a bug of Spark, without a message of its own.
UNTOLD = re.compile(r"EOFException|AssertionError: assertion failed$|INTERNAL_ERROR|TimeoutException")


def test_what_the_oracle_met_is_explained():
    """Untyped exceptions as well, by their messages alone."""
    met = met_by_the_oracle()
    unknown = []
    for kind, (error, message) in met.items():
        text = f"[{error}] {message}" if "_" in error else f"java.lang.{error}: {message}"
        if not any(item.cause for item in explain([text]).explanations) and not UNTOLD.match(kind):
            unknown.append(kind)
    print(f"{len(met) - len(unknown)} of {len(met)} kinds of errors that the oracle met are explained")
    assert unknown == []
