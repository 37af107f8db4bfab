"""YAML of strangers, within bounds: without aliases and without a key that is given twice."""

from __future__ import annotations

import functools
from typing import Any

#: A deploy file has some lines.
MOST_YAML_CHARS, MOST_YAML_DEPTH = 1 << 20, 50


def parse_yaml(text: str) -> Any:
    """The value that YAML without aliases means; aliases can make a line a billion values. Raises ValueError."""
    import yaml

    if len(text) > MOST_YAML_CHARS:
        raise ValueError(f"more than {MOST_YAML_CHARS:,} characters")
    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError(
                    f"line {event.start_mark.line + 1} has the alias *{event.anchor}, which is refused; write the "
                    "value itself"
                )
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_YAML_DEPTH:
                raise ValueError(f"nested deeper than {MOST_YAML_DEPTH} levels")
        return yaml.load(text, _loader())  # a safe loader
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(f"the YAML cannot be read: {error}") from None


@functools.cache
def _loader() -> Any:
    """YAML's safe loader, that refuses a key that is given twice in one mapping: the last would silently win."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys: set[str] = set()
            for item, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                key = str(self.construct_object(item, deep=True))
                if key in keys:
                    raise ValueError(f"line {item.start_mark.line + 1} gives {key!r} again; give it once")
                keys.add(key)
            found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return found

    return Loader
