"""The one form of links to a page."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from airflow_provider_ckpt.hooks.links import page_link


@pytest.mark.parametrize(
    "location", ["s3://lake/orders", "/data/a b/ü", "s3://lake/50%/a&b=c#d?e", '/x"><script>', "/a+b"]
)
def test_a_link_is_relative_and_holds_the_location(location):
    link = page_link(location)
    assert link.startswith("plugin/checkpoints?at=")
    assert parse_qs(urlsplit(link).query) == {"at": [location]}
    assert not set(link) & set(' "<>#')


def test_a_link_holds_no_password():
    assert "secret" not in page_link("s3://key:secret@lake/orders")
