"""Roll many streaming queries back to before a deploy, with one approval for all of them.

    find ── plan (one for each query) ── weigh ── asks ── approve ── rollback (one for each plan) ── summary

* ``find`` reads the bookmarks that the gates of the deploy have taken: from a directory with one file of each query, as
  ``ckpt gate --bookmark`` writes it (``bookmarks``), from gates of other DAG runs (``gates``), or beside the queries
  (``queries``). A bookmark says where its checkpoint is. ``queries`` says more of some, such as their sinks; then those
  alone go back.
* ``plan`` makes the plan of each query, as ``checkpoint_rollback`` does. It changes nothing.
* ``weigh`` puts the plans together. When one query is refused, or a file is no bookmark, it stops the whole fleet
  before anybody is asked, and names each. With ``skip_refused`` those are left alone, and the others go on.
* ``approve`` shows each query, its batch, the effect on its sink, and what is refused (Browse > Required Actions). To
  approve is to say that all these queries are stopped, and to accept the effects that are shown. Nobody is asked when
  every query is there already.
* ``rollback`` carries out the very plans that were approved, each in a task of its own: one that has gone stale since
  is refused with nothing done, and one that fails stops no other. What is removed is kept for ``ckpt undo``.
* ``summary`` fails when a query is not back, and names each with what to do. To clear its task ``rollback`` completes a
  rollback that was begun; a new run of the DAG plans only what is not back yet.

A second DAG, ``checkpoint_fleet_undo``, takes that back in the same way: it finds the rollbacks of a run (``run_id``)
that are not undone, plans the undo of each, asks once, and carries those plans out. A checkpoint whose records cannot
be read is refused.

A rejected approval ends the run with its other tasks skipped. After ``summary`` has succeeded, start the queries with
the application that ran before the deploy.
Airflow maps over no more than ``[core] max_map_length`` queries, 1,024 by default.
"""

from airflow_provider_ckpt.dags import fleet_rollback_dag, fleet_undo_dag

rollback_dag = fleet_rollback_dag(doc_md=__doc__)
undo_dag = fleet_undo_dag(doc_md=__doc__)
