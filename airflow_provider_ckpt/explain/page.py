"""A page of the runbook: the text that users paste, its causes, and the commands that repair them.

A page is Markdown with YAML before it; ``docs/runbook/index.md`` says what each key means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

_FRONT = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_SUBSECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{3,} (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
#: Written in C where there is a library.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: Sections that every page has, in this order.
SECTIONS = ("Cause", "Evidence", "Repair", "Prevention")
#: What most texts mean that a checkpoint is not needed for.
_OTHERWISE = "Code, data or options of the query fail in these words as well, so either they did"
_CAUSE_KEYS = {"conditions", "frames", "rules", "commands"}
_OWN_KEYS = {"heading", "deploy", "says", "texts"}


@dataclass(frozen=True, slots=True)
class Told:
    """Other signs that a text is about a checkpoint.

    Args:
        shared_texts: Texts to search in a message that other code throws as well: alone they prove nothing.
        maybe: The problem of the checkpoint when such a text is about one, as a clause.
        otherwise: The other meaning of such a text, as the beginning of a sentence.
        places: Allowed kinds of the file that the message names; see
            :func:`~airflow_provider_ckpt.explain.message_facts.file_in`. Empty where it may be any.
        loggers: Classes that log the text, without their packages; empty where any may.
        storage: Problem that a storage reports of a file of the checkpoint; see
            :class:`~airflow_provider_ckpt.explain.storage_words.StorageProblem`.
        readers: ``Class.method`` of Spark that throw the shared texts where they are about a checkpoint.
        is_closest: True if the texts tell more exactly than the condition what the failure is.
        is_doubtful: True if a reader in the stack trace does not show the cause, because anything may have led to it.
    """

    shared_texts: tuple[re.Pattern[str], ...] = ()
    maybe: str = ""
    otherwise: str = _OTHERWISE
    places: tuple[str, ...] = ()
    loggers: tuple[str, ...] = ()
    storage: tuple[str, ...] = ()
    readers: frozenset[str] = frozenset()
    is_closest: bool = False
    is_doubtful: bool = False


#: The keys of a page and of an entry that say it.
TOLD_KEYS = frozenset(Told.__slots__) - {"readers"}


def parse_told(front: Mapping[str, Any], readers: Iterable[str]) -> Told:
    """These of a page or of an entry of the catalogue, whose frames are given."""
    otherwise = " ".join(str(front.get("otherwise") or _OTHERWISE).split())
    return Told(
        otherwise=otherwise,
        shared_texts=tuple(re.compile(pattern) for pattern in _texts(front, "shared_texts")),
        maybe=" ".join(str(front.get("maybe") or "").split()),
        places=_texts(front, "places"),
        loggers=_texts(front, "loggers"),
        storage=_texts(front, "storage"),
        readers=frozenset(readers),
        is_closest=bool(front.get("is_closest")),
        is_doubtful=bool(front.get("is_doubtful")),
    )


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a symptom.

    Args:
        heading: Heading of its section below ``## Cause``; empty where the page has only one cause.
        text: Why Spark stops; Markdown, one paragraph.
        conditions: Error conditions that only this cause has; empty where conditions do not tell the causes apart.
        frames: ``Class.method`` of which one is in the stack trace; empty where the frames do not tell.
        rules: Codes of the rules whose finding on a checkpoint is the evidence of this cause.
        commands: Commands that repair or show it, with ``{location}`` and the facts of the message to be filled in.
        deploy: Facts of the message about the deploy, by keys of a query; a value may be a fact, such as ``{wanted}``.
        says: Facts of the message that only this cause has, such as a version; empty where facts do not tell the causes
            apart.
        texts: Patterns to search in a message that only this cause has; empty where the texts do not tell.
        repair: Its own section below ``## Repair``, Markdown; empty where the page has one for all of its causes.
    """

    heading: str
    text: str
    conditions: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    deploy: Mapping[str, Any] = field(default_factory=dict, hash=False)
    says: Mapping[str, str] = field(default_factory=dict, hash=False)
    repair: str = ""
    texts: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the runbook.

    Args:
        name: Name of the file without its suffix.
        number: Number of the symptom; never used again for another one.
        title: The text that users paste.
        texts: Patterns to search in a message; named groups become facts.
        examples: Messages as Spark prints them, on one line each.
        conditions: Error conditions, with or without a sub-condition.
        frames: ``Class.method`` of which one has to be in the stack trace, when there is one.
        causes: At least one.
        sections: Text of each section by its heading.
        told: Other signs that a text is of this page.
    """

    name: str
    number: int
    title: str
    texts: tuple[re.Pattern[str], ...]
    examples: tuple[str, ...]
    conditions: tuple[str, ...]
    frames: tuple[str, ...]
    causes: tuple[Cause, ...]
    sections: Mapping[str, str]
    told: Told = field(default_factory=Told)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of all causes, each once."""
        return tuple(dict.fromkeys(code for cause in self.causes for code in cause.rules))


