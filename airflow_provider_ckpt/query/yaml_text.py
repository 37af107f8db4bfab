"""YAML of strangers, within bounds: without aliases and without a key that is given twice; each value with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: A deploy file has some lines.
MOST_YAML_CHARS, MOST_YAML_DEPTH = 1 << 20, 50

#: Keys of mappings and positions in lists, from the top of a document down.
Path = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of YAML.

    Args:
        value: The parsed value.
        lines: Line, from 1, of each key of a mapping and each item of a list.
    """

    value: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """Line of a value, or of the nearest one around it that has a line; 1 for the document itself."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse_yaml(text: str) -> Any:
    """The value that YAML without aliases means; aliases can make a line a billion values. Raises ValueError."""
    return parse_document(text).value


def parse_document(text: str) -> Document:
    """The value that YAML without aliases means, with the lines of its parts. Raises ValueError."""
    import yaml

    if len(text) > MOST_YAML_CHARS:
        raise ValueError(f"more than {MOST_YAML_CHARS:,} characters")
    try:
        _refuse_unbounded(text)
        loader = _loader()(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        return Document(None if node is None else _construct(loader, node, (), lines), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f"line {mark.line + 1} is "
        raise ValueError(f"{where}not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"the YAML cannot be read: {error}") from None


def _loader() -> Any:
    """YAML's safe loader, in C where PyYAML has it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_unbounded(text: str) -> None:
    """Raise ValueError for an alias, and for a document that is nested too deep."""
    import yaml

    depth = 0
    for event in yaml.parse(text, _loader()):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(
                f"line {event.start_mark.line + 1} has the alias *{event.anchor}, which is refused; write the value "
                "itself"
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_YAML_DEPTH:
            raise ValueError(f"nested deeper than {MOST_YAML_DEPTH} levels")


def _construct(loader: Any, node: Any, path: Path, lines: dict[Path, int]) -> Any:
    """Value of a node; a key that is given twice is refused, because the last would silently win."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        items = []
        for position, item in enumerate(node.value):
            lines[*path, position] = item.start_mark.line + 1
            items.append(_construct(loader, item, (*path, position), lines))
        return items
    if not isinstance(node, yaml.MappingNode):
        value = loader.construct_object(node)
        if type(value) in (int, float) and ":" in node.value:  # minutes and seconds, to YAML 1.1
            raise ValueError(
                f"line {node.start_mark.line + 1} has {node.value}, which YAML takes for {value}: quote it"
            )
        return value
    found: dict[Any, Any] = {}
    names: set[str] = set()
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ValueError(f"line {line} has a key that is not a text")
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise ValueError(f"line {line} has the key <<, which is refused; write the keys themselves")
        key = loader.construct_object(key_node)
        if isinstance(key, bool):  # a name such as on or no
            key = key_node.value
        if str(key) in names:
            raise ValueError(f"line {line} gives {str(key)!r} again; give it once")
        names.add(str(key))
        lines[*path, key] = line
        found[key] = _construct(loader, value_node, (*path, key), lines)
    return found
