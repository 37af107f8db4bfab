"""Which of the processes of a run gets which test file: what one has started, the other need not start as well.

A Spark takes seconds to start and runs slowly at first, and so does the process that runs Airflow's commands. So one
process is given the files with Spark and another one those with Airflow; what needs neither is for the third, which uses
what the first two leave of the machine while they wait, and for these at last. When nothing else is left, a file goes to
whoever has no work.
"""

from __future__ import annotations

import re
from functools import cache

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.tiers import SHARED, SHARED_FIXTURES, TESTS

#: A function of a test file with such a parameter.
ASKED = re.compile(rf"\bdef \w+\([^)]*\b({'|'.join(SHARED_FIXTURES)})\b")


class FilesByService(LoadFileScheduling):
    """Files one by one, as ``--dist loadfile`` gives them; first those of the service that a process has begun with."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        services, number = [*SHARED], self.nodes.index(node)
        own = services[number] if number < len(services) else None
        rank = {own: 0, None: 1} if own else {None: 0}
        file = min(self.workqueue, key=lambda file: rank.get(service_of(file), 2))
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)


@cache
def service_of(file: str) -> str | None:
    """What the tests of a file start; None when others need not care.

    Args:
        file: Its path below the root of the project.
    """
    path = TESTS.parent / file
    for service, names in SHARED.items():
        if any(path.is_relative_to(TESTS / name) for name in names):
            return service
    asked = ASKED.search(path.read_text())
    return asked and SHARED_FIXTURES[asked[1]]
