"""The extra of a connection that is no JSON object is refused, and not read as an empty one."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.errors import StorageOptionError
from airflow_provider_ckpt.hooks.extra import extra_of


@pytest.mark.parametrize(("text", "read"), [(None, {}), ("", {}), ("  ", {}), ("{}", {}), ('{"a": "b"}', {"a": "b"})])
def test_an_extra_is_read(text, read):
    assert extra_of(SimpleNamespace(conn_id="lake", extra=text, extra_dejson=read)) == read


@pytest.mark.parametrize("text", ["{storage_conn_id: minio}", json.dumps(["a"]), "5", "{'a': 'b'}", '{"a": '])
def test_an_extra_that_is_no_json_object_is_refused(text):
    with pytest.raises(StorageOptionError, match="the extra of the connection lake is no JSON object"):
        extra_of(SimpleNamespace(conn_id="lake", extra=text, extra_dejson={}))
