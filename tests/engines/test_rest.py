"""One sentence for each way in which a service does not answer."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines import rest
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.rest import Rest
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from tests.ports import free_ports


@pytest.mark.parametrize(
    ("answer", "said", "is_unknown"),
    [
        ((401, b"<html>"), "the Master at {url} refuses: HTTP 401.", False),
        ((403, {"message": "no\nright"}), "the Master at {url} refuses: HTTP 403: no\\nright.", False),
        ((404, {}), "the Master at {url} answers with HTTP 404.", False),
        ((400, {"RemoteException": {"message": "Bad."}}), "the Master at {url} answers with HTTP 400: Bad.", False),
        ((307, b""), "the Master at {url} answers with HTTP 307.", True),
        ((429, {"error": 7}), "the Master at {url} answers with HTTP 429.", True),
        ((503, {"error": "wait"}), "the Master at {url} answers with HTTP 503: wait.", True),
        ((200, b"<html>"), "the Master at {url} answers with what is no JSON object.", True),
        ((200, [1]), "the Master at {url} answers with what is no JSON object.", True),
        ((200, b" " * 5000), "the Master at {url} answers with more than 4,096 bytes.", True),
    ],
)
def test_an_answer_that_is_none_is_one_sentence(service, answer, said, is_unknown, monkeypatch):
    monkeypatch.setattr(rest, "MOST_BYTES", 4096)
    service.answers["GET /x"] = answer
    with pytest.raises(EngineError) as raised:
        Rest("the Master", service.connection, 1).ask("GET", "x")
    assert raised.value.message == said.format(url=service.url)
    assert isinstance(raised.value, EngineUnknownError) == is_unknown
    assert [path for _, path, _ in service.asked] == ["/x"]  # and nobody else was asked


def test_a_service_that_is_not_there_is_told():
    (port,) = free_ports(1)
    with pytest.raises(EngineUnknownError, match=rf"the Master at http://127.0.0.1:{port} does not answer: .*refused"):
        Rest("the Master", Connection("there", host="127.0.0.1", port=port), 1).ask("GET", "x")


def test_one_that_is_silent_is_told(service):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = Connection("there", host="127.0.0.1", port=silent.getsockname()[1])
        with pytest.raises(EngineUnknownError, match="does not answer: timed out"):
            Rest("the Master", connection, 1, timeout_s=0.1).ask("GET", "x")


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ({"host": "rm"}, "http://rm:8088"),
        ({"host": "rm", "port": 9, "schema": "https"}, "https://rm:9"),
        ({"host": "rm", "schema": "yarn"}, "http://rm:8088"),
        ({"host": "https://rm:7/gateway/"}, "https://rm:7/gateway"),
        ({"host": "::1"}, "http://[::1]:8088"),
    ],
)
def test_where_a_service_is_comes_from_its_connection(said, url):
    assert Rest("it", Connection("c", **said), 8088).url == url


@pytest.mark.parametrize("host", [None, "", "ftp://rm", "http://rm:x"])
def test_a_connection_without_a_host_is_told(host):
    with pytest.raises(EngineError, match="the connection c has"):
        Rest("it", Connection("c", host=host), 8088)


@pytest.mark.parametrize(
    ("login", "password", "header"),
    [(None, None, None), ("ann", None, None), ("ann", "s", "Basic YW5uOnM="), (None, "s", "Bearer s")],
)
def test_credentials_go_with_each_question(service, login, password, header):
    service.answers["PUT /a%2Fb"] = {"ok": True}
    service_rest = Rest("it", Connection("c", host=service.url, login=login, password=password), 1)
    assert service_rest.ask("PUT", "a/b", params={"q": "a b"}, body={"x": 1}).document == {"ok": True}
    assert service.headers.get("Authorization") == header
    assert service.asked == [("PUT", "/a%2Fb?q=a+b", {"x": 1})]
