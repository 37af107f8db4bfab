"""`tests/install.sh`: it installs what is not there, by the package manager that is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "install.sh"
SHELL = "/bin/sh"


def install(wanted: str, directory: Path, *there: str) -> tuple[int, list[str]]:
    """Run the script where these programs alone are there; its exit code, and what they were asked for."""
    for name in ("id", *there):
        program = directory / name
        program.write_text(f'#!{SHELL}\n[ {name} = id ] && echo 0 || echo "{name} $*" >> {directory}/asked\n')
        program.chmod(0o755)
    done = subprocess.run([SHELL, str(SCRIPT), wanted], env={"PATH": str(directory)}, capture_output=True, text=True)
    asked = directory / "asked"
    return done.returncode, asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.parametrize(
    ("wanted", "program"), [("java", "java"), ("maven", "mvn"), ("chromium", "chromium"), ("postgresql", "initdb")]
)
def test_what_is_there_is_left_as_it_is(wanted, program, tmp_path):
    assert install(wanted, tmp_path, program, "apt-get") == (0, [])


@pytest.mark.parametrize(
    ("wanted", "manager", "package"),
    [
        ("java", "apt-get", "openjdk-17-jre-headless"),
        ("java", "brew", "openjdk@17"),
        ("maven", "apk", "maven"),
        ("chromium", "apt-get", "chromium"),
        ("chromium", "dnf", "chromium"),
    ],
)
def test_what_is_not_there_is_installed(wanted, manager, package, tmp_path):
    code, asked = install(wanted, tmp_path, manager)
    assert code == 0
    assert asked[-1].startswith(manager) and asked[-1].endswith(f" {package}")


@pytest.mark.parametrize(("wanted", "manager"), [("java", "pacman"), ("chromium", "brew")])
def test_what_nothing_can_install_is_said(wanted, manager, tmp_path):
    assert install(wanted, tmp_path, manager) == (1, [])


def test_another_word_is_refused(tmp_path):
    assert install("jawa", tmp_path, "apt-get") == (2, [])
