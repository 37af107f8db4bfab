"""Backups before a deploy are taken where the query file says, and nowhere else."""

from __future__ import annotations

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.running.find_unit import find_unit
from airflow_provider_ckpt.running.take_backups import back_up, backup_steps
from airflow_provider_ckpt.storage.store import Store

APPLICATION = "engine: local, application: {{file: a.py}}, application_group: shop"
FILE = f"""
format_version: 1
queries:
  orders: {{{{checkpoint: {{checkpoint}}, backups: {{root}}/backups, {APPLICATION}}}}}
  bare: {{{{checkpoint: {{root}}/bare, {APPLICATION}}}}}
  new: {{{{checkpoint: {{root}}/new, backups: {{root}}/of_new, {APPLICATION}}}}}
"""


def test_each_query_with_a_checkpoint_and_a_root_is_backed_up(golden, tmp_path):
    text = FILE.format(checkpoint=golden("agg-hdfs"), root=tmp_path)
    unit = find_unit(parse_query_file(text, f"{tmp_path}/ckpt.yaml"), "shop", Store.open)
    assert backup_steps(unit) == (f"Back up orders in {tmp_path}/backups.",)
    told: list[str] = []
    back_up(unit, tell=told.append)
    [taken] = list_backups(Store.open(f"{tmp_path}/backups"))
    assert told == [f"Backup {taken.backup_id} of batch 7 of orders was taken."]
