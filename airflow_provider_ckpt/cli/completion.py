"""The completion of commands, options and directories by a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

_SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    r"""What makes a shell complete commands, options and directories; for its start file.

    \b
    bash, in ~/.bashrc:                    eval "$(ckpt completion bash)"
    zsh, in ~/.zshrc after compinit:       eval "$(ckpt completion zsh)"
    fish, in ~/.config/fish/config.fish:   ckpt completion fish | source
    """
    root = context.find_root()
    click.echo(_SHELLS[shell](root.command, {}, "ckpt", "_CKPT_COMPLETE").source())
