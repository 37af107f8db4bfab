"""What a user says of the query beside the error: its sources and its sink, for the commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.query.source import Source

#: Sources in the commands of the runbook, whose brokers, tables and directories are examples or words in capitals.
_SOURCE = re.compile(r"--source (?P<name>\w+)=(?P<type>\w+)(?::(?P<place>[^\s`]+))?")
_SINK = re.compile(r"--sink (?P<type>\w+)(?P<uri>\[:URI\]|:[^\s`]+)?")


@dataclass(frozen=True, slots=True)
class Given:
    """What is said of the query.

    Args:
        sources: By name or position.
        sink: Type and URI, such as ``file:s3://lake/orders``; None when it is not said.
    """

    sources: Mapping[str, Source] = field(default_factory=dict, hash=False)
    sink: str | None = None

    def in_place(self, text: str, *, examples: bool = False) -> str:
        """A command, or a text with commands, that has the user's own sources and sink.

        Args:
            text: Any.
            examples: Whether brokers and sinks that nobody has given are examples, and become words in capitals.
        """
        text = _SOURCE.sub(lambda found: self._source(found, examples), text)
        return _SINK.sub(lambda found: self._sink(found, examples), text)

    def _source(self, found: re.Match[str], examples: bool) -> str:
        kind = found["type"]
        alike = [source for source in self.sources.values() if source.type == kind]
        own = next((source for source in alike if source.id == found["name"]), alike[0] if alike else None)
        if own is not None:
            return f"--source {shlex.quote(f'{own.id}={own.text}')}"
        if examples and kind == "kafka" and found["place"]:
            topic = "/TOPIC" if "/" in found["place"] else ""
            return f"--source {shlex.quote(found['name'])}=kafka:HOST:PORT{topic}"
        return found[0]

    def _sink(self, found: re.Match[str], examples: bool) -> str:
        if self.sink is not None:
            return f"--sink {shlex.quote(self.sink)}"
        return "--sink TYPE[:URI]" if examples and not found["uri"] else found[0]
