"""Publish the positions of queries to consumer groups of Kafka, so that tools for groups show how far they are behind.

    publish (all checkpoints of the list, each on its own)

* ``publish`` reads each checkpoint, and commits its position to a group: ``spark-`` and the last part of its location,
  or as ``CKPT_PUBLISH_GROUP`` says. What is wrong with one checkpoint keeps no other back; the task fails afterwards.
* A broker forgets the offsets of a group without members after ``offsets.retention.minutes``, seven days by default.
  This DAG writes them again in every run.

Set the checkpoints in ``CKPT_PUBLISH_CHECKPOINTS``, separated by spaces, or for one run in its params. The connection
of type ``kafka`` is that of the cluster of each query in the query file, else ``kafka_default``, or what
``CKPT_PUBLISH_KAFKA_CONN_ID`` says.
"""

import os

from airflow_provider_ckpt.dags import publish_dag

dag = publish_dag(
    checkpoints=os.environ.get("CKPT_PUBLISH_CHECKPOINTS", "").split(),
    group=os.environ.get("CKPT_PUBLISH_GROUP"),
    kafka_conn_id=os.environ.get("CKPT_PUBLISH_KAFKA_CONN_ID"),
    doc_md=__doc__,
)
