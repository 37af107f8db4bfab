"""``make demo``: run the DAG ``checkpoint_lifecycle`` in a fresh Airflow home, then print what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from airflow_provider_ckpt.report.table import facts, to_rich

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the demo; the exit code is 0 when the result of the rolled back query is that of a clean run."""
    from rich.console import Console

    home = Path(tempfile.mkdtemp(prefix="ckpt-demo-"))
    airflow = str(Path(sys.executable).with_name("airflow"))
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "CKPT_DEMO_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    print(f"Everything happens in {home}. The log is {home / 'demo.log'}; it takes about two minutes.", flush=True)
    started = time.monotonic()
    with (home / "demo.log").open("wb") as log:
        for command in (["db", "migrate"], ["dags", "test", "checkpoint_lifecycle"]):
            done = subprocess.run([airflow, *command], env=env, stdout=log, stderr=subprocess.STDOUT, timeout=900)
            if done.returncode:
                break
    summary = home / "summary.json"
    happened = json.loads(summary.read_text()) if summary.exists() else {}
    good = done.returncode == 0 and happened.get("rows that differ") == 0
    rows = [*happened.items(), ("seconds", round(time.monotonic() - started)), ("result", "right" if good else "WRONG")]
    console = Console()
    console.print(to_rich(facts("checkpoint_lifecycle", rows), console.width), crop=False)
    if not good:
        print(f"The demo failed. The end of {home / 'demo.log'}:")
        print("\n".join((home / "demo.log").read_text(errors="replace").splitlines()[-40:]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
