"""The table that `make symptoms` prints: of each symptom where it was produced, and how the query went on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.explain.outcomes import NOT_PRODUCED, VERSIONS
from tests.explain.produced.proof import PAGES, Outcome
from tests.explain.raised import DELTA, KAFKA, about, is_explained, met_by_the_oracle

HEADS = ("symptom", "page", "case", "produced on", "explained", "repaired by", "started, its rows")


def lines_of(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The table, a line for each case; then the counts."""
    rows = [HEADS]
    for number, page in sorted(PAGES.items()):
        of_it = [outcome for outcome in outcomes if outcome.symptom == number]
        for case in dict.fromkeys(outcome.case for outcome in of_it):
            same = [outcome for outcome in of_it if outcome.case == case]
            where = ", ".join(dict.fromkeys(VERSIONS[outcome.spark].removeprefix("Spark ") for outcome in same))
            first = same[0]
            rows.append((str(number), page, case, where, first.explained, first.repaired, first.rows))
        if not of_it:
            rows.append((str(number), page, "-", NOT_PRODUCED.get(number, "not in this run"), "-", "-", "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    for row in rows:
        yield " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    shown = {outcome.symptom for outcome in outcomes}
    yield f"{len(shown)} of {len(PAGES)} symptoms were produced, explained, repaired, and their queries started again"
    yield from _conditions(outcomes)


def _conditions(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """How many of the error conditions are explained, and how many real Spark was made to raise."""
    here = {name for outcome in outcomes for name in outcome.conditions}
    oracle = {error for error, _ in met_by_the_oracle().values()}
    for of, names in (("Spark", about()), ("Kafka's connector", KAFKA), ("Delta", DELTA)):
        produced = [name for name in names if name in here]
        yield (
            f"{len(names)} conditions of {of} that a checkpoint or a deploy can raise: "
            f"{sum(is_explained(name) for name in names)} explained, {len(produced)} produced here"
            f"{_more(of, len([name for name in names if name in here | oracle]))}: {', '.join(produced)}"
        )


def _more(of: str, met: int) -> str:
    """The oracle starts queries on damaged checkpoints (tests/oracle), and keeps what Spark raised."""
    return f", {met} produced here or by the oracle" if of == "Spark" else ""
