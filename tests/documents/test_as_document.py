"""The document of a dataclass: what its fields and properties say that they mean, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from airflow_provider_ckpt.documents.as_document import Documented, DocumentOf, Versioned, as_document
from tests.json_documents import ROOMS, documents_in, keys


@dataclass(frozen=True, slots=True)
class Part(Documented):
    """A part."""

    size: Annotated[int, "bytes"]
    secret: str = ""


@dataclass(frozen=True, slots=True)
class Whole(Versioned):
    """A whole."""

    last_keys: ClassVar = ("first", "count")

    first: Annotated[int, "comes late, though it is the first field"]
    parts: Annotated[tuple[Part, ...], "the parts"]
    by_name: Annotated[Mapping[str, Part | None], "the same by name"]
    note: str = "not in the document"

    @property
    def count(self) -> Annotated[int, "number of parts"]:
        """Number of parts."""
        return len(self.parts)

    @property
    def worst(self) -> str:
        """Not in the document."""
        return self.note


def test_a_document_has_what_says_its_meaning_in_order_and_a_version_first():
    document = Whole(7, (Part(2), Part(1)), {"b": Part(2), "a": None}).to_dict()
    parts, by_name = [{"size": 2}, {"size": 1}], {"b": {"size": 2}, "a": None}
    assert document == {"format_version": 1, "parts": parts, "by_name": by_name, "first": 7, "count": 2}
    assert list(document) == list(keys(Whole)) == ["format_version", "parts", "by_name", "first", "count"]
    assert list(document["by_name"]) == ["b", "a"]


def test_a_part_has_no_version():
    assert Part(3).to_dict() == as_document(Part(3)) == {"size": 3}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
def test_every_dataclass_of_a_document_is_there_and_says_what_each_key_means(room):
    aliases = [held for held in vars(room).values() if any(map(_is_reference, getattr(held, "__metadata__", ())))]
    assert len(aliases) <= len(documents_in(room))
    for kind in documents_in(room):
        assert all(isinstance(hint.__metadata__[-1], str) for hint in keys(kind).values()), kind


def _is_reference(said: object) -> bool:
    return isinstance(said, DocumentOf)
