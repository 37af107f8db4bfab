"""Write the index that *Browse > Checkpoints* shows, every five minutes.

    write_index

The task finds every checkpoint below the roots, or those of the query file, checks its logs, and writes one file with a
line for each. The page reads that file alone. `index` is a directory which has nothing else; `[ckpt] index` of the
configuration names the same one. A checkpoint that cannot be read is a row of the page, and no failure of the task.

Set these environment variables where DAGs are parsed, for the DAG processor and the workers, or for one run its params:

* `CKPT_INDEX_ROOTS`: the roots of checkpoints, separated by spaces; without them, those of the queries of the query
  file that `[ckpt] file` names;
* `CKPT_INDEX`: the directory of the index;
* `CKPT_INDEX_BACKUP_ROOTS`: roots of backups, separated by spaces; with them the page says when the newest backup of
  each query was made;
* `CKPT_INDEX_CONN`: the connection of type `checkpoint` that opens all of them; without it, no connection is used.
"""

import os

from airflow_provider_ckpt.dags import index_dag

dag = index_dag(
    roots=os.environ.get("CKPT_INDEX_ROOTS", "").split(),
    index=os.environ.get("CKPT_INDEX", ""),
    backup_roots=os.environ.get("CKPT_INDEX_BACKUP_ROOTS", "").split(),
    checkpoint_conn_id=os.environ.get("CKPT_INDEX_CONN"),
    doc_md=__doc__,
)
