"""Give the state of a streaming query another number of partitions, when a person has seen the plan.

    stop ── plan ── approve ── backup ── repartition ── start ── restarts ─┬─ restart
                                                                           └─ wait

* ``stop`` stops the query where the query file says on which engine it runs; otherwise it does nothing.
* ``plan`` reads the whole checkpoint, and fails where Spark would refuse the repartition or do it wrong. It changes
  nothing, and needs no Spark.
* ``approve`` shows the plan and waits for a person (Browse > Required Actions). To approve is to accept the effect on
  the sink that is shown; and without an engine, to say that the query is stopped, which files cannot tell.
  When the scheduler was away for long, Airflow may ask again after the answer (3.3.2): answer again, nothing ran twice.
* ``backup`` takes a backup of the checkpoint as it was before.
* ``repartition`` carries out the very plan that was approved, in a Spark (4.2 or later) on the worker, which reads all
  of the state before and after. When the checkpoint has changed since, or the approval is older than the plan (``plan``
  was cleared), it is refused and nothing is done. A try that was killed leaves a query that does not start; the next
  try goes on where it was, and ``ckpt undo`` takes the repartition back, half done or whole.
* ``start`` starts what the query file declares on its engine, and sees its first commit; otherwise nothing. Then
  ``restart`` submits the application, ``wait`` sees that its first batch is committed; without an application both are
  skipped. They run side by side, as
  spark-submit may follow a query for as long as that runs (``spark://`` in cluster mode, for example). ``wait`` fails
  when ``restart`` does; without input there is no batch, and it fails after half an hour.

A rejected plan ends the run with its other tasks skipped: what was stopped stays so, until ``ckpt start``. Without an
engine, stop the query before this DAG runs.
"""

from airflow_provider_ckpt.dags import repartition_dag

dag = repartition_dag(doc_md=__doc__)