_PAGE_KEYS = {"title", "symptom", "texts", "examples", "causes", "deploy", *_CAUSE_KEYS, *TOLD_KEYS}


def parse_page(name: str, text: str) -> Page:
    """A page from its file. Raises ValueError that names the page and what is wrong with it."""
    found = _FRONT.fullmatch(text)
    if found is None:
        raise ValueError(f"runbook page {name}: it does not begin with YAML between two lines '---'")
    front = yaml.load(found[1], Loader=LOADER)
    if unknown := set(front) - _PAGE_KEYS:
        raise ValueError(f"runbook page {name}: unknown key {min(unknown)}")
    sections = {heading.strip(): _body(body) for heading, body in _SECTION.findall(found[2])}
    if tuple(sections) != SECTIONS:
        raise ValueError(f"runbook page {name}: its sections are not {', '.join(SECTIONS)}")
    causes = _causes(name, front, sections)
    return Page(
        name=name,
        number=int(front["symptom"]),
        title=str(front["title"]),
        texts=(
            *(re.compile(pattern) for pattern in _texts(front, "texts")),
            *(text for cause in causes for text in cause.texts),
        ),
        examples=_texts(front, "examples"),
        conditions=_texts(front, "conditions"),
        frames=_texts(front, "frames"),
        causes=causes,
        sections=sections,
        told=parse_told(front, (*_texts(front, "frames"), *(frame for cause in causes for frame in cause.frames))),
    )


def _causes(name: str, front: Mapping[str, Any], sections: Mapping[str, str]) -> tuple[Cause, ...]:
    section = sections["Cause"]
    repairs = {heading.strip(): _body(body) for heading, body in _SUBSECTION.findall(sections["Repair"])}
    first = section.partition("\n### ")[0].strip()
    shared: dict[str, Any] = {"rules": _texts(front, "rules"), "commands": _texts(front, "commands")}
    if "causes" not in front:
        return (Cause("", _paragraph(first), **shared, deploy=front.get("deploy") or {}),)
    below = {heading.strip(): body for heading, body in _SUBSECTION.findall(section)}
    causes = []
    for item in front["causes"]:
        heading = str(item["heading"])
        if unknown := set(item) - _OWN_KEYS - _CAUSE_KEYS:
            raise ValueError(f"runbook page {name}: unknown key {min(unknown)} of the cause {heading!r}")
        if heading not in below:
            raise ValueError(f"runbook page {name}: the section Cause has no heading '### {heading}'")
        own: dict[str, Any] = {key: _texts(item, key) or shared.get(key, ()) for key in _CAUSE_KEYS}
        deploy = item.get("deploy") or front.get("deploy") or {}
        own |= {"deploy": deploy, "says": {key: str(value) for key, value in (item.get("says") or {}).items()}}
        own["texts"] = tuple(re.compile(pattern) for pattern in _texts(item, "texts"))
        causes.append(Cause(heading, _paragraph(below[heading]), **own, repair=repairs.get(heading, "")))
    return tuple(causes)


def _body(text: str) -> str:
    """A section without the empty lines around it; the indent of its first line stays, which may be code."""
    return text.strip("\n").rstrip()


def _paragraph(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())


def _texts(front: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(item) for item in front.get(key) or ())


def plain_text(markdown: str) -> str:
    """Markdown for people who read it as it is: without links, bold text and marks of headings."""
    return _HEADING.sub(r"\1:", _LINK.sub(r"\1", markdown).replace("**", ""))
