"""Failed tasks of real Spark in a real Airflow: what the notifier says of each, and whether that is right.

python -m tests.notifications.failing.run [TASK]...
"""

from __future__ import annotations

import email
import json
import os
import shutil
import socketserver
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.airflow_stack import AirflowStack
from tests.explain.produced.lab import Spark
from tests.notifications.failing.cases import CASES, Case, prepare
from tests.postgres import cluster

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: What nobody may read in a text: it is in messages of the cases.
SECRETS = ("hunter2", "s3cr3t")
#: After so long nothing more is said.
WAIT_S = 3600


class Mails(socketserver.StreamRequestHandler):
    """Takes mails, as far as Airflow asks for it."""

    got: list[str] = []  # noqa: RUF012  # of all connections

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (part := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(part.decode())
                self.got.append("".join(lines))
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 so be it\r\n")


def judge(case: Case, text: str | None) -> tuple[bool, str]:
    """Whether a text is right, and in a word what it says."""
    if text is None:  # of a process that the kernel has killed, Airflow calls no callback
        return case.shown == "nobody", "nothing was said"
    headline = text.split("\n")[0].partition(" failed: ")[2]
    if any(secret in text for secret in SECRETS):
        return False, "a secret is told"
    claims = "\nCause: " in text or "Evidence: The checkpoint shows" in text
    outside = "ckpt knows of no checkpoint that raises it" in text
    if case.shown is None:
        return outside or not claims, headline
    possible = "\nPossible cause: " in text
    if case.shown == "possible":  # the start that failed has written what was missing
        return possible and not claims, headline
    return (claims or (possible and not case.shown)) and not outside and case.shown in text, headline


def text_of(told: Path, name: str) -> dict[str, Any]:
    """What was said of a task, in its own process or later in that of the DAG processor."""
    for process in ("task", "later"):
        path = told / f"{name}.{process}.json"
        if path.exists():
            return {**json.loads(path.read_text()), "process": process}
    return {}


def wait_for_end(stack: AirflowStack, dag: str) -> str:
    """The state of the only run of a DAG, when it has ended."""

    def ended() -> str | None:
        state = stack.runs(dag)[0]["state"]
        return state if state in ("success", "failed") else None

    return str(stack.wait_for(f"the end of {dag}", ended, WAIT_S))


def run(home: Path, chosen: Sequence[Case]) -> tuple[list[tuple[str, str, bool, str, str]], list[str]]:
    """Run it all: a row for each case, and what else is wrong."""
    spark = Spark("4.3", home / "spark")
    try:
        cases = prepare(spark, home / "queries", chosen)
    finally:
        spark.stop()
    listed, told = home / "cases.json", home / "told"
    listed.write_text(json.dumps(cases))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mails) as mails, cluster() as database:
        threading.Thread(target=mails.serve_forever, daemon=True).start()
        smtp = {"conn_type": "smtp", "host": "127.0.0.1", "port": mails.server_address[1]}
        env = {
            "PYTHONPATH": str(ROOT),
            "FAILING_CASES": str(listed),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "AIRFLOW__CKPT__EXPLAIN_FAILURES": "True",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps({**smtp, "extra": {"disable_ssl": True, "disable_tls": True}}),
        }
        stack = AirflowStack(home / "airflow", HERE / "dags", env, database=database)
        try:
            stack.start()
            for dag in ("failing", "whole"):
                stack.trigger(dag)
            states = {dag: wait_for_end(stack, dag) for dag in ("failing", "whole")}
            stack.wait_for("the DAG's callback", (told / "listened.dag.json").exists, 120)
        finally:
            stack.stop()
        mails.shutdown()
    rows = []
    for case in chosen:
        said = text_of(told, case.name)
        right, word = judge(case, said.get("explanation"))
        rows.append((case.name, case.runs, right, said.get("process", ""), word))
        print(f"--- {case.name}\n{said.get('explanation')}\n", flush=True)
    return rows, list(others(home, told, states))


def others(home: Path, told: Path, states: Mapping[str, str]) -> list[str]:
    """What is wrong besides: the listener, the callback of a DAG, the mail."""
    wrong = [f"{dag} ended as {state}" for dag, state in states.items() if state != "failed"]
    (log,) = (home / "airflow" / "logs" / "dag_id=whole").rglob("task_id=listened/attempt=1.log")
    if "CKPT130" not in log.read_text():
        wrong.append("the listener has not said why")
    of_dag = json.loads((told / "listened.dag.json").read_text())["explanation"]
    if "CKPT130" not in of_dag:
        wrong.append(f"the callback of the DAG has said: {of_dag}")
    if "delta_gone" in {case.stem.split(".")[0] for case in told.iterdir()} and not any(
        "CKPT130" in read(mail) for mail in Mails.got
    ):
        wrong.append(f"{len(Mails.got)} mails, and none with the cause")
    return wrong


def read(mail: str) -> str:
    """The text of a mail."""
    parts = email.message_from_string(mail).walk()
    return "\n".join(part.get_payload(decode=True).decode() for part in parts if not part.is_multipart())


def main() -> int:
    """The exit code: 0 when all is right."""
    home = Path(tempfile.mkdtemp(prefix="failing-", dir=os.environ.get("FAILING_HOME")))
    rows, wrong = run(home, [case for case in CASES if case.name in sys.argv[1:]] or CASES)
    print("| task | runs as | right | said in | said |\n|---|---|---|---|---|")
    for name, runs, right, process, word in rows:
        print(f"| {name} | {runs} | {'right' if right else 'WRONG'} | {process} | {word} |")
    print(*wrong, sep="\n")
    shutil.rmtree(home, ignore_errors=True) if all(row[2] for row in rows) and not wrong else print(home)
    return 0 if all(row[2] for row in rows) and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
