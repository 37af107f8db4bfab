"""Alert when a stream rescans, skips, is rolled back, or becomes another one.

    look_back (one for each checkpoint)

Every ten minutes each checkpoint is compared with where its query stood the last time. ``look_back`` fails when the
query did not go on from there, and names the batch, the source and the partition; give it an ``on_failure_callback``,
or whatever else you do about failed tasks. It tells of a break once: the next run compares with what is there now.

Where each query stood is kept in an Airflow Variable, ``ckpt_bookmark_<number>_of_<name>``. Delete it to begin anew.
Set the checkpoints in ``CKPT_CONTINUITY_CHECKPOINTS``, separated by spaces, or for one run in the params.
"""

import os

from airflow_provider_ckpt.dags import watch_dag

dag = watch_dag(
    checkpoints=os.environ.get("CKPT_CONTINUITY_CHECKPOINTS", "").split(),
    doc_md=__doc__,
)
