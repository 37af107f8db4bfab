"""Many objects of a listing in little memory: a checkpoint may have millions of state files."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from heapq import merge
from itertools import groupby

from airflow_provider_ckpt.storage.access import Access
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Objects whose rows are one text: a row in it is found by searching the text.
_OF_A_TEXT = 128
#: Before each row; what is in it is divided by slashes. The last part of a name has neither.
_ROW = "\0"


class PackedObjects(Mapping[str, StoredObject]):
    """Objects by name, as rows of text for each directory; one is made again whenever it is asked for.

    That is its name, its identity and some 30 bytes for each. Links and what cannot be reached are kept as they are.
    """

    __slots__ = ("_accesses", "_below", "_count", "_directories", "_numbers", "_plain")

    def __init__(self, objects: Iterable[StoredObject] = ()) -> None:
        #: Of each directory the first name of each text, and the texts, in the order of the names.
        self._directories: dict[str, tuple[list[str], list[str]]] = {}
        self._plain: dict[str, StoredObject] = {}
        #: What a number in a row stands for, and the number of each.
        self._accesses: list[Access | None] = []
        self._numbers: dict[Access | None, int] = {}
        self._count = 0
        #: The directories in each one, by their names with a slash, once they were asked for.
        self._below: dict[str, set[str]] = {}
        self.add(objects)

    def add(self, objects: Iterable[StoredObject]) -> None:
        """Put in more objects, each under a name that is not there yet."""
        self._below = {}
        found: defaultdict[str, list[StoredObject]] = defaultdict(list)
        for stored in objects:
            if stored.is_link or stored.is_unreachable or _ROW in stored.name + stored.identity or _is_odd(stored.name):
                self._plain[stored.name] = stored
            else:
                found[stored.name.rpartition("/")[0]].append(stored)
            self._count += 1
        for directory, of_directory in found.items():
            self._add_to(directory, sorted(of_directory, key=lambda item: item.name))

    def _add_to(self, directory: str, objects: list[StoredObject]) -> None:
        firsts, texts = self._directories.setdefault(directory, ([], []))
        start = len(directory) + 1 if directory else 0
        if texts and objects[0].name[start:] < texts[-1].rpartition(_ROW)[2].partition("/")[0]:
            objects = sorted((*objects, *map(self.__getitem__, self._names_in(directory))), key=lambda item: item.name)
            firsts.clear()
            texts.clear()
        for at in range(0, len(objects), _OF_A_TEXT):
            firsts.append(objects[at].name[start:])
            texts.append("".join(self._row(stored, start) for stored in objects[at : at + _OF_A_TEXT]))

    def _row(self, stored: StoredObject, start: int) -> str:
        if (number := self._numbers.setdefault(stored.access, len(self._accesses))) == len(self._accesses):
            self._accesses.append(stored.access)
        modified = "" if stored.modified_ms is None else stored.modified_ms
        return f"{_ROW}{stored.name[start:]}/{stored.size}/{modified}/{number}/{stored.identity}"

    def __or__(self, others: Mapping[str, StoredObject]) -> PackedObjects:
        """These objects and others, which win where a name is in both; nothing is added to either afterwards."""
        both = PackedObjects()
        both._directories, both._accesses, both._numbers = self._directories, self._accesses, self._numbers
        both._plain = {**self._plain, **others}
        both._count = self._count + sum(name not in self for name in others)
        return both

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._plain or self._find(name) is not None)

    def __getitem__(self, name: str) -> StoredObject:
        if (plain := self._plain.get(name)) is not None:
            return plain
        if (row := self._find(name)) is None:
            raise KeyError(name)
        return self._object(name, row)

    def _object(self, name: str, row: str) -> StoredObject:
        size, modified, number, identity = row.split("/", 3)
        modified_ms = int(modified) if modified else None
        return StoredObject(name, int(size), modified_ms, identity, access=self._accesses[int(number)])

    @property
    def odd(self) -> Mapping[str, StoredObject]:
        """Links and what cannot be reached, and perhaps others."""
        return self._plain

    def items(self) -> ItemsView[str, StoredObject]:
        """Items as of a dict; names that are asked for in order are not searched for."""
        return _Items(self)

    def values(self) -> ValuesView[StoredObject]:
        """Values as of a dict."""
        return _Values(self)

    def each(self) -> Iterator[StoredObject]:
        """All of them, in the order of the names."""
        yield from self._plain.values()
        for directory, (_, texts) in self._directories.items():
            prefix = f"{directory}/" if directory else ""
            for row in (row for text in texts for row in text[1:].split(_ROW)):
                last, _, rest = row.partition("/")
                if (name := prefix + last) not in self._plain:
                    yield self._object(name, rest)

    def __iter__(self) -> Iterator[str]:
        yield from self._plain
        for directory in self._directories:
            for name in self._names_in(directory):
                if name not in self._plain:
                    yield name

    def names_below(self, directory: str) -> Iterator[str]:
        """The names of all that is below a directory, ascending."""
        prefix = f"{directory}/"
        plain = sorted(name for name in self._plain if name.startswith(prefix))
        packed = self._packed_below(directory)
        return (name for name, _ in groupby(merge(plain, packed))) if plain else packed

    def _packed_below(self, directory: str) -> Iterator[str]:
        """Names in ascending order: those of a directory come where its own name with a slash does."""
        todo = [iter(self._names_and_directories_in(directory))]
        while todo:
            name = next(todo[-1], None)
            if name is None:
                todo.pop()
            elif name.endswith("/"):
                todo.append(iter(self._names_and_directories_in(name[:-1])))
            else:
                yield name

    def _names_and_directories_in(self, directory: str) -> list[str]:
        if not self._below:
            below: dict[str, set[str]] = {}
            for inner in self._directories:
                while inner:
                    name = f"{inner}/"
                    inner = inner.rpartition("/")[0]  # up to the location
                    below.setdefault(inner, set()).add(name)
            self._below = below
        return sorted((*self._names_in(directory), *self._below.get(directory, ())))

    def _names_in(self, directory: str) -> list[str]:
        prefix = f"{directory}/" if directory else ""
        texts = self._directories.get(directory, ([], []))[1]
        return [prefix + row.partition("/")[0] for text in texts for row in text[1:].split(_ROW)]

    def _find(self, name: str) -> str | None:
        """The rest of the row of a name, after the name; None without such a row."""
        directory, _, last = name.rpartition("/")
        if (of_directory := self._directories.get(directory)) is None or name.startswith("/"):
            return None
        firsts, texts = of_directory
        text = texts[max(0, bisect_right(firsts, last) - 1)]
        start = text.find(f"{_ROW}{last}/")
        if start < 0:
            return None
        start += len(last) + 2
        end = text.find(_ROW, start)
        return text[start:] if end < 0 else text[start:end]


def _is_odd(name: str) -> bool:
    """True if no slash divides a name into a directory and an entry of it."""
    return name.startswith("/") or name.endswith("/")


class _Items(ItemsView[str, StoredObject]):
    _mapping: PackedObjects

    def __iter__(self) -> Iterator[tuple[str, StoredObject]]:
        return ((stored.name, stored) for stored in self._mapping.each())


class _Values(ValuesView[StoredObject]):
    _mapping: PackedObjects

    def __iter__(self) -> Iterator[StoredObject]:
        return self._mapping.each()
