"""The batches that a rollback can go to, for the refusal of another: what was found out, and what was not."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass

from airflow_provider_ckpt.untrusted.spans import spans_of, spans_text

#: So many spans of batches are written out.
_MOST_SPANS = 20


@dataclass(frozen=True, slots=True)
class Restorable:
    """The committed batches of a checkpoint, by whether a restart is possible after them.

    Args:
        whole: Those that have all of their files, none of them broken.
        unread: Those that have all of their files, whose state files were not all read.
        lacking: Those of which a file is missing or broken.
        untried: Those that were not checked.
    """

    whole: Collection[int] = ()
    unread: Collection[int] = ()
    lacking: Collection[int] = ()
    untried: Collection[int] = ()

    def text(self, location: str) -> str:
        """For people: what the refusal of another batch of the checkpoint at this location advises."""
        place = shlex.quote(location)
        if not self.whole and not self.unread and not self.untried:
            return (
                "Nothing was done. None of the batches in the logs can be restored. "
                f"ckpt salvage {place} searches what can be saved all the same, in temporary files and in backups."
            )
        told = [
            f"Batches that can be restored: {_listed(self.whole)}."
            if self.whole
            else "None was found that can be restored.",
            f"Of {_counted(self.unread, 'more')} no file is missing, and not all of their state was read: "
            f"{_listed(self.unread)}."
            if self.unread
            else "",
            f"{_counted(self.lacking, 'cannot be restored')}: {_listed(self.lacking)}." if self.lacking else "",
            f"{_counted(self.untried, 'not checked')}: {_listed(self.untried)}." if self.untried else "",
            f"The plan of ckpt rollback {place} --to-batch N says of each whether it can be restored."
            if self.unread or self.untried
            else "",
        ]
        return " ".join(["Nothing was done.", *filter(None, told)])


def _counted(batches: Collection[int], what: str) -> str:
    return f"{len(batches):,} {what}"


def _listed(batches: Collection[int]) -> str:
    return spans_text(spans_of(batches), _MOST_SPANS)
