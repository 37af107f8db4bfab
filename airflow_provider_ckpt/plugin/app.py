"""The app that Airflow mounts: its routes, who may call them, its headers, and how it says that something is wrong."""

from __future__ import annotations

from http import HTTPStatus
from importlib import resources

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.plugin import checkpoint, fleet, task
from airflow_provider_ckpt.plugin.access import require_login
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.storage.roots import OutsideRootsError

#: What every answer carries, errors as well. Scripts and styles are files of ours; nothing comes from elsewhere.
HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'self'",
            "base-uri 'none'",
            "form-action 'self'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Pages that are made at once. Each holds one of some 40 threads that Airflow's API server has for all that it answers.
MOST_AT_ONCE = 8
_BUSY = f"{MOST_AT_ONCE} of these pages are being made now, and no more at once. Try again in some seconds."
STATIC = {"ckpt.css": "text/css", "ckpt.js": "text/javascript"}
_OUTSIDE = "There is no such page, or it is not for you to see."


def build_app() -> FastAPI:
    """The app. Every route wants somebody who is logged in, and reads alone."""
    app = FastAPI(dependencies=[Depends(require_login)], docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(_Places)
    app.add_middleware(_Headers)
    app.add_api_route("/static/{name}", _static, methods=["GET"])
    app.include_router(fleet.router)
    app.include_router(checkpoint.router)
    app.include_router(task.router)
    app.add_exception_handler(StarletteHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(OutsideRootsError, _outside)
    app.add_exception_handler(CheckpointError, _failed)
    app.add_exception_handler(Exception, _broken)
    return app


def _static(name: str) -> Response:
    if name not in STATIC:
        raise HTTPException(404)
    data = (resources.files(__package__) / "static" / name).read_bytes()
    return Response(data, media_type=f"{STATIC[name]}; charset=utf-8")


class _Places:
    """Refuses requests beyond so many at once: storages that do not answer must not take all of Airflow's threads.

    A place is free again when the answer is made, also when nobody waits for it any more.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._taken = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "/static/" in scope["path"]:
            await self._app(scope, receive, send)
        elif self._taken >= MOST_AT_ONCE:
            await _answer(Request(scope), 503, _BUSY, {"Retry-After": "5"})(scope, receive, send)
        else:
            self._taken += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._taken -= 1


class _Headers:
    """Puts the headers on every answer that the routes give."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


# --- what is wrong --------------------------------------------------------------------------------------------------


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    known = {
        401: "You are not logged in to Airflow, or no longer.",
        403: "Your role in Airflow may not see this.",
        404: _OUTSIDE,
    }
    return _answer(request, error.status_code, known.get(error.status_code, str(error.detail)), error.headers)


def _not_understood(request: Request, _: Exception) -> Response:
    return _answer(request, 422, "The address of this page is not complete, or a value in it makes no sense.")


def _outside(request: Request, _: Exception) -> Response:
    """Answer as for any missing page: it does not tell if anything is at the location."""
    return _answer(request, 404, _OUTSIDE)


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, CheckpointError)
    found = 404 if isinstance(error, CheckpointNotFoundError) else 503 if error.retryable else 500
    return _answer(request, found, str(error))


def _broken(request: Request, _: Exception) -> Response:
    """A fault of ours, which Airflow logs. It is answered outside of the middleware."""
    answer = _answer(request, 500, "This page could not be made. The log of the API server has the error.")
    answer.headers.update(HEADERS)
    return answer


def _answer(request: Request, status: int, what: str, headers: object = None) -> Response:
    """A page for a browser, JSON for a program."""
    if "text/html" in request.headers.get("accept", ""):
        answer: Response = render(
            request, "error.html", status=status, title=HTTPStatus(status).phrase, what=what, code=status
        )
    else:
        answer = JSONResponse({"detail": what}, status)
    answer.headers.update(headers if isinstance(headers, dict) else {})
    return answer
