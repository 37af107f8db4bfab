"""What each command says of the names of queries that it takes."""

from __future__ import annotations

from airflow_provider_ckpt.cli import cli
from airflow_provider_ckpt.cli.sectioned import names_of


def test_each_option_that_is_named_is_one_of_the_command():
    for command in cli.commands.values():
        names, own = names_of(command), {option for param in command.params for option in param.opts}
        assert {*names.of_one, *({names.checkpoint_option} - {None})} <= own


def test_these_take_several_queries():
    of = {how: {name for name in cli.commands if names_of(cli.commands[name]).several == how} for how in HOW}
    assert of == HOW


HOW = {
    "at once": {"check", "fleet", "history", "lag"},
    "in turn": {"gate", "backup", "backups", "verify", "prune"},
}
