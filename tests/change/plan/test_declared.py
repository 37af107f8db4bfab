"""A plan holds what the query file declared, and is stale when the file says otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.declared import LONGEST, require_same_declared, with_declared
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.query.declared import DECLARED
from airflow_provider_ckpt.query.deploy import DEPLOY_KEYS
from airflow_provider_ckpt.query.engine import ENGINE_KEYS
from airflow_provider_ckpt.query.query_parser import QUERY_KEYS, parse_query_file

PLAN = Plan("rollback", "/c/a", "", 3, 0, (), ())
HEAD = 'format_version: 1\nkafka: {main: {bootstrap.servers: "b:1", client.id: x}}\nqueries: {a: {checkpoint: /c/a, '
#: What may be added to an entry, with what a plan made before says of it.
CHANGES = {
    "sources: ['kafka:main/t']": "sources was nothing, and ckpt.yaml line 3 says 0=kafka:b:1/t",
    "sources: 2": "sources was nothing, and ckpt.yaml line 3 says 2",
    "source_options: {0.maxOffsetsPerTrigger: 1}": "source_options was nothing, and",
    "sink: delta:/t": "sink was nothing, and ckpt.yaml line 3 says delta:/t",
    "sinks: [delta:/t]": "sinks was nothing, and ckpt.yaml line 3 says delta:/t",
    "sink_name: ''": 'sink_name was nothing, and ckpt.yaml line 3 says ""',
    "trigger: once": "trigger was nothing, and ckpt.yaml line 3 says once",
    "spark_version: '4.2'": "says 4.2",
    "confs: {a: 1}": "ckpt.yaml line 3 says another value, or none, of confs.a",
    "confs: {}": "ckpt.yaml line 3 says that no conf is set",
    "confs_file: /f": "says /f",
    "operators: []": "says none",
    "async_progress: true": "says true",
    "classes: [a.B]": "says a.B",
    "backups: /b": "says /b",
    "undo: /u": "says /u",
}


def of(text: str):
    file = parse_query_file(f"{HEAD}{text}}}}}")
    return file, file.queries["a"]


def test_each_key_of_a_query_makes_a_plan_stale_but_those_that_are_about_no_change():
    declared = {text.partition(":")[0] for text in CHANGES}
    assert declared == {*DEPLOY_KEYS, *QUERY_KEYS} - {"checkpoint", "keep", "alert", *ENGINE_KEYS}
    assert {each.key for each in DECLARED.values()} - {"keep"} <= declared


@pytest.mark.parametrize("text", CHANGES)
def test_any_declaration_that_changes_makes_it_stale(text):
    bare, added = of(""), of(text)
    require_same_declared(with_declared(PLAN, added[1]), *added)
    with pytest.raises(StalePlanError) as raised:
        require_same_declared(with_declared(PLAN, bare[1]), *added)
    assert CHANGES[text] in raised.value.message
    with pytest.raises(
        StalePlanError, match=r"ckpt\.yaml says nothing|says another value, or none, of confs\.a|no longer says"
    ):
        require_same_declared(with_declared(PLAN, added[1]), *bare)


def test_of_a_conf_a_plan_holds_a_digest_and_an_error_its_name():
    before = with_declared(PLAN, of("confs: {a: opaque, b: same}")[1])
    assert "opaque" not in before.declared
    with pytest.raises(StalePlanError) as raised:
        require_same_declared(before, *of("confs: {a: other, b: same}"))
    assert "confs.a" in raised.value.message
    assert "confs.b" not in raised.value.message
    assert not {"opaque", "other,"} & {*raised.value.message.split()}


def test_a_setting_of_a_cluster_counts_and_what_is_about_no_change_does_not():
    before = with_declared(PLAN, of("sources: ['kafka:main/t']")[1])
    file = parse_query_file(f"{HEAD}sources: ['kafka:main/t']}}}}".replace("client.id: x", "client.id: y"))
    with pytest.raises(StalePlanError, match="kafka was 0.client.id=x, and ckpt.yaml line 3 says 0.client.id=y"):
        require_same_declared(before, file, file.queries["a"])
    require_same_declared(
        before, *of("sources: ['kafka:main/t'], alert: {rows: 1}, engine: yarn, application: {file: a.jar}")
    )


def test_what_was_given_in_its_place_is_not_compared():
    plan = with_declared(PLAN, of("sink: kafka")[1], {"sink"})
    require_same_declared(plan, *of("sink: noop"))
    require_same_declared(plan, *of(""))


def test_a_plan_that_completes_a_change_stays_as_it_is():
    plan = replace(PLAN, completes="0" * 16)
    assert with_declared(plan, of("sink: kafka")[1]) is plan


def test_it_is_small_and_is_read_again():
    plan = with_declared(PLAN, of(f"confs: {{a: {'x' * 5_000}}}")[1])
    assert len(plan.declared) < LONGEST
    assert plan.to_dict()["declared"] == plan.declared
    require_same_declared(plan, *of(f"confs: {{a: {'x' * 5_000}}}"))
    with pytest.raises(StalePlanError):
        require_same_declared(plan, *of(f"confs: {{a: {'x' * 4_999}}}"))


@pytest.mark.parametrize("text", ["[", "[]", '{"sink": 1}'])
def test_one_that_was_edited_is_refused(text):
    with pytest.raises(PlanError, match="makes no sense"):
        require_same_declared(replace(PLAN, declared=text), *of(""))


def test_a_plan_without_a_file_keeps_its_bytes():
    assert "declared" not in PLAN.to_dict()
    require_same_declared(PLAN, *of("trigger: once"))
