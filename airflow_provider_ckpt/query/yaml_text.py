"""YAML of strangers, within bounds: without aliases and without a key that is given twice; each value with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.visible import visible

#: A query file has some hundred lines.
MOST_YAML_CHARS, MOST_YAML_DEPTH = 1 << 20, 50
#: Of a number; Python reads no more than some thousand.
MOST_DIGITS = 30
#: What YAML allows in no text, beside the mark that some editors write at its beginning.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
#: What replaces a variable, a template or a home directory elsewhere, and nothing replaces here.
_REPLACED = re.compile(r"\$\{|\$[A-Za-z_]|\{\{|\{%|%[A-Z_]+%|<%|\A~")
_QUOTES = "“”„‘’«»"
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")

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
    text = text.removeprefix("\ufeff")
    if (odd := _UNPRINTABLE.search(text)) is not None:
        line = text.count("\n", 0, odd.start()) + 1
        raise ValueError(f"line {line} has the character U+{ord(odd[0]):04X}, which no YAML has")
    try:
        _refuse_unbounded(text)
        loader = _loader()(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        return Document(None if node is None else _construct(loader, node, (), lines), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f"line {mark.line + 1} is "
        raise ValueError(f"{where}not YAML: {error.problem}{_hint(error, text)}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"the YAML cannot be read: {error}") from None


def _loader() -> Any:
    """YAML's safe loader, in C where PyYAML has it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_unbounded(text: str) -> None:
    """Raise ValueError for an alias or a tag, and for a document that is nested too deep."""
    import yaml

    depth = 0
    for event in yaml.parse(text, _loader()):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"line {line} has the alias *{event.anchor}, which is refused; write the value itself")
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in _TEXT_TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            raise ValueError(f"line {line} has the tag {shown:.40}, which is refused; write the value itself")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_YAML_DEPTH:
            raise ValueError(f"line {line} is nested deeper than {MOST_YAML_DEPTH} levels")


def _hint(error: Any, text: str) -> str:
    """What to do about the mistakes that people make most often; empty for any other one."""
    problem, mark = str(error.problem), error.problem_mark
    if "cannot start any token" in problem and mark is not None:
        has_tab = text.split("\n")[mark.line][mark.column :].startswith("\t")
        return "; indent with spaces, not with tabs" if has_tab else "; quote a text that begins with @, % or `"
    return "; quote a text that has a colon and a space in it" if "mapping values are not" in problem else ""


def _scalar(loader: Any, node: Any, path: Path) -> Any:
    """A text, number, boolean or None; refused where YAML reads something else than people see."""
    where = f"line {node.start_mark.line + 1}{', ' * bool(path)}{'.'.join(map(str, path))}"
    if not node.style and node.end_mark.line > node.start_mark.line:
        raise ValueError(f"{where}: it goes on in line {node.end_mark.line + 1}; write it in one line, or quote it")
    kind = node.tag.rpartition(":")[2]
    if kind == "timestamp":
        return node.value
    if kind in ("int", "float"):
        if len(node.value) > MOST_DIGITS:
            raise ValueError(f"{where}: it is a number with more than {MOST_DIGITS} digits")
        value = loader.construct_object(node)
        if str(value) != node.value:  # octal, minutes and seconds, 4.10, _ in a number: to YAML 1.1
            raise ValueError(f"{where}: it is {node.value}, which YAML takes for {value}; write that, or quote it")
        return value
    return loader.construct_object(node)


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
        return _scalar(loader, node, path)
    found: dict[Any, Any] = {}
    names: set[str] = set()
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ValueError(f"line {line} has a key that is not a text")
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise ValueError(f"line {line} has the key <<, which is refused; write the keys themselves")
        if not key_node.value and not key_node.style:
            raise ValueError(f"line {line} has a value without a key before it")
        key = _scalar(loader, key_node, path)
        if isinstance(key, bool):  # a name such as on or no
            key = key_node.value
        if str(key) in names:
            raise ValueError(f"line {line} gives {str(key)!r} again; give it once")
        names.add(str(key))
        lines[*path, key] = line
        found[key] = _construct(loader, value_node, (*path, key), lines)
    return found


def problem_of(value: str) -> str:
    """What makes a text one that people did not mean; empty when nothing does."""
    if value != value.strip():
        return "with a space at its beginning or its end"
    if visible(value) != value:
        return "with a character that nobody sees"
    if _REPLACED.search(value):
        return "and no variable is replaced here, nor a template or ~; write its value"
    if value[0] in _QUOTES or value[-1] in _QUOTES:
        return "and its quotes are not those of YAML, which are \" and '"
    if value[-1] in ",;":
        return f"with a {value[-1]} at its end"
    return "a path of Windows" if re.match(r"[A-Za-z]:\\", value) else ""
