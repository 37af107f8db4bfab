"""The completion of commands, options and directories by a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from airflow_provider_ckpt.cli.options import command

_SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@command(
    'eval "$(ckpt completion bash)"       # in ~/.bashrc',
    'eval "$(ckpt completion zsh)"        # in ~/.zshrc, after compinit',
    "ckpt completion fish | source        # in ~/.config/fish/config.fish",
)
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands.

    It completes options and directories as well. Add the line of your shell, below, to its start file.
    """
    root = context.find_root()
    click.echo(_SHELLS[shell](root.command, {}, "ckpt", "_CKPT_COMPLETE").source())
