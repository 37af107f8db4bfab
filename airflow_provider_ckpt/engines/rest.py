"""Asking a service over HTTP: one JSON document for one question, within a time and a size, or one sentence why not."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import MIB
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

#: Seconds until a service that is silent counts as unreachable, and bytes of an answer.
TIMEOUT_S, MOST_BYTES = 30.0, 16 * MIB
_NOTHING_KNOWN = "Nothing is known of the query, and nothing was taken for stopped."


@dataclass(frozen=True, slots=True)
class Said:
    """An answer.

    Args:
        status: Its HTTP status.
        document: Its JSON object; empty where the status alone was asked for.
        at_ms: The clock of the service, epoch milliseconds; None where it does not say.
    """

    status: int
    document: Mapping[str, Any]
    at_ms: int | None = None


class _NoRedirect(HTTPRedirectHandler):
    """Goes nowhere else: credentials are for one host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Rest:
    """A service.

    Args:
        service: What it is, for messages: ``the ResourceManager``.
        connection: How it is reached: host, port, schema; login and password, or a password alone as a bearer token.
        port: Its port, where the connection has none.
        timeout_s: Seconds for one question.
        tls: For https; None for what the system trusts.
    """

    def __init__(
        self,
        service: str,
        connection: Connection,
        port: int,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url, self._timeout_s = _url(service, connection, port), timeout_s
        self._who = f"{service} at {self.url}"
        self._headers = {"Accept": "application/json", **_credentials(connection)}
        self._opener = build_opener(_NoRedirect, *([] if tls is None else [HTTPSHandler(context=tls)]))

    def ask(
        self,
        method: str,
        *path: str,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        accepted: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        """The answer to a question.

        Args:
            method: ``GET``, ``POST``, ``PUT``.
            path: Segments of its path, which are quoted.
            params: Of its query.
            body: A JSON document that is sent.
            accepted: Statuses beyond the 200s that are answers, such as 404.
            headers: Which of another form of the question or of the answer, such as a patch.

        Raises:
            EngineError: The service refuses the credentials, or what was asked.
            EngineUnknownError: There is no answer, or it is none that can be read.
        """
        url = "/".join((self.url, *(quote(each, safe="") for each in path)))
        data = None if body is None else json.dumps(body).encode()
        form = {} if data is None else {"Content-Type": "application/json"}
        whole = {**self._headers, **form, **(headers or {})}
        request = Request(f"{url}?{urlencode(params)}" if params else url, data, whole, method=method)
        status, text, date = self._answer(request)
        if status in (401, 403):
            raise EngineError(
                f"{self._who} refuses: HTTP {status}{_reason(text)}.",
                hint="Nothing was done. See the login and the password of the engine's connection, and its rights.",
            )
        if not 200 <= status < 300 and status not in accepted:
            error = EngineError if 400 <= status < 500 and status != 429 else EngineUnknownError
            raise error(f"{self._who} answers with HTTP {status}{_reason(text)}.", hint=_NOTHING_KNOWN)
        if len(text) > MOST_BYTES:
            raise EngineUnknownError(f"{self._who} answers with more than {MOST_BYTES:,} bytes.", hint=_NOTHING_KNOWN)
        try:
            document = parse_json(text)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise EngineUnknownError(
                f"{self._who} answers with what is no JSON object.",
                hint=f"{_NOTHING_KNOWN} It may be another service: see host and port of the engine's connection.",
            )
        return Said(status, document, date)

    def _answer(self, request: Request) -> tuple[int, bytes, int | None]:
        try:
            try:
                with self._opener.open(request, timeout=self._timeout_s) as answer:
                    return answer.status, answer.read(MOST_BYTES + 1), _date(answer.headers.get("Date"))
            except HTTPError as error:
                with error:
                    return error.code, error.read(MOST_BYTES + 1), _date(error.headers.get("Date"))
        except (URLError, OSError, http.client.HTTPException, ValueError) as error:
            why = error.reason if isinstance(error, URLError) else error
            raise EngineUnknownError(
                f"{self._who} does not answer: {scrub(visible(str(why) or type(why).__name__)):.200}.",
                hint=_NOTHING_KNOWN,
            ) from None


def _url(service: str, connection: Connection, port: int) -> str:
    host = connection.host or ""
    schema = connection.schema if connection.schema in ("http", "https") else "http"
    parts = urlsplit(host if "://" in host else f"{schema}://{f'[{host}]' if host.count(':') > 1 else host}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EngineError(
            f"the connection {connection.id} has no host of {service}.",
            hint="Nothing was done. It is, for example, http://host:port.",
        )
    try:
        number = connection.port or parts.port or port
    except ValueError:
        raise EngineError(
            f"the connection {connection.id} has a port that is none.", hint="Nothing was done."
        ) from None
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}:{number}{parts.path.rstrip('/')}"


def _credentials(connection: Connection) -> dict[str, str]:
    if not connection.password:
        return {}
    if not connection.login:
        return {"Authorization": f"Bearer {connection.password}"}
    pair = f"{connection.login}:{connection.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _reason(text: bytes) -> str:
    """What an answer says of a refusal, on one line."""
    try:
        said = parse_json(text[:MIB])
    except ValueError:
        return ""
    while isinstance(said, dict):
        said = said.get("RemoteException") or said.get("message") or said.get("error")
    return f": {' '.join(scrub(visible(said)).split())[:200].rstrip('.')}" if isinstance(said, str) and said else ""


def _date(text: str | None) -> int | None:
    try:
        return None if text is None else int(parsedate_to_datetime(text).timestamp() * 1000)
    except ValueError:
        return None
