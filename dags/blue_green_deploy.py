"""Deploy a new version of a streaming query when it has shown, beside the live query, that its rows are right.

    allowed ── gate ── backup ─┬─ fork ───────┬─ stage ── shadow ── caught_up ── compare ── approve ──┐
                               └─ next_batch ─┘                                                       │
  ┌───────────────────────────────────────────────────────────────────────────────────────────────────┘
  └─ answered ── stop_old ── stopped ── gate_again ── keep ── still_stopped ─┬─ restart
                                                                             └─ wait ── continuity ── deployed
                                                                     (any of the three fails) ── went_wrong

* ``allowed`` says what a switch does at the sink, before anything starts. An effect that is not exact is refused
  unless it is accepted by name (``accept_sink``). ``gate`` forecasts the restart with the confs of ``restart``.
* ``fork`` restores a backup under a new query id; the live query goes on running. ``next_batch`` waits until it has
  committed ``compare_batches`` more, and ``stage`` plans the first batch of the fork to read what these have read. It
  refuses ``shadow_args`` that name the live checkpoint or sink, or not the fork, and a ``shadow_sink`` with batches.
* ``shadow`` starts the new version on the fork, with ``shadow_args``: another checkpoint, and another output. It ends
  when the application does (a trigger ``availableNow``) or when a cluster has accepted the application. A fork is for
  one start: to try a mended application, begin a new run with a new ``fork`` and ``shadow_sink``.
* ``compare`` fails unless the rows of both, and the watermark after them, are equal. Declare what may differ: columns
  to ``ignore``, columns that are ``added``. For outputs other than files, give it a function that reads rows.
* ``approve`` shows a person what was found and what the sink allows (Browse > Required Actions). Rejected, nothing has
  been touched: the live query runs as before. When the scheduler was away long, Airflow may ask again (3.3.2).
* ``answered`` sees that a person has answered: an approval that was marked as a success is none.
* ``stop_old`` is the argument of that name, a step of yours. Without it, to approve is to say that it is stopped.
* ``stopped`` refuses the switch when somebody still writes to the checkpoint, and judges the effect as it is now.
* ``still_stopped`` watches again, and refuses when a query has run since ``stopped``, whoever started it.
* ``restart`` starts the new version on the checkpoint and the sink of the old one; so the sink knows each batch again.
  The fork was the rehearsal, and is never used for anything else. ``keep`` has the way back, ``went_wrong`` tells it.
  ``wait`` runs beside it, as spark-submit may follow a query for as long as that runs, and fails when it does.

When ``shadow`` is a job that goes on running on a cluster, stop it, too. The fork and its output can then be deleted.
"""

from airflow_provider_ckpt.dags import blue_green_dag

dag = blue_green_dag(doc_md=__doc__)
