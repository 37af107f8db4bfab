"""A cluster of two Kafka brokers, of which the second can be slow, leave and come back."""

from __future__ import annotations

import uuid
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from tests.kafka_lab import PROPERTIES, QUIET, Process, new_cluster_id, until
from tests.ports import free_ports


class Cluster:
    """Two brokers; the first one is the controller, too.

    Attributes:
        bootstrap: Where the first one listens.
        second: Where the second one listens behind `proxy`, the port at which its clients look for it.
    """

    def __init__(self, root: Path) -> None:
        first, second, self.proxy, inner_first, inner_second, controller = free_ports(6)
        self.bootstrap, self.second = f"127.0.0.1:{first}", f"127.0.0.1:{second}"
        cluster_id = new_cluster_id()
        common = {
            **PROPERTIES,
            "inter.broker.listener.name": "INNER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "broker.session.timeout.ms": "3000",
        }
        nodes = {
            1: {
                "listeners": f"PLAINTEXT://{self.bootstrap},INNER://127.0.0.1:{inner_first},"
                f"CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://{self.bootstrap},INNER://127.0.0.1:{inner_first}",
            },
            2: {
                "process.roles": "broker",
                "listeners": f"PLAINTEXT://{self.second},INNER://127.0.0.1:{inner_second}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.proxy},INNER://127.0.0.1:{inner_second}",
            },
        }
        self._processes = []
        for number, own in nodes.items():
            home = root / str(number)
            home.mkdir()
            properties = {**common, **own, "node.id": str(number), "log.dirs": str(home / "logs")}
            self._processes.append(Process(home, cluster_id, properties))
        for process, port in zip(self._processes, (first, second), strict=True):
            process.wait(port)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})

    def wait(self) -> None:
        """Until both are there."""
        until(lambda: len(self.admin.list_topics(timeout=30).brokers) == 2)

    def create(self, partitions: int, copies: int = 1) -> str:
        """A topic whose partitions are led by both brokers in turn, and which one or both of them have."""
        topic = f"orders-{uuid.uuid4().hex[:8]}"
        self.admin.create_topics([NewTopic(topic, partitions, copies)])[topic].result(60)
        until(lambda: set(self.leaders(topic)) <= {1, 2} and len(self.leaders(topic)) == partitions)
        return topic

    def leaders(self, topic: str) -> list[int]:
        """Who leads each partition; -1 where nobody does."""
        return [item.leader for item in self._partitions(topic)]

    def end_second(self, *, suddenly: bool) -> None:
        """End the second broker; without `suddenly` it hands its partitions over first."""
        self._processes[1].end(suddenly=suddenly)

    def start_second(self) -> None:
        """Start the second broker again."""
        self._processes[1].start()
        self._processes[1].wait(int(self.second.rpartition(":")[2]))
        self.wait()

    def stop(self) -> None:
        """End both."""
        for process in reversed(self._processes):
            process.close()

    def _partitions(self, topic: str) -> list[object]:
        found = self.admin.list_topics(topic, timeout=30).topics[topic].partitions
        return [found[number] for number in sorted(found)]
