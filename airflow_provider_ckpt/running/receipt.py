"""What was done with the runs of a query, as values: the receipt of a stop, and that of a start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from airflow_provider_ckpt.documents.as_document import Documented
from airflow_provider_ckpt.engines.run import Presence, Run


@dataclass(frozen=True, slots=True)
class StoppedQuery(Documented):
    """Where a query has stopped."""

    query: Annotated[str, "name of the query"]
    location: Annotated[str, "URI of its checkpoint"]
    batch_id: Annotated[int | None, "newest committed batch, or null"]
    in_flight: Annotated[int | None, "batch that is planned and not committed, or null"]
    fence: Annotated[str, "plan id of the fence behind that batch, or empty"] = ""
    held: Annotated[bool, "whether the checkpoint is closed until that is taken back"] = False

    @property
    def between_batches(self) -> Annotated[bool, "whether no batch is in flight"]:
        """True if no batch is in flight."""
        return self.in_flight is None


@dataclass(frozen=True, slots=True)
class StopReceipt(Documented):
    """The proof that an application is stopped: the engine has said twice that each run has ended."""

    name: Annotated[str, "the query, or the group of queries of one application"]
    number: Annotated[int, "number of the stop among the starts and stops"]
    queries: Annotated[tuple[StoppedQuery, ...], "its queries"]
    runs: Annotated[tuple[Run, ...], "its runs"]
    disarmed: Annotated[bool, "whether the engine was kept from starting it again"]
    by: Annotated[str, "who has stopped it"]
    stopped_at_ms: Annotated[int, "epoch milliseconds"]

    @property
    def between_batches(self) -> Annotated[bool, "whether no batch of any query is in flight"]:
        """True if no query has a batch in flight."""
        return all(query.between_batches for query in self.queries)


@dataclass(frozen=True, slots=True)
class StartReceipt(Documented):
    """What became of a start."""

    name: Annotated[str, "the query, or the group of queries of one application"]
    number: Annotated[int, "number of the start among the starts and stops"]
    token: Annotated[str, "mark of the run, such as `orders-3`"]
    run: Annotated[Run, "the run"]
    from_batches: Annotated[Mapping[str, int | None], "newest committed batch before it, by query"]
    batches: Annotated[Mapping[str, int | None], "newest committed batch now, by query"]
    committed: Annotated[bool, "whether each query has committed a batch since"]
    by: Annotated[str, "who has started it"]
    at_ms: Annotated[int, "epoch milliseconds"]
    problem: Annotated[str, "why it has failed, or empty"] = ""
    waits_for_data: Annotated[
        bool, "whether it runs and has committed nothing, because all declared sources are read to their ends"
    ] = False

    @property
    def is_good(self) -> bool:
        """True if it has committed, or runs and has nothing to commit."""
        return self.committed or self.waits_for_data


def run_from(value: Mapping[str, Any]) -> Run:
    """The run of a record."""
    return Run(str(value["id"]), Presence(value["presence"]), str(value["native"]), value["generation"], value["ui"])


def stop_receipt_from(value: Mapping[str, Any]) -> StopReceipt:
    """The receipt of a record. Raises KeyError, TypeError or ValueError for what is none."""
    return StopReceipt(
        name=str(value["name"]),
        number=int(value["number"]),
        queries=tuple(
            StoppedQuery(
                query=str(each["query"]),
                location=str(each["location"]),
                batch_id=each["batch_id"],
                in_flight=each["in_flight"],
                fence=str(each["fence"]),
                held=bool(each["held"]),
            )
            for each in value["queries"]
        ),
        runs=tuple(map(run_from, value["runs"])),
        disarmed=bool(value["disarmed"]),
        by=str(value["by"]),
        stopped_at_ms=int(value["stopped_at_ms"]),
    )


def start_receipt_from(value: Mapping[str, Any]) -> StartReceipt:
    """The receipt of a record. Raises KeyError, TypeError or ValueError for what is none."""
    return StartReceipt(
        name=str(value["name"]),
        number=int(value["number"]),
        token=str(value["token"]),
        run=run_from(value["run"]),
        from_batches=dict(value["from_batches"]),
        batches=dict(value["batches"]),
        committed=bool(value["committed"]),
        by=str(value["by"]),
        at_ms=int(value["at_ms"]),
        problem=str(value["problem"]),
        waits_for_data=bool(value.get("waits_for_data", False)),
    )
