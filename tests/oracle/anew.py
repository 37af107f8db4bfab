"""Ask the running Spark anew about samples of the corpus, of the sweep and of the goldens, one after another.

python -m tests.oracle.anew '{"corpus": ["verify", ...], "sweep": ["verify", ...], "goldens": ["verify", ...]}'

Each has the arguments of its own program; what these print comes out as JSON, with their exit codes. A Spark in a
process of its own for each of them would take three times as long to start and to run as fast as it can.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

from . import restart, run, sweeping


def main() -> None:
    """Run the programs that are asked for."""
    import generate  # tests/golden is found since restart was imported

    programs = {"corpus": run.main, "twice": run.start_twice, "sweep": sweeping.main, "goldens": generate.main}
    said = {}
    with tempfile.TemporaryDirectory(prefix="anew-") as scratch:
        # The first session starts the JVM, whose temporary files have to outlive those of each program.
        restart.start_spark(Path(scratch)).stop()
        for name, arguments in json.loads(sys.argv[1]).items():
            with redirect_stdout(io.StringIO()) as out, patch.object(sys, "argv", [name, *arguments]):
                code = programs[name]()
            said[name] = {"code": code, "said": out.getvalue()}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
