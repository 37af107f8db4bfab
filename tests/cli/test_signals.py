"""A command that is told to end removes what it has made for itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: A command that has made a temporary directory, and waits.
WAITING = """
import tempfile, time
from unittest import mock
from airflow_provider_ckpt import cli

def run(arguments):
    with tempfile.TemporaryDirectory() as scratch:
        print(scratch, flush=True)
        time.sleep(600)

with mock.patch.object(cli, "run", run):
    cli.main()
"""


#: Whoever runs the tests may have been started by nohup.
AS_EVER = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"


def started(before: str = AS_EVER) -> tuple[subprocess.Popen[str], Path]:
    """The process, and its directory."""
    process = subprocess.Popen([sys.executable, "-c", before + WAITING], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_no_temporary_directory_stays(number):
    process, scratch = started()
    assert scratch.is_dir()
    with process:
        process.send_signal(number)
        assert process.wait(60) == 128 + number and not scratch.exists()


def test_what_nohup_started_survives_the_end_of_its_terminal():
    process, scratch = started("import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n")
    with process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM and not scratch.exists()
