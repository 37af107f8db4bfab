"""Who may see what: what is asked of Airflow."""

from __future__ import annotations

import pytest
from fastapi import HTTPException

from airflow_provider_ckpt.plugin.access import require_task


@pytest.mark.parametrize("dag_id", ["", "~"])
def test_no_dag_id_means_every_dag(dag_id):
    with pytest.raises(HTTPException) as refused:
        require_task(None, None, dag_id)
    assert refused.value.status_code == 404
