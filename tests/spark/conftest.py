"""Which tests with Spark `make test` leaves out."""

from __future__ import annotations

import os

# It needs jars of 130 MB and Sparks of other versions: make sinks.
collect_ignore = [] if os.environ.get("CKPT_SINKS") else ["test_sinks.py"]
