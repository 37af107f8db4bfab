"""Photographs of the pages in Airflow, for the docs."""

from __future__ import annotations

from pathlib import Path

from tests.browser.stack import Person

#: So large is a photograph at most, bytes: a reader of the docs loads several.
MOST_BYTES = 150_000
#: Text of the page is shown as if its directory were another one.
_RENAME = """([from, to]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
}"""


def photograph(person: Person, place: Path, to: Path, *, height: int) -> None:
    """Photograph the frame of Airflow with the page in it.

    Args:
        person: Whose page is shown.
        place: A directory of this machine, which no reader needs to see.
        to: The file.
        height: Of the photograph, pixels.
    """
    person.page.set_viewport_size({"width": 1360, "height": height})
    person.of_pages().evaluate(_RENAME, [str(place), "/data"])
    person.page.screenshot(path=to, scale="css")
    assert to.stat().st_size < MOST_BYTES, f"{to.name} has {to.stat().st_size} bytes"
