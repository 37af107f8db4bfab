"""A driver without Spark, in the place of spark-submit: ``driver.py --conf … APPLICATION CHECKPOINT [BATCH_S]``.

It plans each batch exclusively, as Spark does, and ends with 1 when the name of its next entry is taken. An application
named ``bad`` commits nothing.
"""

from __future__ import annotations

import sys
import time

from airflow_provider_ckpt.storage.store import Store
from tests.running.simulated import Driver


def main() -> int:
    application, location, *more = sys.argv[3:]
    driver = Driver(Store.open(location), float(more[0]) if more else 0.2, commits="bad" not in application)
    driver.begin(time.monotonic())
    while not driver.has_died:
        driver.go_on(time.monotonic())
        time.sleep(0.02)
    return 1


if __name__ == "__main__":
    sys.exit(main())
