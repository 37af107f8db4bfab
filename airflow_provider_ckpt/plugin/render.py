"""Templates: everything that is put into a page is escaped, and hidden characters in it are spelled out."""

from __future__ import annotations

import shlex
from contextvars import ContextVar
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from airflow_provider_ckpt.hooks.links import MOUNT
from airflow_provider_ckpt.query.typed_commands import Typed
from airflow_provider_ckpt.times import duration_text, time_text
from airflow_provider_ckpt.visible import visible

#: How commands on the page that is made are typed; None where there is no query file.
_TYPED: ContextVar[Typed | None] = ContextVar("typed", default=None)


def render(
    request: Request, template: str, *, status: int = 200, how_typed: Typed | None = None, **values: Any
) -> HTMLResponse:
    """A page.

    Args:
        request: The request that is answered; it tells where the app is mounted.
        template: Its file in ``templates/``, which extends ``base.html``.
        status: HTTP status.
        how_typed: How its commands are typed; None where there is no query file.
        values: Values for the template.
    """
    base = request.scope.get("root_path", "").rstrip("/")
    page = _environment().get_template(template)
    said = _TYPED.set(how_typed)
    try:
        text = page.render(base=base, airflow=base.removesuffix(MOUNT), path=request.url.path, **values)
    finally:
        _TYPED.reset(said)
    return HTMLResponse(text, status)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "time": _time,
        "duration": _duration,
        "count": _count,
        "shell": shlex.quote,
        "exact": _exact,
    }
    return environment


def _shown(value: Any) -> Any:
    """A value as it is put into a page; None is nothing."""
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    typed = _TYPED.get()
    return visible(value if typed is None else typed.text(value))


def _exact(text: str) -> Markup:
    """A text for an attribute that a program reads, such as a hidden field: to the letter, hidden signs as numbers."""
    spelled = (f"&#x{ord(sign):x};" if _is_hidden(sign) else str(escape(sign)) for sign in text)
    return Markup("".join(spelled))


def _is_hidden(sign: str) -> bool:
    """True if a sign cannot be seen, unless HTML would turn its number into another sign."""
    return not sign.isprintable() and not "\x80" <= sign <= "\x9f"


def _time(at_ms: int | None) -> Markup | str:
    """To the second, as an element that a script or a screen reader can read."""
    if at_ms is None:
        return "–"
    text = time_text(at_ms)
    return Markup('<time datetime="{}">{}</time>').format(
        text, f"{text.partition('.')[0].rstrip('Z').replace('T', ' ')} UTC"
    )


def _duration(ms: float | None) -> str:
    return "–" if ms is None else duration_text(ms)


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"
