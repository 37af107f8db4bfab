"""What shows that a failure is about a checkpoint, and not about the code or the data of its query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import SignFields

#: ``text``: words that nothing but Spark or a connector has. ``condition``: its error condition. ``frame``: a reader of
#: Spark threw. ``file``: the text names the file. ``finding``: a rule finds it on the given checkpoint. ``record``: a
#: change by ckpt is recorded beside the checkpoint.
Kind = Literal["text", "condition", "frame", "file", "finding", "record"]


@dataclass(frozen=True, slots=True)
class Sign:
    """One piece of evidence.

    Args:
        kind: What it is.
        value: The words, the name, the path or the code.
    """

    kind: Kind
    value: str

    def to_dict(self) -> SignFields:
        """JSON-ready."""
        return {"kind": self.kind, "value": self.value}
