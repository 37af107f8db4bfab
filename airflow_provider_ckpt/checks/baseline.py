"""A baseline: the findings that somebody has accepted, so that only new ones fail a run.

A finding is known when its location has an equal :class:`Fingerprint` in the baseline. What goes into it:

* **Damage to a file** (1xx) is known by the file. Tomorrow it is the same file; the same damage to another is new.
* **What every batch shows again** (``MOVING``, and everything about a deploy) is known by its sentence and the class of
  its file, both without batch numbers: ``offsets/*`` is not ``commits/*``, and another conf, source or value is new.
* **The rest** happened once, and is known by its batch and its sentence.

A finding is also known by its severity: a warning that was accepted and has become an error is new. When in doubt a
finding comes back rather than being hidden.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from airflow_provider_ckpt.checks.findings import SEVERITIES, Finding
from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import BaselineDocument

#: Rules about how things are: they find in the next batch what they found in this one.
MOVING = frozenset({"CKPT103", "CKPT111", "CKPT117"}) | {code for code in RULES if code.startswith("CKPT2")}

_BATCHES_IN_TEXT = re.compile(r"\b(batch(?:es)? (?:up to )?|offsets/|commits/)\d+(?:(?:, | to | and )\d+)*(?:, …)?")
_BATCH_IN_NAME = re.compile(r"(?<![^/])(\.?)\d+(?=[^/]*\Z)")


@dataclass(frozen=True, slots=True)
class Fingerprint(Documented):
    """A finding that was accepted: what it is known by, beside its location."""

    code: Annotated[str, "code of the rule"]
    severity: Annotated[str, "severity that was accepted"]
    name: Annotated[str | None, "file; with `*` in the place of the batch when every batch shows the finding again"] = (
        None
    )
    batch_id: Annotated[int | None, "batch, for a finding about one batch"] = None
    about: Annotated[str | None, "the message; null where the file identifies the finding"] = None

    def digest(self, location: str) -> str:
        """A short text for the finding at a location."""
        text = json.dumps([location, *asdict(self).values()])
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def fingerprint(finding: Finding) -> Fingerprint:
    """Features by which a finding will be recognised."""
    if finding.code in MOVING:
        name = finding.name and _BATCH_IN_NAME.sub(r"\1*", finding.name)
        message = finding.message.replace(finding.name, name) if finding.name and name else finding.message
        return Fingerprint(finding.code, finding.severity, name, about=_BATCHES_IN_TEXT.sub(r"\1*", message))
    if finding.name and finding.code.startswith("CKPT1"):
        return Fingerprint(finding.code, finding.severity, finding.name)
    return Fingerprint(finding.code, finding.severity, finding.name, finding.batch_id, finding.message)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Accepted findings by location."""

    accepted: Mapping[str, frozenset[Fingerprint]] = field(default_factory=dict)

    def known(self, location: str, findings: Iterable[Finding]) -> frozenset[Finding]:
        """Findings that have been accepted."""
        accepted = self.accepted.get(location, frozenset())
        return frozenset(finding for finding in findings if fingerprint(finding) in accepted)

    def accepting(self, location: str, findings: Iterable[Finding]) -> Baseline:
        """The baseline with these findings of a location, and no others of it."""
        fingerprints = frozenset(map(fingerprint, findings))
        others = {place: accepted for place, accepted in self.accepted.items() if place != location}
        return Baseline({**others, location: fingerprints} if fingerprints else others)

    def to_dict(self) -> BaselineDocument:
        """JSON-ready: stable, an entry for each finding."""
        accepted = {
            location: [item.to_dict() for item in sorted(self.accepted[location], key=_order)]
            for location in sorted(self.accepted)
        }
        return {"format_version": FORMAT_VERSION, "accepted": accepted}

    def to_json(self) -> str:
        """The file, made to be reviewed."""
        return json.dumps(self.to_dict(), indent=2)


def _order(item: Fingerprint) -> tuple[str, ...]:
    return tuple(str(value) for value in asdict(item).values())


def parse_baseline(text: str) -> Baseline:
    """Read a baseline file; the first ones called their version ``version``.

    Raises:
        ValueError: It is not one; the message says where.
    """
    try:
        document = parse_json(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    version = document.get("format_version", document.get("version")) if isinstance(document, dict) else None
    if not is_current(version):
        raise ValueError(f"the baseline has the version {version!r}; this release reads version {FORMAT_VERSION}")
    accepted = document.get("accepted")
    if not isinstance(accepted, dict) or not all(isinstance(entries, list) for entries in accepted.values()):
        raise ValueError("'accepted' must map each location to a list of findings")
    return Baseline({location: frozenset(map(_parse_entry, entries)) for location, entries in accepted.items()})


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


_VALID: Mapping[str, Callable[[Any], bool]] = {
    "code": lambda value: isinstance(value, str) and value in RULES,
    "severity": lambda value: value in SEVERITIES,
    "name": _is_text_or_none,
    "batch_id": lambda value: value is None or isinstance(value, int),
    "about": _is_text_or_none,
}


def _parse_entry(entry: Any) -> Fingerprint:
    if not isinstance(entry, dict) or entry.keys() != _VALID.keys():
        raise ValueError(f"an accepted finding must have the keys {', '.join(_VALID)}, not: {entry!r:.100}")
    for key, valid in _VALID.items():
        if not valid(entry[key]):
            raise ValueError(f"{entry[key]!r:.100} is not a {key} of a finding")
    return Fingerprint(**entry)
