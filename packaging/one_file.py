"""Build ``ckpt.pyz``: the command and all that it needs in one file, for hosts without a network or an index.

    python packaging/one_file.py WHEEL TARGET [OPTION OF PIP]...

No library can be loaded from inside a zip, so those of the dependencies are left out. Each of them also has its code in
Python, but cramjam and xxhash: LZ4 and Snappy are then read by ``checkpoint/state/plain_blocks.py``, blocks of LZ4
summed by ``codec/xxhash32.py``, and zstd is not read. So one file runs on every machine with a supported Python, and
unpacks nothing; what is slower is the reading of state.
"""

from __future__ import annotations

import compileall
import shutil
import subprocess
import sys
import tempfile
import zipapp
from pathlib import Path
from py_compile import PycInvalidationMode

#: What is of no use there: libraries, scripts, and what rich needs for Markdown and source code alone.
_LEFT_OUT = ("**/*.so", "*.libs", "cramjam*", "xxhash*", "bin", "**/__pycache__", "pygments*", "markdown_it*", "mdurl*")
_MAIN = """\
import warnings

warnings.filterwarnings("ignore", message=".*c extension couldn't be imported")  # it is right, and slower
from airflow_provider_ckpt.cli import main

main()
"""


def build(wheel: str, target: Path, options: list[str]) -> None:
    """Install a wheel into a directory and pack that into one file."""
    with tempfile.TemporaryDirectory() as scratch:
        packed = Path(scratch)
        install = ["install", "--quiet", "--disable-pip-version-check", "--target", scratch, *options, wheel]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
        for pattern in _LEFT_OUT:
            for path in list(packed.glob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (packed / "__main__.py").write_text(_MAIN)
        # beside the sources: another version of Python, which cannot read the compiled ones, takes those
        compileall.compile_dir(
            packed, quiet=2, legacy=True, stripdir=scratch, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        zipapp.create_archive(packed, target, interpreter="/usr/bin/env python3", compressed=True)


if __name__ == "__main__":
    build(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
