"""News of a fleet: nobody wants to be told each hour what they were told an hour ago."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_provider_ckpt.checks.baseline import Baseline, fingerprint, parse_baseline
from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import KnownDocument


@dataclass(frozen=True, slots=True)
class Known:
    """Findings of the last time.

    Args:
        findings: The findings, as a baseline recognises them.
        unreadable: Locations that could not be read.
    """

    findings: Baseline = field(default_factory=Baseline)
    unreadable: frozenset[str] = frozenset()

    def news(self, rows: Iterable[FleetRow]) -> tuple[FleetRow, ...]:
        """The rows with something new, each with what is new alone; notes are no news."""
        news = []
        for row in rows:
            known = self.findings.known(row.location, row.findings)
            findings = tuple(item for item in row.findings if item.severity != "note" and item not in known)
            error = None if row.location in self.unreadable else row.error
            if findings or error:
                news.append(replace(row, findings=findings, error=error))
        return tuple(news)

    def after(self, rows: Sequence[FleetRow], roots: Sequence[str]) -> Known:
        """Known findings after these rows, which are all there is under some roots, have been told.

        Known findings of other places stay known, and so do those of places that could not be read.
        """
        unreadable = frozenset(row.location for row in rows if row.error)
        kept = {
            location: accepted
            for location, accepted in self.findings.accepted.items()
            if _is_in(location, unreadable) or not _is_in(location, roots)
        }
        found = {row.location: frozenset(map(fingerprint, row.findings)) for row in rows if row.findings}
        elsewhere = {place for place in self.unreadable if not _is_in(place, roots)}
        return Known(Baseline({**kept, **found}), unreadable | elsewhere)

    def to_json(self) -> str:
        """The text to keep; :func:`parse_known` is the way back."""
        document: KnownDocument = {
            "format_version": FORMAT_VERSION,
            "findings": self.findings.to_dict(),
            "unreadable": sorted(self.unreadable),
        }
        return json.dumps(document)


def _is_in(location: str, places: Iterable[str]) -> bool:
    return any(location == place or location.startswith(f"{place.rstrip('/')}/") for place in places)


def parse_known(text: str) -> Known:
    """Read what :meth:`Known.to_json` wrote; the first had no version. Raises ValueError for anything else."""
    document = parse_json(text)
    if not isinstance(document, dict) or document.keys() - {"format_version"} != {"findings", "unreadable"}:
        raise ValueError("the record of the last fleet check must have the keys findings and unreadable")
    if not is_current(document.get("format_version", FORMAT_VERSION)):
        raise ValueError(
            f"the record of the last fleet check has version {document['format_version']!r:.60}; this release reads "
            f"version {FORMAT_VERSION}"
        )
    return Known(parse_baseline(json.dumps(document["findings"])), frozenset(map(str, document["unreadable"])))
