"""Back up every checkpoint under some roots, prune by a retention policy, and rehearse a restore once a week.

    find ── back_up (one for each checkpoint) ── prune ── is_rehearsal_day ── rehearse (one for each backup)

* ``find`` walks the roots. A directory that cannot be read fails the run after everything else was backed up.
* ``back_up`` takes a backup of a checkpoint, also while its query runs; what an earlier backup has is referred to.
  One that fails is tried again, and stops none of the others.
* ``prune`` runs when all backups are taken or have failed: a backup that fails must not fill the disk. Of each query
  the last three are kept, one of each of seven days, four weeks and twelve months, and those with the tag ``keep``;
  the key ``keep`` of the query file says otherwise, and the argument ``keep`` of ``backup_dag`` wins over both.
* ``rehearse`` reads each backup back that this run has taken, restores it to a scratch place and lets a real Spark open
  it there. It needs PySpark and Java; without them, set the param ``rehearsal_weekday`` to none.

All backups live under one root; each says which checkpoint it is of. Set the roots in ``CKPT_BACKUP_ROOTS``, separated
by spaces, and where backups go in ``CKPT_BACKUP_TO``, or both for one run in its params.
"""

import os

from airflow_provider_ckpt.dags import backup_dag

dag = backup_dag(
    roots=os.environ.get("CKPT_BACKUP_ROOTS", "").split(),
    backup_root=os.environ.get("CKPT_BACKUP_TO", ""),
    doc_md=__doc__,
)
