"""A PostgreSQL of a test's own: a new cluster on a free port, gone when the test ends, also when the test is killed.

    with cluster() as url:
        ...  # postgresql+psycopg2://airflow@127.0.0.1:PORT/airflow

``sh tests/install.sh postgresql`` installs the server when there is none. A server refuses to run as root: it runs as
another user then. Its *keeper*, a process that holds the end of a pipe from the test, ends it and removes its files.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_ports

USER = "airflow"
#: What is lost when the machine stops need not be kept: the cluster is gone by then.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "synchronous_commit": "off",
}


def programs() -> Path:
    """The directory of ``initdb`` and ``postgres``: that of the newest version. Raises FileNotFoundError."""
    if found := sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])):
        return found[-1].parent
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    raise FileNotFoundError("no PostgreSQL server was found: run sh tests/install.sh postgresql")


def user() -> str | None:
    """As whom the server runs; None for the user of the test, when that is not root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextlib.contextmanager
def cluster(database: str = USER) -> Iterator[str]:
    """Run a server with one empty database; gives its URL for SQLAlchemy, valid within the context."""
    home = Path(tempfile.mkdtemp(prefix="postgres-"))
    if owner := user():
        shutil.chown(home, owner)
    [port] = free_ports(1)
    keeper = subprocess.Popen(
        [sys.executable, __file__, str(home), str(port), database],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdin and keeper.stdout
    try:
        answer = keeper.stdout.readline()
        assert answer == "ready\n", f"no PostgreSQL has started: {answer}{keeper.stdout.read()}"
        yield f"postgresql+psycopg2://{USER}@127.0.0.1:{port}/{database}"
    finally:
        keeper.stdin.close()
        keeper.wait(60)
        keeper.stdout.close()


# --- the keeper's process ------------------------------------------------------------------------------------------


def keep(home: Path, port: str, database: str) -> None:
    """Run a server until the pipe ends; then leave neither process nor file behind."""
    data, log, as_user = home / "data", home / "log", {"user": user(), "cwd": home}
    try:
        with log.open("wb") as output:
            into_log = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            made = ["-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync", "-D", str(data)]
            subprocess.run([programs() / "initdb", *made], check=True, **as_user, **into_log)
            settings = {**SETTINGS, "port": port, "unix_socket_directories": str(home)}
            options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            server = subprocess.Popen([programs() / "postgres", "-D", str(data), *options], **as_user, **into_log)
            try:
                reach = ["-h", str(home), "-p", port, "-U", USER]
                while subprocess.run([programs() / "pg_isready", "-q", *reach, "-t", "1"]).returncode:
                    assert server.poll() is None, "the server has ended"
                subprocess.run([programs() / "createdb", *reach, database], check=True, **into_log)
                print("ready", flush=True)
                sys.stdin.read()
            finally:
                server.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(2)
                server.send_signal(3)  # SIGQUIT: at once, whoever is connected
                server.wait()
    except Exception as error:  # the test prints it
        print(f"{error}\n{log.read_text(errors='replace')[-2000:]}", flush=True)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), *sys.argv[2:])
