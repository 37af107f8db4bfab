"""Check every checkpoint under some roots, and alert about what is new since the last run.

    find_groups ── check_group (one for each group) ── report ── alert_on_new_findings

* ``find_groups`` walks the roots and deals the checkpoints out in groups of ``group_size``. Airflow maps over no more
  than ``[core] max_map_length`` groups, 1,024 by default.
* ``check_group`` checks the checkpoints of one group. A damaged checkpoint, or one that cannot be read, is a result.
* ``report`` puts everything into one report: a table in its log, and an XCom with ``checkpoints``, ``findings``,
  ``unreadable``, what was not judged (``unknown``) and what is ``new``.
* ``alert_on_new_findings`` fails when there is something new, and names it. Give it an ``on_failure_callback``, or
  whatever else you do about failed tasks.

What was found the last time is kept in the Airflow Variable ``ckpt_validation_known``: it outlives workers, every task
can reach it, and nothing is written to where the checkpoints are. Delete it to be told of everything again.
Set the roots in ``CKPT_VALIDATION_ROOTS``, separated by spaces, or for one run in its params.
"""

import os

from airflow_provider_ckpt.dags import validation_dag

dag = validation_dag(
    roots=os.environ.get("CKPT_VALIDATION_ROOTS", "").split(),
    doc_md=__doc__,
)
