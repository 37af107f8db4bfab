"""Processes are known by their id and the moment of their start."""

from __future__ import annotations

import os
import subprocess
import sys

from airflow_provider_ckpt.engines.find_processes import find_processes, life_of, this_machine


def test_a_process_is_found_with_its_words_and_its_life():
    words = (sys.executable, "-c", "input()", "a word")
    with subprocess.Popen(words, stdin=subprocess.PIPE) as child:
        found = next(process for process in find_processes() if process.pid == child.pid)
        assert (found.life, found.session, found.words[1:4]) == (life_of(child.pid), os.getsid(0), words[1:])
        child.kill()
    assert this_machine() == this_machine() != ""


def test_one_that_has_ended_is_not_there():
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie until it is waited for
    assert life_of(child.pid) == "ended"
    assert child.pid not in {process.pid for process in find_processes()}
    child.wait()
    assert life_of(child.pid) == ""
