"""The PostgreSQL of a test is its own, and ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg2
import pytest

from tests.postgres import cluster

ROOT = Path(__file__).parents[1]


pytestmark = pytest.mark.airflow  # its client comes with Airflow's tests


def connect(url: str):
    return psycopg2.connect(url.replace("+psycopg2", ""), connect_timeout=5)


#: A test that is killed while it has a connection.
KILLED = """
import sys
from tests.postgres import cluster
with cluster() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def test_it_ends_with_the_test_that_is_killed():
    command = [sys.executable, "-c", KILLED]
    test = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = test.stdout.readline().strip()
    connection = connect(url)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("show data_directory")
    home = Path(cursor.fetchone()[0]).parent
    assert home.stat().st_uid != 0
    os.kill(test.pid, signal.SIGKILL)
    test.communicate()
    with pytest.raises(psycopg2.Error):  # the server says goodbye, or its connection is gone
        while True:
            cursor.execute("select pg_sleep(0.1)")
    while home.exists():  # the keeper removes it as the last thing
        time.sleep(0.05)
    with pytest.raises(psycopg2.OperationalError):
        connect(url)


def test_its_database_is_empty_and_has_the_name_that_was_asked_for():
    with cluster("other") as url:
        assert url.endswith("/other")
        with connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("select current_database(), count(*) from pg_tables where schemaname = 'public'")
            assert cursor.fetchone() == ("other", 0)
    with pytest.raises(psycopg2.OperationalError):
        connect(url)
