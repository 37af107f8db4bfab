"""What a scan says of the fleet of thirty queries, in the words in which its truth is written."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ckpt.graph.graph import Graph
from airflow_provider_ckpt.graph.read_graph import read_graph
from airflow_provider_ckpt.query.paths import Paths
from airflow_provider_ckpt.storage.store import Store

from .fleet_jobs import ROOT, Job


def read(root: Path) -> Graph:
    """Read it; its logs name the place where it was written."""
    tables = [Store.open(str(root / name)) for name in ("lake", "warehouse") if (root / name).exists()]
    return read_graph([Store.open(str(root / "checkpoints"))], tables, paths=Paths({str(ROOT): str(root)}))


def at(root: Path, text: str) -> str:
    """A declaration as it was true where the fleet was written."""
    return text.replace(str(root), str(ROOT))


def said(graph: Graph, root: Path, job: Job) -> tuple[list[str], str, str]:
    (node,) = [node for node in graph.nodes if node.stream.location == f"{root}/checkpoints/{job.name}"]
    assert node.sources is not None
    for known in (*node.sources.values(), node.sink, node.spark):
        assert bool(known.proofs) == bool(known.text)
        assert known.text or known.say
    return [at(root, known.text) for known in node.sources.values()], at(root, node.sink.text), node.spark.text
