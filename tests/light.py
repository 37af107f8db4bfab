"""The command without Airflow, as CI and bastion hosts get it: from its wheel in an empty environment, and as one file.

    python -m tests.light WHEEL ONE_FILE [OPTION OF PIP]...

Prints what it costs to get. The files of the wheels are tested in ``test_wheels.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.distributions import PAGES, install
from tests.goldens import GOLDEN, unpack

#: What a bastion host does, with what has to be said; CHECKPOINT and ROOT are put in.
STORY: tuple[tuple[str, int, str], ...] = (
    ("show CHECKPOINT", 0, "newest commit"),
    ("check --deep CHECKPOINT", 0, ""),
    ("gate CHECKPOINT --conf spark.sql.shuffle.partitions=77", 1, "will be ignored"),
    ("explain CKPT201", 0, "CKPT201"),
    ("explain CONCURRENT_STREAM_LOG_UPDATE CHECKPOINT", 0, "Two queries write"),
    ("wait CHECKPOINT --watermark 1970-01-01T00:00:01Z --timeout PT5S", 0, ""),
    ("backup CHECKPOINT --to ROOT", 0, "batch"),
    ("verify ROOT latest", 0, ""),
    ("rollback CHECKPOINT --to-batch BATCH --sink noop --execute --i-know-it-is-stopped --quiet-period 0", 0, "Done"),
    ("undo CHECKPOINT --execute --i-know-it-is-stopped --quiet-period 0", 0, "Done"),
    ("completion bash", 0, "_CKPT_COMPLETE"),
)
#: Every module of the package can be loaded, but those of Airflow, which are in the other wheel, and those about an extra
#: (pyarrow, PySpark, mcp with pydantic) or about tests (pytest), which nothing else loads.
IMPORT_ALL = """
import importlib, pkgutil, airflow_provider_ckpt as package
names = [found.name for found in pkgutil.walk_packages(package.__path__, "airflow_provider_ckpt.")]
without = []
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in ("mcp", "pyarrow", "pydantic", "pyspark", "pytest"):
            raise
        without.append(name.removeprefix("airflow_provider_ckpt."))
assert all(name.startswith(("cli.mcp.assistant", "cli.mcp.server", "batches.arrow", "spark.", "storage.testing")) for name in without), without
print(len(names) - len(without), "of", len(names))
"""


def say(what: str, value: object) -> None:
    print(f"{what:<44} {value}", flush=True)


def clean_environment() -> dict[str, str]:
    """The environment variables of this process that say nothing of its Python or its Airflow."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "AIRFLOW"))}


def run(command: Sequence[str], *, expected: int = 0) -> str:
    """What a command says, without anything of this environment."""
    done = subprocess.run(command, env=clean_environment(), cwd="/", capture_output=True, text=True)
    assert done.returncode == expected, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def tell_story(ckpt: Sequence[str], scratch: Path) -> None:
    """Look, judge, back up, roll back and undo on a checkpoint that real Spark has written."""
    home = unpack(GOLDEN / "spark-4.3.0" / "agg-hdfs.tar.gz", scratch)
    checkpoint = home / "checkpoint"
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    places = {"CHECKPOINT": str(checkpoint), "ROOT": str(scratch / "backups"), "BATCH": str(newest - 1)}
    for words, code, said in STORY:
        output = run([*ckpt, *(places.get(word, word) for word in words.split())], expected=code)
        assert said in output, f"{words}: {output}"
    assert max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit()) == newest


def use_registered_type(ckpt: Sequence[str], site: Path, scratch: Path) -> None:
    """A package that is installed beside the command teaches it a source type: a file source is none of that type."""
    install(site, "acme-ckpt", {"acme-pages": "acme_pages:KIND"}, acme_pages=PAGES)
    checkpoint = unpack(GOLDEN / "spark-4.3.0" / "agg-hdfs.tar.gz", scratch) / "checkpoint"
    output = run([*ckpt, "log", str(checkpoint), "--source", "0=acme-pages", "--json"])
    assert "not an offset of the source type acme-pages" in output, output
    say("a source type that a package registers", "known")


def test_wheel(wheel: Path, options: Sequence[str], scratch: Path) -> None:
    """The wheel alone in an empty environment."""
    begun = time.monotonic()
    home = scratch / "empty"
    venv.create(home, with_pip=True)
    python, ckpt = str(home / "bin" / "python"), str(home / "bin" / "ckpt")
    without = set(run([python, "-m", "pip", "freeze", "--all"]).split())
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, str(wheel)])
    run([ckpt, "--version"])
    say("from nothing to the first answer, seconds", round(time.monotonic() - begun))
    installed = set(run([python, "-m", "pip", "freeze", "--all"]).split("\n")) - without - {""}
    say("distributions, spark-ckpt among them", len(installed))
    run([python, "-c", "import airflow"], expected=1)
    say("modules loaded one by one", run([python, "-c", IMPORT_ALL]).strip())
    for name in ("pip", "setuptools"):
        for path in (home / "lib").glob(f"python3*/site-packages/{name}*"):
            shutil.rmtree(path)
    say("installed, MB", round(sum(path.stat().st_size for path in (home / "lib").rglob("*")) / 1e6, 1))
    tell_story([ckpt], scratch / "wheel")
    use_registered_type([ckpt], next(home.glob("lib/python3*/site-packages")), scratch / "registered")


def test_one_file(one_file: Path, scratch: Path) -> None:
    """The one file, with a Python that has nothing but its standard library, and is let write nothing beside it."""
    say("one file, MB", round(one_file.stat().st_size / 1e6, 1))
    tell_story([sys.executable, "-I", "-S", str(one_file)], scratch / "file")


def main() -> None:
    wheel, one_file, options = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]
    with tempfile.TemporaryDirectory() as scratch:
        test_wheel(wheel, options, Path(scratch))
        test_one_file(one_file, Path(scratch))
    say("the command works without Airflow", "yes")


if __name__ == "__main__":
    main()
