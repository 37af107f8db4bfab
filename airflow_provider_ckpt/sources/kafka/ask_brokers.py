"""Asking brokers for several queries together: each topic once, on one connection, in as few requests as they fit in.

When a broker refuses a question about the topics of several queries, each query is asked for on its own, so that only
the one without a right to its topics gets no answer. A broker that does not answer, or that refuses the credentials, is
asked once; every query that needs it gets its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition, Retention, together

_NOTHING = Extent({}, {}, {})


class Brokers:
    """The brokers of some queries, and what they have said.

    An answer is kept as long as this object: make another one to ask anew.

    Args:
        kafka_config: Options of the clients, as ``KafkaBroker`` takes it.
        connected: Connections that there are already, by their servers.
        configs: What is declared of the clients of some servers, by these; ``kafka_config`` wins over it.
    """

    def __init__(
        self,
        kafka_config: Mapping[str, Any],
        connected: Mapping[str, KafkaBroker] | None = None,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._config = kafka_config
        self._configs = configs or {}
        self._brokers: dict[str, KafkaBroker] = dict(connected or {})
        self._topics: dict[str, dict[str, Extent]] = {}
        self._ages: dict[str, dict[tuple[Partition, int], int | None]] = {}
        self._retention: dict[str, dict[str, Retention]] = {}
        self._firsts: dict[str, dict[Partition, int | None]] = {}
        self._silent: dict[str, StoreError] = {}

    def at(self, servers: str) -> KafkaBroker:
        """The connection to some servers. Raises StoreError as :class:`KafkaBroker`."""
        if servers not in self._brokers:
            self._brokers[servers] = KafkaBroker(servers, {**self._configs.get(servers, {}), **self._config})
        return self._brokers[servers]

    @property
    def connections(self) -> Mapping[str, KafkaBroker]:
        """The connections by their servers, for another object that asks anew."""
        return dict(self._brokers)

    @property
    def requests(self) -> int:
        """Calls of ListOffsets that were made; each is one request to every broker that leads one of the partitions."""
        return sum(broker.requests for broker in self._brokers.values())

    def ask(self, wanted: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Ask for the topics of several queries, given by servers; raises nothing, :meth:`extent` does."""
        together: dict[str, set[str]] = {}
        for servers, topics in wanted:
            together.setdefault(servers, set()).update(topics)
        for servers, topics in together.items():
            try:
                self.extent(servers, topics)
            except StoreError as error:
                self._keep(servers, error)

    def extent(self, servers: str, topics: Iterable[str]) -> Extent:
        """Where topics begin and end; asked for where that was not done.

        A topic that does not exist is left out. Raises StoreUnavailableError when the broker does not answer, and
        StoreError when it refuses.
        """
        wanted, said = sorted(set(topics)), self._topics.setdefault(servers, {})
        if missing := [name for name in wanted if name not in said]:
            self._require_answering(servers)
            found = read_extent(self.at(servers), missing).by_topic()
            said |= {name: found.get(name, _NOTHING) for name in missing}
        return together(said[name] for name in wanted)

    def ask_ages(self, wanted: Iterable[tuple[str, Mapping[Partition, int]]], now_ms: int) -> None:
        """Ask how old the first unread records of several queries are; raises nothing, :meth:`ages` does.

        Args:
            wanted: By servers the first unread offsets.
            now_ms: Now, epoch milliseconds.
        """
        together: dict[str, set[tuple[Partition, int]]] = {}
        for servers, unread in wanted:
            together.setdefault(servers, set()).update(unread.items())
        for servers, offsets in together.items():
            try:
                for each_once in _layers(offsets):
                    self.ages(servers, each_once, now_ms)
            except StoreError as error:
                self._keep(servers, error)

    def ages(self, servers: str, unread: Mapping[Partition, int], now_ms: int) -> dict[Partition, int | None]:
        """As :func:`~airflow_provider_ckpt.sources.kafka.ask_brokers.find_ages`, of which each answer is kept."""
        known = self._ages.setdefault(servers, {})
        if missing := {at: offset for at, offset in unread.items() if (at, offset) not in known}:
            self._require_answering(servers)
            found = find_ages(self.at(servers), missing, now_ms)
            known |= {(at, missing[at]): age for at, age in found.items()}
        return {at: known[at, offset] for at, offset in unread.items()}

    def firsts(self, servers: str, partitions: Iterable[Partition]) -> dict[Partition, int | None]:
        """The time of the first record that each partition still has, epoch milliseconds; None where none has one.

        All topics that were read before are asked for together. Raises as :meth:`extent`.
        """
        wanted, known = set(partitions), self._firsts.setdefault(servers, {})
        if wanted - known.keys():
            self._require_answering(servers)
            read = {at for extent in self._topics.get(servers, {}).values() for at in extent.partitions}
            missing = (wanted | read) - known.keys()
            said: dict[Partition, int] = {}
            self.at(servers).first_since(dict.fromkeys(sorted(missing), 0), said)
            known |= {at: said.get(at) for at in missing}
        return {at: known[at] for at in wanted}

    def retention(self, servers: str, topics: Iterable[str]) -> dict[str, Retention]:
        """How long topics keep their records. Raises as :meth:`extent`."""
        wanted, known = set(topics), self._retention.setdefault(servers, {})
        if missing := wanted - known.keys():
            self._require_answering(servers)
            known |= self.at(servers).retention(missing)
        return {name: known[name] for name in wanted}

    def _keep(self, servers: str, error: StoreError) -> None:
        """Remember who answers nobody. Otherwise each query is asked for on its own."""
        if error.retryable or (servers in self._brokers and self._brokers[servers].lets_nobody_in):
            self._silent[servers] = error

    def _require_answering(self, servers: str) -> None:
        if error := self._silent.get(servers):
            raise type(error)(error.message, location=error.location, hint=error.hint)


