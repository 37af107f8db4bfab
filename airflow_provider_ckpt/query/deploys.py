"""The deploys of many queries in one file, by the locations of their checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from airflow_provider_ckpt.query.deploy import DeploySpec, declare, parse_deploy
from airflow_provider_ckpt.query.yaml_text import parse_yaml

#: The key of such a file under which the locations are; every other key is one of a deploy file.
CHECKPOINTS = "checkpoints"
#: More than one file has.
MOST_LOCATIONS = 100_000


@dataclass(frozen=True, slots=True)
class Deploys:
    """Declared deploys of several queries.

    Args:
        shared: Keys for every query, unless its own entry sets them.
        own: Keys of a deploy file, by location or pattern of locations.
        over: Keys of a deploy file that win over both.
    """

    shared: DeploySpec = field(default_factory=DeploySpec)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    over: Mapping[str, Any] = field(default_factory=dict)

    def with_said(self, said: Mapping[str, Any]) -> Deploys:
        """The same deploys with keys that win for every query. Raises ValueError as :func:`parse_deploys`."""
        declare(DeploySpec(), said)
        return replace(self, over=said)

    def of(self, location: str) -> DeploySpec:
        """The deploy of the query with a checkpoint there.

        The first entry counts whose name is the location, or a pattern of it with ``*``; a name without a slash is
        compared with the last part of the location.
        """
        place = _plain(location)
        for name, document in self.own.items():
            if fnmatchcase(place if "/" in name else place.rpartition("/")[2], _plain(name)):
                return declare(declare(self.shared, document), self.over)
        return declare(self.shared, self.over)


def parse_deploys(name: str, text: str) -> Deploys:
    """The deploys that a file declares: a deploy file, or one with a deploy for each checkpoint.

    The latter has the key ``checkpoints``, a mapping from location to what a deploy file says; what it says beside this
    key counts for all of them.

    Args:
        name: Of the file: a path or a URL.
        text: Its content.

    Raises:
        ValueError: It is no such file; the message names the key.
    """
    if not name.endswith((".yaml", ".yml")):
        return Deploys(parse_deploy(name, text))
    document = parse_yaml(text)
    if document is None:
        return Deploys()
    if not isinstance(document, dict):
        raise ValueError("the deploy file is not a mapping with keys such as sources and checkpoints")
    own = document.pop(CHECKPOINTS, None) or {}
    if not isinstance(own, dict) or len(own) > MOST_LOCATIONS:
        raise ValueError(f"{CHECKPOINTS} is not a mapping from at most {MOST_LOCATIONS:,} locations to deploys")
    shared = declare(DeploySpec(), document)
    return Deploys(shared, {str(location): _entry(location, said) for location, said in own.items()})


def _entry(location: object, said: Any) -> Mapping[str, Any]:
    """Check the entry of one query and return it; checked here so that a mistake in it is found at once."""
    if not isinstance(said, dict):
        raise ValueError(f"{CHECKPOINTS} has {location!r:.100}, which is not a mapping such as sources: [kafka]")
    try:
        declare(DeploySpec(), said)
    except ValueError as error:
        raise ValueError(f"{CHECKPOINTS} has {location!r:.100}: {error}") from None
    return said


def _plain(location: str) -> str:
    """A location without what may be written in two ways."""
    return location.removeprefix("file://").rstrip("/")
