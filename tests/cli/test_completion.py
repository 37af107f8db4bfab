"""A shell completes commands, options and directories."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import MODULES, run

TREE = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from airflow_provider_ckpt.cli import main; main()"]

#: What has been typed, the word under the cursor last, and what it may become.
TYPED = {
    "sho": {"show"},
    "ba": {"backup", "backups"},
    "": set(MODULES),
    "show --js": {"--json"},
    "wait --batch 1 --batch 2 --time": {"--timeout"},  # twice is refused when it runs, not while it is typed
    "wait --batch= --time": {"--timeout"},
    "rollback --accept-sink sk": {"skipped"},
    "completion ": {"bash", "zsh", "fish"},
    "show s3://lake/ord": set(),
}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_ckpt(capsys, shell):
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_CKPT_COMPLETE={shell}_complete" in script
    assert "_ckpt_completion" in script


def test_another_shell_is_a_usage_error():
    assert run(["completion", "powershell"]) == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("typed", TYPED)
def test_what_a_shell_is_answered(shell, typed):
    assert {value for kind, value in answered(shell, typed) if kind == "plain"} == TYPED[typed]


@pytest.mark.parametrize("typed", ["show /da", "backup /data --to /ba", "restore /backups latest --to ."])
def test_a_location_is_completed_with_directories(typed):
    assert [kind for kind, _ in answered("bash", typed)] == ["dir"]


def answered(shell: str, typed: str) -> list[tuple[str, str]]:
    """The kinds and values of completions, as each shell asks for them."""
    words = ["ckpt", *typed.split(" ")]
    asked = {"COMP_WORDS": shlex.join(words[:-1]) + " " + words[-1], "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        asked["COMP_CWORD"] = words[-1]
    done = ckpt({**asked, "_CKPT_COMPLETE": f"{shell}_complete"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    if shell == "zsh":
        return list(zip(lines[::3], lines[1::3], strict=False))
    items = [line.partition(",") for line in lines if line]
    return [(kind, value.split("\t")[0]) for kind, _, value in items]


def ckpt(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=TREE, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_a_real_bash_completes(tmp_path):
    on_path = tmp_path / "ckpt"
    on_path.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    on_path.chmod(0o755)
    script = """
    eval "$(ckpt completion bash)"
    complete -p ckpt
    COMP_WORDS=(ckpt ro) COMP_CWORD=1
    _ckpt_completion ckpt
    echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=TREE, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:2] == ["complete -o nosort -F _ckpt_completion ckpt", "rollback"], done.stderr