def _layers(unread: Iterable[tuple[Partition, int]]) -> list[dict[Partition, int]]:
    """Offsets as mappings, as few as there are offsets of one partition: a request asks once about a partition."""
    layers: list[dict[Partition, int]] = []
    for at, offset in sorted(unread):
        layer = next((layer for layer in layers if at not in layer), None)
        if layer is None:
            layers.append(layer := {})
        layer[at] = offset
    return layers


#: The shortest age that is told from none, milliseconds, and the factor between two that are told apart.
SHORTEST_MS, STEP = 1_000, 1.05


# --- ages -------------------------------------------------------------------------------------------------------------
# A broker says at which offset a time begins, and not the time of an offset. So the time of the first unread record is
# searched for: a time is not later than that of some record up to and including the first unread one exactly when the
# first record at that time is not after it. Where timestamps rise within a partition, as with
# ``message.timestamp.type=LogAppendTime``, that is the timestamp of the first unread record; where producers are out of
# order, it is the newest timestamp up to that record, and the query may be further behind.


def find_ages(broker: KafkaBroker, unread: Mapping[Partition, int], now_ms: int) -> dict[Partition, int | None]:
    """The age of the first unread record of each partition, milliseconds, rounded up by at most 5 %.

    Args:
        broker: The broker; it is asked nine times, or ten, about each partition.
        unread: The first unread offset of each partition that has unread records.
        now_ms: Now, epoch milliseconds.

    Returns:
        None for a partition whose records have no timestamps.
    """
    ages = _ages(now_ms)
    lowest, highest = dict.fromkeys(unread, 0), dict.fromkeys(unread, len(ages))
    while asked := {at: (lowest[at] + highest[at]) // 2 for at in unread if lowest[at] < highest[at]}:
        found = broker.first_since({at: now_ms - ages[step] for at, step in asked.items()})
        for at, step in asked.items():
            first = found[at]
            if first is not None and first <= unread[at]:  # its unread records begin then, or later
                highest[at] = step
            else:
                lowest[at] = step + 1
    return {at: ages[step] if step < len(ages) else None for at, step in lowest.items()}


def _ages(now_ms: int) -> list[int]:
    """Ages that are told apart, up to one that is as long as time itself."""
    ages = [SHORTEST_MS]
    while ages[-1] < now_ms:
        ages.append(min(now_ms, int(ages[-1] * STEP)))
    return ages
