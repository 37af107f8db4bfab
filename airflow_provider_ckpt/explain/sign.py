"""Sign that a failure is about a checkpoint, and not about the code or the data of its query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from airflow_provider_ckpt.documents.as_document import Documented

#: ``text``: words that nothing but Spark or a connector has. ``condition``: its error condition. ``frame``: a reader of
#: Spark threw. ``file``: the text names the file. ``finding``: a rule finds it on the given checkpoint. ``record``: a
#: change by ckpt is recorded beside the checkpoint.
Kind = Literal["text", "condition", "frame", "file", "finding", "record"]


@dataclass(frozen=True, slots=True)
class Sign(Documented):
    """What shows that an error is about a checkpoint."""

    kind: Annotated[
        Kind,
        "words that Spark alone has, its condition, the frame of its own reader that threw, a file of the "
        "checkpoint that is named, a finding on the given checkpoint, or the record of a change by ckpt",
    ]
    value: Annotated[str, "the words, the name, the path or the code"]
