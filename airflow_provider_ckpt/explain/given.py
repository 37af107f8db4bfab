"""Declarations of a user about the query beside the error: its sources and its sink, for the commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.query.sink import FILE_FORMATS
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS

#: Sources in the commands of the runbook, whose brokers, tables and directories are examples or words in capitals.
_SOURCE = re.compile(r"--source (?P<name>\w+)=(?P<type>\w+)(?::(?P<place>[^\s`]+))?")
_SINK = re.compile(
    r"(?P<trims>ckpt (?:rollback|salvage) [^\n`]*?)?--sink (?P<type>\w+)(?P<uri>\[:URI\]|:[^\s`]+)?"
    r"(?P<trim> --trim-sink-log)?"
)
#: The command that writes a position in a form, which one type of source has.
_EXPORT = re.compile(r"ckpt export .*--as (?P<form>\w+)(?:.* --source (?P<name>\w+))?")
#: What the declaration of a file sink with its directory begins with.
_OF_FILES = tuple(f"{kind}:" for kind in ("file", *FILE_FORMATS))


@dataclass(frozen=True, slots=True)
class Given:
    """Declarations about the query.

    Args:
        sources: Sources by name or position.
        sink: Type and URI, such as ``file:s3://lake/orders``; None when it is not declared.
    """

    sources: Mapping[str, Source] = field(default_factory=dict, hash=False)
    sink: str | None = None

    def in_place(self, text: str, *, examples: bool = False) -> str:
        """A command, or a text with commands, that has the user's own sources and sink.

        A command that drops batches trims the log of a file sink, without which its effect is not exact.

        Args:
            text: Any.
            examples: Whether what nobody has given is an example, and becomes words in capitals.
        """
        text = _SOURCE.sub(lambda found: self._source(found, examples), text)
        return _SINK.sub(lambda found: self._sink(found, examples), text)

    def fits(self, command: str) -> bool:
        """False for a command that none of the declared sources has the type for: it would be refused."""
        wanted = [("", found["type"]) for found in _SOURCE.finditer(command)]
        exported = _EXPORT.match(command)
        if exported is not None and exported["form"] in FORMS:
            wanted.append((exported["name"] or "", FORMS[exported["form"]].source_type))
        return all(self._may_be(name, source_type) for name, source_type in wanted)

    def _may_be(self, name: str, source_type: str) -> bool:
        """True if the source of a name may have a type; of no name, or of one that is not declared, if any may."""
        sources = [self.sources[name]] if name in self.sources else list(self.sources.values())
        return not sources or any(source.type in (None, source_type) for source in sources)

    def _source(self, found: re.Match[str], examples: bool) -> str:
        kind = found["type"]
        alike = [source for source in self.sources.values() if source.type == kind]
        own = next((source for source in alike if source.id == found["name"]), alike[0] if alike else None)
        if own is not None:
            return f"--source {shlex.quote(f'{own.id}={own.text}')}"
        if not examples or not found["place"]:
            return found[0]
        topic = "/TOPIC" if "/" in found["place"] else ""
        return f"--source {found['name']}={kind}:{f'HOST:PORT{topic}' if kind == 'kafka' else 'URI'}"

    def _sink(self, found: re.Match[str], examples: bool) -> str:
        before, trim = found["trims"] or "", found["trim"] or ""
        if self.sink is not None:
            is_of_files = self.sink.lower().startswith(_OF_FILES)
            trim = " --trim-sink-log" if is_of_files and (before or trim) else ""
            return f"{before}--sink {shlex.quote(self.sink)}{trim}"
        if not examples:
            return found[0]
        is_of_files = found["type"] == "file" and (bool(trim) or not before)
        return f"{before}--sink {'file:URI' if is_of_files else 'TYPE[:URI]'}{trim}"
