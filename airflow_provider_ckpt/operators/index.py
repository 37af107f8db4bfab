"""The operator that writes the index of a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet import DEPTH, THREADS
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, require_flags
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.hooks.query_file import configured_file, read_file
from airflow_provider_ckpt.lineage.page_link import CheckpointsLink
from airflow_provider_ckpt.lineage.task import CheckpointTask
from airflow_provider_ckpt.operators.base import texts_of
from airflow_provider_ckpt.untrusted.secrets import scrub
from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import IndexResultDocument
    from airflow_provider_ckpt.fleet.pipeline import SeenPipeline
    from airflow_provider_ckpt.fleet.read_positions import FleetPositions
    from airflow_provider_ckpt.lineage.datasets import Named
    from airflow_provider_ckpt.query.deploy import DeploySpec
    from airflow_provider_ckpt.query.query_file import QueryFile


class CheckpointIndexOperator(CheckpointTask, BaseOperator):
    """Checks every checkpoint under some roots, and writes the index that the Checkpoints page shows.

    A checkpoint that cannot be read is a row of the index, and no failure. Returns how many rows there are, how many
    have errors or could not be read, and whether a newer index was there, so that nothing was written.

    :param checkpoint_roots: Where to search for checkpoints: fsspec URLs, or paths relative to the base location of the
        connection; a list, or one text.
    :param index: Directory of the index, which has nothing else.
    :param backup_roots: Roots of backups: the index says when the newest backup of each query was made.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param query: Names of queries, of flows or of pipelines in the query file, a list or one text, in place of
        ``checkpoint_roots`` and ``backup_roots``. Without them and without roots the index is of every query of the
        file, and of every flow of its pipelines that has run. Of queries below given roots it says what the file
        declares as well.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``. It is read when the task runs.
    :param deploys: Declarations of queries that no query file has, by location, with the keys that it would have: with
        ``sources`` the index says how far each is behind.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param deep: Also read all state chains, source logs and checksum files; by default only the two logs are read.
    :param depth: Levels of directories below a root that are searched.
    :param threads: How many checkpoints are read at the same time.
    """

    needs = ()
    does = "index"
    has_done = "The index was written of"
    operator_extra_links = (CheckpointsLink(),)
    template_fields: Sequence[str] = (
        *("checkpoint_roots", "index", "backup_roots", "checkpoint_conn_id", "deploys", "query", "query_file"),
    )
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        checkpoint_roots: str | Sequence[str] | None = None,
        index: str,
        backup_roots: str | Sequence[str] = (),
        checkpoint_conn_id: str | None = None,
        query: str | Sequence[str] | None = None,
        query_file: str | None = None,
        deploys: Mapping[str, Mapping[str, Any]] | None = None,
        kafka_conn_id: str | None = None,
        deep: bool = False,
        depth: int = DEPTH,
        threads: int = THREADS,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = ()  # any number of them, which a page of its own shows
        self.checkpoint_roots = checkpoint_roots
        self.index = index
        self.backup_roots = backup_roots
        self.checkpoint_conn_id = checkpoint_conn_id
        self.query = query
        self.query_file = query_file
        self.deploys = deploys
        self.kafka_conn_id = kafka_conn_id
        self.deep = deep
        self.depth = depth
        self.threads = threads

    def declare_query(self) -> None:
        """Find the queries that are named, or all, and set the roots where none are given. Raises CheckpointError."""
        names = texts_of("query", self.query)
        if not names and not is_nothing(self.query):
            raise CheckpointError("query is a list without a name; leave it out for all queries of the file")
        if not names and not (self.query_file or configured_file()):
            return
        file, is_searched = read_file(self.query_file), not is_nothing(self.checkpoint_roots)
        if names and is_searched:
            raise CheckpointError("checkpoint_roots is in place of query; give one of them")
        chosen = [name for name in names or file.queries if name not in file.pipelines]
        file, absent = self.with_flows(file, chosen), set[str]()
        for pipeline in [name for name in file.pipelines if name in names or not (names or is_searched)]:
            file, seen = self._read_pipeline(file, pipeline)
            chosen += seen.names
            absent |= {name for name, flow in seen.names.items() if not flow.is_there}
        self.declared_file = file
        queries = self.declared_queries = [file.named(name) for name in dict.fromkeys(chosen)]
        if not is_searched:
            roots = [query.checkpoint for query in queries if query.name not in absent]
            self._set("checkpoint_roots", roots, file.place)
            self._set("backup_roots", sorted({query.backups for query in queries if query.backups}), file.place)
        self._set("checkpoint_conn_id", file.storage.conn_id, file.place)
        self.__dict__.pop("hook", None)

    def _read_pipeline(self, file: QueryFile, name: str) -> tuple[QueryFile, SeenPipeline]:
        """A pipeline, and the query file with its flows. Raises CheckpointError."""
        from airflow_provider_ckpt.fleet.pipeline import with_flows  # what no file without one needs
        from airflow_provider_ckpt.fleet.read_pipeline import read_pipeline

        try:
            seen = read_pipeline(file, name, self.opened(file))
            return with_flows(file, seen), seen
        except ValueError as error:
            raise CheckpointError(str(error)) from None

    def execute(self, context: Any) -> IndexResultDocument:
        """Find, judge, write. Raises AirflowFailException when a root is not there, or is no location."""
        from airflow_provider_ckpt.fleet.find import find_checkpoints
        from airflow_provider_ckpt.fleet.find_twins import find_twins
        from airflow_provider_ckpt.fleet.index import left_out_text
        from airflow_provider_ckpt.fleet.judge import judge_checkpoints
        from airflow_provider_ckpt.fleet.write_index import IndexWriter

        with self.running(context):
            require_flags(self, "deep")
            hook = self.hook
            roots = [hook.store(root) for root in texts_of("checkpoint_roots", self.checkpoint_roots)]
            if not roots or not self.index:
                raise CheckpointError("checkpoint_roots and index must name a location each; nothing was done.")
            backups = [hook.store(root) for root in texts_of("backup_roots", self.backup_roots)]
            writer = IndexWriter(hook.store(self.index), roots, backups, self.declared_file)
            found = find_checkpoints(roots, depth=self.depth, threads=self.threads)
            positions = self._positions(hook)
            judged = judge_checkpoints(found, deep=self.deep, threads=self.threads, positions=positions)
            rows = list(writer.taking(judged))
            twins = find_twins(rows, hook.store, None if positions is None else positions.sink_of)
            writer.take_again(twins.values())
            worst = [twins.get(row.location, row).worst for row in rows]
            index = writer.write()
        written = "a newer one is there already" if index is None else f"{len(index.rows)} rows"
        self.log.info("Index of the fleet in %s: %s", visible(scrub(self.index)), written)
        if writer.left_out:
            self.log.warning("%s", left_out_text(writer.left_out))
        result: IndexResultDocument = {
            "format_version": FORMAT_VERSION,
            "index": self.index,
            "rows": len(worst),
            "errors": worst.count("error"),
            "written": index is not None,
            "left_out": writer.left_out,
        }
        return self.tell(context, result)

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """Nothing: a root is no dataset, and a fleet has too many checkpoints."""
        return iter(())

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The index."""
        from airflow_provider_ckpt.lineage.datasets import Named, place

        if (url := self.hook.known_url(self.index)) is not None:
            yield Named(*place(url), "FILE", "ckpt", "json", change="OVERWRITE" if told.get("written") else "")

    def _positions(self, hook: CheckpointHook) -> FleetPositions | None:
        """Make the reader of source positions; None when no source is declared. Raises CheckpointError."""
        from airflow_provider_ckpt.fleet.read_positions import FleetPositions
        from airflow_provider_ckpt.query.deploy import Deploys
        from airflow_provider_ckpt.query.paths import plain_place

        declared = {plain_place(query.checkpoint): query.deploy for query in self.declared_queries}
        own = {**declared, **self._given_deploys(hook)}
        if not own:
            return None
        ages = any(query.alert.behind_ms is not None for query in self.declared_queries)
        config, configs = hook.kafka_config(self.kafka_conn_id), hook.kafka_configs(self.kafka_conn_id)
        return FleetPositions(Deploys(own), hook.store, config, now_ms(), ages=ages, configs=configs)

    def _given_deploys(self, hook: CheckpointHook) -> dict[str, DeploySpec]:
        """The deploys that the task is given, by place, as the query file would have them. Raises CheckpointError."""
        from airflow_provider_ckpt.query.deploy import DeploySpec, declare
        from airflow_provider_ckpt.query.paths import plain_place

        given = self.deploys or {}
        try:
            for at, said in given.items():
                if not isinstance(said, Mapping):
                    raise TypeError(f"they have {at!r:.100}, which is not a mapping such as {{'sources': ['kafka']}}")
            return {plain_place(hook.url(at)): declare(DeploySpec(), said) for at, said in given.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise CheckpointError(f"deploys: {error}") from None
