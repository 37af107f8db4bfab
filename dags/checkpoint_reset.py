"""Move the positions of a streaming query, when a person has seen the plan and its effect on the sink.

    stop ── plan ── ask ─┬─ approve ─┬─ reset ── start ── restarts ─┬─ restart
                         └─ (no step) ┘                              └─ wait

* ``stop`` stops the query where the query file says on which engine it runs; otherwise it does nothing. A plan that was
  previewed is one of a query that is stopped already: one that runs is refused, and goes on.
* ``plan`` asks the broker where the source is to go: to the earliest or the latest offsets, to a time, by a duration or
  by a number of offsets, or to offsets that are given. It changes nothing; it shows every step and the effect on the
  sink. A plan other than the one that was previewed on the page of the checkpoint (Browse > Checkpoints) is refused.
* ``ask`` asks nobody when the plan has no steps: the query is there already.
* ``approve`` shows the plan and waits for a person (Browse > Required Actions). To approve is to accept the effect on
  the sink that is shown; and without an engine, to say that the query is stopped, which files cannot tell.
* ``reset`` carries out the very plan that was approved: its offsets are those that were found then. When the checkpoint
  has changed since, or the approval is older than the plan (``plan`` was cleared), it is refused and nothing is done.
  What it replaces is kept for ``ckpt undo``; ``ckpt history`` shows who approved it, and the effect that was accepted.
* ``start`` starts what the query file declares on its engine, and sees its first commit; otherwise nothing. Then
  ``restart`` submits the application, ``wait`` sees that its first batch is committed; without an application both are
  skipped. They run side by side, as spark-submit may follow a query for as long as that runs (``spark://`` in cluster
  mode, for example). ``wait`` fails when ``restart`` does. A query that was moved to the end of its topics commits none
  until a record comes.

A rejected plan ends the run with its other tasks skipped: what was stopped stays so, until ``ckpt start``.
"""

from airflow_provider_ckpt.dags import reset_dag

dag = reset_dag(doc_md=__doc__)
