"""Why the log of a file sink cannot be completed, and what to do then."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.lacking import LogContents
from airflow_provider_ckpt.changes.repair.share import Doubt, Share
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.spans import batches_text

NOTHING = "Nothing was done."
#: So many batches are judged one by one; no log that compacts lacks more, unless all of it is gone.
MOST_BATCHES = 2_000
#: Batches and files that a refusal names.
_NAMED = 3


def too_many(sink: str) -> PlanError:
    """The error for a log that lacks nearly everything."""
    return PlanError(
        f"the log of the sink lacks more than {MOST_BATCHES} batches that the checkpoint has.",
        location=sink,
        name=layout.SINK_LOG,
        hint=f"{NOTHING} Restore _spark_metadata from a copy of the table.",
    )


def require_own_content(contents: LogContents, sink: str) -> None:
    """Raise PlanError where two entries name one file: one has the content of the other, and what it named is lost."""
    named_by = {status.path: contents.compacted for status in contents.base}
    for batch_id, files in contents.singles.items():
        for status in files:
            other = named_by.setdefault(status.path, batch_id)
            if other == batch_id:
                continue
            name = contents.log.entries[layout.SinkLogEntry(batch_id, compact=False)]
            raise PlanError(
                f"the entries of batches {other} and {batch_id} in the log of the sink name the same data file, so one "
                "of them has the content of the other.",
                location=sink,
                name=name,
                batch_id=batch_id,
                hint=f"{NOTHING} Move the wrong one and its checksum file out of _spark_metadata, and run the same "
                "command again: it completes the log.",
            )


def undecided(doubts: Sequence[Doubt], sink: str, checkpoint: str) -> PlanError:
    """The error for batches whose files are neither proven nor decided."""
    told = "; ".join(f"{batches_text(doubt.span.first, doubt.span.last)}: {doubt.why}" for doubt in doubts[:_NAMED])
    more = f"; and {len(doubts) - _NAMED} more" if len(doubts) > _NAMED else ""
    doubt = doubts[0]
    names = ", ".join(file.name for file in doubt.candidates[:_NAMED]) + (
        ", …" if len(doubt.candidates) > _NAMED else ""
    )
    those = batches_text(doubt.span.first, doubt.span.last)
    files = f" ({len(doubt.candidates)} data files may be theirs: {names})" if doubt.candidates else ""
    return PlanError(
        f"the log of the sink lacks batches, and it is not proven which data files are theirs ({told}{more}).",
        location=sink,
        name=layout.SINK_LOG,
        batch_id=doubt.batch_id,
        hint=f"{NOTHING} Give a copy of _spark_metadata (--copy URI), or decide. For {those}{files}: --adopt "
        f"{doubt.batch_id} takes these files, --adopt {doubt.batch_id}=NAME takes one of them, and --empty "
        f"{doubt.batch_id} takes none. Or let the query write them again: ckpt rollback {quote(checkpoint)} --to-batch "
        "N "
        f"--sink {quote(f'file:{sink}')} --trim-sink-log, with a batch before the first that is missing.",
    )


def require_used(decisions: Decisions, shares: Sequence[Share], sink: str) -> None:
    """Raise PlanError for a decision about a batch that there is nothing to decide about."""
    if left := decisions.batches - {share.span.last for share in shares}:
        raise PlanError(
            f"nothing is to be decided about batch {min(left)}: the log of the sink has its entry, or needs none.",
            location=sink,
            batch_id=min(left),
            hint=f"{NOTHING} Leave out --adopt and --empty for that batch.",
        )
