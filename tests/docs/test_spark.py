"""The blocks of docs/pipeline.md that need a session of Spark, one after another, over a lake on this disk."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from airflow_provider_ckpt.spark import register
from tests.docs.blocks import ROOT, blocks_of, is_of_spark
from tests.docs.lake import Lake
from tests.goldens import ARCHIVES, unpack
from tests.spark_lab import activate

pytestmark = [pytest.mark.exhaustive]


def test_the_blocks_for_a_session_run_one_after_another(spark, tmp_path, s3_server):
    lake = Lake(tmp_path, s3_server, None)
    (tmp_path / "data").rename(tmp_path / "lake")
    unpack(ARCHIVES["4.3.0/file-to-parquet-5"], tmp_path / "golden")
    (tmp_path / "lake/tables").mkdir()
    (tmp_path / "golden/checkpoint").rename(tmp_path / "lake/tables/customers")

    def placed(text: str) -> str:
        return re.sub(r"s3a?://lake/", f"{tmp_path}/lake/", lake.here_is(text))

    audit = [sys.executable, "-m", "airflow_provider_ckpt.spark.audit", f"{tmp_path}/lake/checkpoints"]
    subprocess.run([*audit, "--home", placed("/srv/audit")], check=True, cwd=ROOT)
    session = activate(spark.newSession())
    register(session)
    names = {"spark": session, "rows": session.readStream.format("checkpoint").load(placed("s3://lake/checkpoints"))}
    ran = 0
    for block in blocks_of(ROOT / "docs/pipeline.md"):
        if not is_of_spark(block) or {"not run", "run by"} & {*block.notes}:
            continue
        text = placed(block.text)
        if block.language == "sql":
            session.sql(text)
        else:
            exec(compile(text, str(block), "exec"), names)
        ran += 1
        if query := names.get("query"):
            query.processAllAvailable()
            query.stop()
            names |= {"query_id": query.id, "batch_id": 0}
    assert ran == 6
    assert names["batches"].count() > 40
    session.sql("DROP TABLE IF EXISTS committed_batches")
    with suppress(OSError):  # the directory of tables is that of the session, where its driver was started
        Path(urlsplit(session.conf.get("spark.sql.warehouse.dir")).path).rmdir()
