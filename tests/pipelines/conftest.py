"""Real runs of pipelines take minutes: ``make pipelines`` alone has them."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("CKPT_PIPELINES") else ["test_*.py"]
