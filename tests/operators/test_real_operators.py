"""The operators that the readers of confs are written for, as Airflow's providers publish them (``make exhaustive``)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.operators.submitting import FIELDS

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

PROVIDERS = Path(__file__).with_name("providers.txt")
#: Imports the real classes from a directory, beside the providers that are installed; prints what each has, and the confs
#: that are read of one of each.
ASKED = """
import importlib, importlib.abc, importlib.machinery, json, sys
from datetime import datetime
from unittest.mock import MagicMock

home, fields = sys.argv[1], json.loads(sys.argv[2])
sys.path.append(home)


class RestOfGoogle(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    # Google's provider imports forty libraries for one operator; those that are not there are put in for.

    def find_spec(self, name, path=None, target=None):
        known = name.split(".")[0] in ("google", "gcloud", "googleapiclient")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(RestOfGoogle())
import airflow.providers
airflow.providers.__path__.append(f"{home}/airflow/providers")
import airflow.providers.apache
airflow.providers.apache.__path__.append(f"{home}/airflow/providers/apache")
from airflow.sdk import DAG
from airflow_provider_ckpt.operators.task_confs import confs_of, require_known

A, SPARK = "spark.sql.shuffle.partitions", {"python_file": "x.py"}
NEW = {"num_workers": 1, "spark_conf": {A: "8"}}
SUBMIT = {"entryPoint": "x.py", "sparkSubmitParameters": f"--conf {A}=8"}
STEP = {"HadoopJarStep": {"Args": ["spark-submit", "--conf", f"{A}=8", "x.py"]}}
role = {"execution_role_arn": "r"}
MADE = {
    "DatabricksSubmitRunOperator": {"new_cluster": NEW, "spark_python_task": SPARK},
    "DatabricksCreateJobsOperator": {"json": {"name": "x", "tasks": [{"new_cluster": NEW, "spark_python_task": SPARK}]}},
    "SparkKubernetesOperator": {"template_spec": {"spark": {"spec": {"sparkConf": {A: "8"}}}}},
    "EmrAddStepsOperator": {"job_flow_id": "j", "steps": [STEP]},
    "EmrServerlessStartJobOperator": {"application_id": "a", "job_driver": {"sparkSubmit": SUBMIT}, **role},
    "EmrContainerOperator": {"name": "x", "virtual_cluster_id": "v", "release_label": "l",
                             "job_driver": {"sparkSubmitJobDriver": SUBMIT}, **role},
    "SSHOperator": {"ssh_conn_id": "s", "command": f"spark-submit --conf {A}=8 x.py"},
    "DockerOperator": {"image": "spark", "command": f"spark-submit --conf {A}=8 x.py"},
    "KubernetesPodOperator": {"cmds": ["spark-submit"], "arguments": ["--conf", f"{A}=8", "x.py"]},
    "LivyOperator": {"file": "x.py", "conf": {A: "8"}},
    "DataprocSubmitJobOperator": {"region": "r", "job": {"pyspark_job": {"properties": {A: "8"}}}},
    "DataprocCreateBatchOperator": {"region": "r", "batch": {"runtime_config": {"properties": {A: "8"}}}},
    "GlueJobOperator": {"script_args": {"--conf": f"{A}=8"}},
}
found, read, refused = {}, {}, None
with DAG("d", start_date=datetime(2026, 1, 1)) as dag:
    for name, (module, _, _) in fields.items():
        kind = getattr(importlib.import_module(f"airflow.providers.{module}"), name)
        found[name] = list(kind.template_fields)
        if name in MADE:
            made = kind(task_id=name, **MADE[name])
            read[name] = [hasattr(made, field) for field in fields[name][1]]
            require_known(made)
            read[name].append(confs_of(dag, name, {"params": {}}))
        elif name == "DatabricksRunNowOperator":
            try:
                require_known(kind(task_id=name, job_id="42"))
            except ValueError as error:
                refused = str(error)
        else:
            notebook = importlib.import_module(f"airflow.providers.{module}").DatabricksNotebookOperator
            made = notebook(task_id=name, notebook_path="/x", source="GIT", new_cluster=NEW)
            read[name] = [hasattr(made, field) for field in fields[name][1]] + [confs_of(dag, name, {"params": {}})]
print(json.dumps([found, read, refused]))
"""


def test_the_real_classes_have_the_fields_and_their_confs_are_read(tmp_path):
    home = tmp_path / "providers"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(home), "-r", str(PROVIDERS)]
    subprocess.run(install, check=True, capture_output=True, text=True, timeout=900)
    asked = [sys.executable, "-W", "ignore", "-c", ASKED, str(home), json.dumps(FIELDS)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    found, read, refused = json.loads(done.stdout.splitlines()[-1])
    for name, (_, fields, templates) in FIELDS.items():
        assert set(templates) <= set(found[name]), name
        if name in read:
            assert read[name] == [True] * len(fields) + [{"spark.sql.shuffle.partitions": "8"}], name
    assert set(read) == set(FIELDS) - {"DatabricksRunNowOperator"}
    assert "starts a job whose confs are in Databricks" in refused
