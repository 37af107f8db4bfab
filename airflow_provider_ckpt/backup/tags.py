"""Notes of people on a backup: its tags, for which a retention policy can keep it, and why it was taken."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_provider_ckpt.errors import PlanError


def tags_of(given: object) -> tuple[str, ...]:
    """Tags as they are given: one text is one tag, never its letters; several are a collection of texts.

    None and an empty text, as a template may leave them, are no tag.

    Raises:
        ValueError: Something of it is no text, or empty.
    """
    tags = [given] if isinstance(given, str) and given else given or ()
    if isinstance(tags, Collection) and all(isinstance(tag, str) and tag for tag in tags):
        return tuple(str(tag) for tag in tags)
    raise ValueError(f"the tags of a backup must be a list of texts, such as ['release'], not {given!r}")


def message_of(given: object) -> str:
    """The reason of a backup; None is no reason. Raises ValueError for what is no text."""
    if given is None or isinstance(given, str):
        return given or ""
    raise ValueError(f"the message of a backup must be a text, not {given!r}")


@dataclass(frozen=True, slots=True)
class Words:
    """Notes that the person who asks for a backup gives it."""

    tags: tuple[str, ...]
    message: str
    quick: bool
    asked_by: str

    @classmethod
    def of(cls, location: str, tags: object, message: object, *, quick: bool, asked_by: str) -> Words:
        """Raises PlanError for what no manifest can hold, before anything is written."""
        try:
            return cls(tags_of(tags), message_of(message), quick, asked_by)
        except ValueError as error:
            raise PlanError(f"{error}.", location=location, hint="No backup was taken.") from None
