"""Opening an engine imports that one alone."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.open_engine import CLASSES, open_engine
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import ENGINES, NEEDED, DeclaredEngine
from tests.package import loaded_by


@pytest.mark.parametrize("name", CLASSES)
def test_each_engine_that_is_there_opens(name):
    said = dict.fromkeys(NEEDED[name], ("true",))
    engine = open_engine(DeclaredEngine(name, application=said), "orders", lambda connection: pytest.fail(connection))
    assert engine.settle_s > 0


@pytest.mark.parametrize("name", sorted(ENGINES.keys() - CLASSES.keys()))
def test_an_engine_that_is_not_there_yet_is_told(name):
    with pytest.raises(EngineError, match=f"the engine {name} of orders is not in this version of ckpt"):
        open_engine(DeclaredEngine(name), "orders")


def test_no_other_engine_is_loaded():
    loaded = loaded_by("import airflow_provider_ckpt.engines.open_engine")
    assert not {f"airflow_provider_ckpt.engines.{module}" for module, _ in CLASSES.values()} & loaded
