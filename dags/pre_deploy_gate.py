"""Deploy a streaming query without losing its place: gate, backup, restart, proof, and a rollback when it goes wrong.

    gate ─┬─ backup ─┬─ restart
          │          └─ wait ── continuity ── deployed
          └─ blocked     (any of the three fails) ── went_wrong ── rollback_plan ── ask ── approve ── rollback

* ``gate`` forecasts the restart with the confs of ``restart`` itself. A closed gate leads to ``blocked``, which fails
  and says why; nothing has been touched then.
* ``restart`` submits the application. It ends when the application does (a trigger ``availableNow``), or when the
  application has been accepted (``spark.yarn.submit.waitAppCompletion=false``). In cluster mode of Spark's own master
  (``spark://``) it follows the driver, so for a query without end it runs as long as the query: no task waits for its
  end. While it runs, the next run of the DAG is queued.
* ``wait`` begins when ``restart`` has started, and ``continuity`` follows. They look at the checkpoint: a batch is
  committed after the deploy, and it began where the last one before it had ended.
* ``went_wrong`` leads to the rollback. When the application fails later, after ``continuity`` has passed, it fails and
  plans none: the batches since then are those of a good deploy.
* ``rollback_plan`` goes back to the very batch that the gate's bookmark has; what Spark has purged of it since
  comes from the backup. The log of a file sink (``sink`` is ``file:URI``) goes back as well, so that the sink neither
  lacks rows nor has them twice, unless ``trim_sink_log`` is false.
* ``approve`` shows the plan of a rollback to where the query was and waits for a person (Browse > Required Actions).
  To approve is to say that the query is stopped, as files cannot tell an idle query from a stopped one, and to accept
  the effect on the sink that is shown. A plan of no steps asks nobody. When the scheduler was away long, Airflow may
  ask again after the answer (3.3.2): answer again, nothing ran twice.
* ``rollback`` carries out the very plan that was approved. When the checkpoint has changed since, it is refused and
  nothing is done; clear ``rollback_plan`` with what is downstream to be asked again.

Stop the old run of the query before this DAG runs. A DAG of one query that stops it itself is ``deploy_dag``.
"""

from airflow_provider_ckpt.dags import pre_deploy_gate_dag

dag = pre_deploy_gate_dag(doc_md=__doc__)
