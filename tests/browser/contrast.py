"""Whether text on a page can be read: WCAG AA, 4.5:1 for every colour of text."""

from __future__ import annotations

from tests.browser.stack import Person

#: The elements with text of less contrast than 4.5:1 on what is behind them.
CONTRAST = r"""() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (css) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".skip")) continue;
    const pair = [light(rgba(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) found.push(`${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""


def poor_contrast(person: Person) -> list[str]:
    """The elements of the page in the frame whose text has too little contrast."""
    return list(person.of_pages().evaluate(CONTRAST))
