"""SQL over the rows of a history table: one statement a table, in the order in which they build up.

The rows are those of :data:`~airflow_provider_ckpt.batches.columns.BATCHES`, in a view called ``history``; a second
one, ``operators``, has ``location`` and ``operators``, the number of stateful operators, null where nobody knows. Times
are timestamps in UTC, durations end in ``_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Spark had no checkpoints before, 2014-01-01: a batch that was planned earlier has a wrong time. Epoch milliseconds.
EARLIEST_MS = 1_388_534_400_000
#: Seconds that a point of a chart may stand for.
_WINDOWS_S = (1, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400)
#: About so many points does a chart have.
_POINTS = 60


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a storage, and how often Spark asks it. The defaults are those of S3, and of Spark's S3A by rename.

    Args:
        write_usd: US dollars for a million requests that write or list.
        read_usd: The same for those that read.
        writes_a_file: Requests that write or list, for one file of a checkpoint: written, copied, and asked for.
        reads_a_file: Requests that read, for one file.
    """

    write_usd: float = 5.0
    read_usd: float = 0.4
    writes_a_file: int = 4
    reads_a_file: int = 4

    @property
    def a_file_usd(self) -> float:
        """US dollars for one file that Spark writes into a checkpoint."""
        return (self.writes_a_file * self.write_usd + self.reads_a_file * self.read_usd) / 1e6


@dataclass(frozen=True, slots=True)
class Measure:
    """Measures by which the history table is judged.

    Args:
        now_ms: When it is judged, epoch milliseconds.
        polled_ms: Every checkpoint has been polled since then, and what was committed before is in the table. A query
            is silent up to this moment, and not up to now: to read a large fleet takes longer than a stall.
        window_s: Seconds that one row of throughput and delay covers.
        tiny: A batch that read so much or less, and something, is tiny.
        stall_times: A query has stalled when it took so many times as long as usual between two commits,
        stall_ms: and longer than this, milliseconds.
        prices: Prices of requests.
    """

    now_ms: int
    polled_ms: int
    window_s: int = 3_600
    tiny: int = 100
    stall_times: int = 10
    stall_ms: int = 300_000
    prices: Prices = field(default_factory=Prices)


def window_for(span_ms: int) -> int:
    """Seconds of a window, so that a history table of this length has some sixty of them."""
    return next((seconds for seconds in _WINDOWS_S if seconds * 1_000 * _POINTS >= span_ms), _WINDOWS_S[-1])


#: Views that the tables are made of.
VIEWS: Mapping[str, str] = {
    # A stream that begins with a new checkpoint reads again: a commit is known by its time, whatever the timeline. A
    # time that no driver has had (a foreign file, a clock that was not set) would stretch every chart of the fleet.
    "source_rows": """
        SELECT * FROM (
          SELECT * EXCEPT (batch_time),
            CASE WHEN batch_time NOT BETWEEN timestamp_millis({earliest_ms}) AND timestamp_millis({now_ms} + 86400000)
              THEN committed_at ELSE batch_time END AS batch_time,
            row_number() OVER (PARTITION BY location, batch_id, source_id, committed_at ORDER BY timeline) AS nth
          FROM history)
        WHERE nth = 1""",
    "batches": """
        SELECT location, timeline, batch_id, first(query_id) AS query_id, first(batch_time) AS batch_time,
          committed_at, first(watermark) AS watermark, first(confs) AS confs,
          first(confs_digest) AS confs_digest, first(control) AS control, first(offset_log_version) AS log_version,
          try_sum(CASE WHEN advanced >= 0 THEN advanced END) AS advanced, first(problem) AS problem,
          bool_and(coalesce(advanced = 0, start_offset = end_offset, false)) AS is_empty,
          sum(length(end_offset)) + first(length(to_json(confs))) AS bytes
        FROM source_rows WHERE batch_id IS NOT NULL GROUP BY location, timeline, batch_id, committed_at""",
    # A reset rewrites the entry of the newest committed batch: it was read before, or it goes back.
    "moves": """
        SELECT location, batch_id, source_id, batch_time AS at, previous_end AS `from`, start_offset AS `to`,
          false AS goes_back
        FROM (SELECT *, lag(end_offset) OVER by_source AS previous_end, lag(batch_id) OVER by_source AS previous_batch,
            lag(timeline) OVER by_source AS previous_timeline
          FROM source_rows WHERE batch_time IS NOT NULL
          WINDOW by_source AS (PARTITION BY location, source_id ORDER BY committed_at, timeline, batch_id))
        WHERE start_offset <> previous_end AND previous_batch = batch_id - 1 AND previous_timeline <=> timeline
        UNION ALL
        SELECT location, batch_id, source_id, batch_time, start_offset, end_offset, true
        FROM source_rows WHERE advanced < 0 AND batch_time IS NOT NULL""",
    "steps": """
        SELECT *, unix_millis(committed_at) - unix_millis(batch_time) AS delay_ms,
          unix_millis(committed_at) - unix_millis(lag(committed_at) OVER by_batch) AS interval_ms,
          lag(committed_at) OVER by_batch AS previous_commit,
          lag(batch_id) OVER by_batch AS previous_batch, lag(timeline) OVER by_batch AS previous_timeline,
          lag(confs) OVER by_batch AS previous_confs, lag(confs_digest) OVER by_batch AS previous_digest,
          batch_id > lag(batch_id) OVER by_batch AND timeline <=> lag(timeline) OVER by_batch
            AND query_id <=> lag(query_id) OVER by_batch AS continues,
          lag(query_id) OVER by_batch AS previous_query_id, lag(log_version) OVER by_batch AS previous_log_version
        FROM batches WHERE batch_time IS NOT NULL
        WINDOW by_batch AS (PARTITION BY location ORDER BY committed_at, timeline, batch_id)""",
    "rhythms": """
        SELECT location, percentile_approx(interval_ms, 0.5) AS usual_ms, max(committed_at) AS last_commit,
          max_by(batch_id, committed_at) AS last_batch
        FROM steps GROUP BY location""",
    "sizes": """
        SELECT location, max_by(query_id, struct(timeline, batch_id)) AS query_id, operators,
          CAST(try_cast(max_by(confs['spark.sql.shuffle.partitions'], struct(timeline, batch_id)) AS INT) AS BIGINT)
            AS state_partitions,
          avg(bytes) AS bytes_a_batch
        FROM batches LEFT JOIN operators USING (location) WHERE confs IS NOT NULL GROUP BY location, operators""",
}

#: The tables by name. Later ones are made of earlier ones.
TABLES: Mapping[str, str] = {
    "throughput": """
        SELECT location, source_id, source_type, unit, w.start AS window_start, count(*) AS batches,
          try_sum(advanced) AS advanced, try_sum(advanced) / {window_s} AS per_second
        FROM (SELECT * EXCEPT (advanced), CASE WHEN advanced >= 0 THEN advanced END AS advanced,
            window(batch_time, '{window_s} seconds') AS w
          FROM source_rows WHERE batch_time IS NOT NULL)
        GROUP BY location, source_id, source_type, unit, w.start""",
    "delay": """
        SELECT location, w.start AS window_start, count(*) AS batches, percentile_approx(delay_ms, 0.5) AS p50_ms,
          percentile_approx(delay_ms, 0.95) AS p95_ms, max(delay_ms) AS max_ms
        FROM (SELECT *, window(batch_time, '{window_s} seconds') AS w FROM steps)
        GROUP BY location, w.start""",
    "gaps": """
        SELECT location, timeline, before + 1 AS first_batch, batch_id - 1 AS last_batch, batch_time AS at,
          'not in the log' AS reason
        FROM (SELECT *, lag(batch_id) OVER (PARTITION BY location, timeline ORDER BY batch_id) AS before FROM batches)
        WHERE batch_id - 1 > before
        UNION ALL
        SELECT location, timeline, min(batch_id), max(batch_id), max(near), CASE reason WHEN 'purged'
          THEN 'purged before they were read' ELSE 'deleted with the checkpoint before they were read' END
        FROM (
          SELECT location, timeline, batch_id, near, split(problem, ' ')[0] AS reason,
            batch_id - row_number() OVER (PARTITION BY location, timeline ORDER BY batch_id) AS run
          FROM (SELECT *, coalesce(
              min(batch_time) OVER (PARTITION BY location, timeline ORDER BY batch_id DESC),
              max(batch_time) OVER (PARTITION BY location, timeline ORDER BY batch_id)) AS near
            FROM batches)
          WHERE problem LIKE 'purged%' OR problem LIKE 'deleted%')
        GROUP BY location, timeline, reason, run""",
    # What was committed between two batches, and was rolled back or purged before anybody read it, is not known here.
    "stalls": """
        SELECT location, previous_batch AS after_batch, previous_commit AS since, committed_at AS until,
          interval_ms AS lasted_ms, usual_ms, delay_ms > interval_ms / 2 AS in_a_batch
        FROM steps JOIN rhythms USING (location)
        WHERE interval_ms > greatest({stall_times} * usual_ms, {stall_ms}) AND continues AND NOT EXISTS (
          SELECT 1 FROM gaps WHERE gaps.location = steps.location AND gaps.timeline <=> steps.timeline
            AND gaps.reason <> 'not in the log'
            AND gaps.first_batch > steps.previous_batch AND gaps.last_batch < steps.batch_id)
        UNION ALL
        SELECT location, last_batch, last_commit, NULL, {polled_ms} - unix_millis(last_commit), usual_ms, NULL
        FROM rhythms
        WHERE {polled_ms} - unix_millis(last_commit) > greatest({stall_times} * coalesce(usual_ms, 0), {stall_ms})""",
    "conf_changes": """
        SELECT location, timeline, batch_id, batch_time AS at, key, previous_confs[key] AS `from`, confs[key] AS `to`
        FROM steps LATERAL VIEW explode(array_union(map_keys(previous_confs), map_keys(confs))) AS key
        WHERE confs_digest <> previous_digest AND NOT (previous_confs[key] <=> confs[key])""",
    "watermark_lag": """
        SELECT location, w.start AS window_start, max(lag_ms) AS max_ms, max_by(lag_ms, batch_time) AS last_ms
        FROM (SELECT location, batch_time, window(batch_time, '{window_s} seconds') AS w,
          unix_millis(batch_time) - unix_millis(watermark) AS lag_ms FROM steps WHERE watermark IS NOT NULL)
        GROUP BY location, w.start""",
    "restarts": """
        SELECT location, timeline, batch_id, batch_time AS at, previous_batch, interval_ms,
          CASE WHEN query_id <> previous_query_id THEN 'new query'
            WHEN batch_id <= previous_batch THEN 'rolled back'
            WHEN timeline > previous_timeline THEN 'restored'
            WHEN log_version <> previous_log_version THEN 'other version'
            WHEN control IS NOT NULL THEN 'repartitioned'
            ELSE 'other confs' END AS what
        FROM steps
        WHERE timeline > previous_timeline OR batch_id <= previous_batch OR query_id <> previous_query_id
          OR confs_digest <> previous_digest OR log_version <> previous_log_version OR control IS NOT NULL""",
    "empty_batches": """
        SELECT location, batches, empty, tiny, empty / batches AS empty_share, tiny / batches AS tiny_share
        FROM (SELECT location, count(*) AS batches, count_if(is_empty) AS empty,
            count_if(NOT is_empty AND advanced <= {tiny}) AS tiny
          FROM batches WHERE batch_time IS NOT NULL GROUP BY location)""",
    "cost": """
        SELECT *, CASE change WHEN 'noDataMicroBatches' THEN 'spark.sql.streaming.noDataMicroBatches.enabled = false'
            WHEN 'minute' THEN 'trigger(processingTime="1 minute")'
            WHEN 'partitions' THEN 'spark.sql.shuffle.partitions, with a new checkpoint' END AS conf,
          usd_a_day * CASE change WHEN 'noDataMicroBatches' THEN empty_share
            WHEN 'minute' THEN 1 - usual_ms / 60000
            WHEN 'partitions' THEN operators * (state_partitions - 10) / files_a_batch END AS saves_usd_a_day
        FROM (
          SELECT *, batches_a_day * files_a_batch * {requests_a_file} AS requests_a_day,
            batches_a_day * files_a_batch * {a_file_usd} AS usd_a_day, batches_a_day * bytes_a_batch AS log_bytes_a_day,
            CASE WHEN empty_share > 0.5 AND operators > 0 THEN 'noDataMicroBatches'
              WHEN usual_ms < 30000 THEN 'minute'
              WHEN operators > 0 AND state_partitions > 10 AND tiny_share > 0.5 THEN 'partitions' END AS change
          FROM (
            SELECT location, operators, state_partitions, usual_ms, empty_share, tiny_share, bytes_a_batch,
              86400000 / greatest(usual_ms, 1) AS batches_a_day,
              2 + coalesce(operators * state_partitions, 0) AS files_a_batch
            FROM sizes JOIN rhythms USING (location) JOIN empty_batches USING (location)
            WHERE usual_ms IS NOT NULL))""",
    "queries": """
        SELECT location, sizes.query_id, first_time, last_commit, batches, timelines, usual_ms, p95_ms, advanced,
          empty_batches.empty_share, empty_batches.tiny_share, watermark_lag_ms, requests_a_day, usd_a_day, conf,
          saves_usd_a_day, greatest(0, {polled_ms} - unix_millis(last_commit)) AS silent_ms
        FROM (SELECT location, min(batch_time) AS first_time, count(*) AS batches_read,
            count(DISTINCT timeline) AS timelines, percentile_approx(delay_ms, 0.95) AS p95_ms,
            try_sum(advanced) AS advanced,
            max_by(unix_millis(batch_time) - unix_millis(watermark), struct(timeline, batch_id)) AS watermark_lag_ms
          FROM steps GROUP BY location)
        JOIN rhythms USING (location) JOIN empty_batches USING (location) JOIN sizes USING (location)
        LEFT JOIN (SELECT location, requests_a_day, usd_a_day, conf, saves_usd_a_day FROM cost) USING (location)""",
    "events": """
        SELECT location, since AS at, 'stall' AS kind, CASE
            WHEN until IS NULL THEN concat('Nothing was committed since batch ', after_batch, ', for ', {lasted})
            WHEN in_a_batch THEN concat('The batch after ', after_batch, ' took ', {lasted})
            ELSE concat('Nothing was committed for ', {lasted}, ' after batch ', after_batch)
          END || coalesce('; usual is ' || {usual}, '') || '.' AS what
        FROM stalls
        UNION ALL
        SELECT location, at, 'gap', concat('Batches ', first_batch, ' to ', last_batch, ' are missing: ', reason, '.')
        FROM gaps
        UNION ALL
        SELECT location, at, 'conf', concat(key, ' changed from ', coalesce(`from`, 'unset'), ' to ',
          coalesce(`to`, 'unset'), ' with batch ', batch_id, '.')
        FROM conf_changes
        UNION ALL
        SELECT location, at, what, CASE what
            WHEN 'rolled back' THEN concat('The log went back from batch ', previous_batch, '; batch ', batch_id,
              ' was the first to run again', {later}, '.')
            WHEN 'new query' THEN concat('Another query began here with batch ', batch_id, {later}, '.')
            WHEN 'restored' THEN concat('The log was written anew; batch ', batch_id, ' follows ', previous_batch,
              {later}, '.')
            WHEN 'repartitioned' THEN concat('Batch ', batch_id, ' changed the number of state partitions.')
            ELSE concat('Another version of Spark writes the log from batch ', batch_id, ' on.') END
        FROM restarts WHERE what <> 'other confs'
        UNION ALL
        SELECT location, at, 'moved', CASE WHEN goes_back THEN concat('The position of source ', source_id,
            ' goes back with the entry of batch ', batch_id, ', to ', {to}, ': a reset, or input that was made anew.')
          ELSE concat('The position of source ', source_id, ' was moved before batch ', batch_id, ', from ', {from},
            ' to ', {to}, '.') END
        FROM moves""",
}


def statement(sql: str, measure: Measure) -> str:
    """A statement with the numbers of a measure in it."""
    return sql.format(
        now_ms=measure.now_ms,
        polled_ms=measure.polled_ms,
        earliest_ms=EARLIEST_MS,
        window_s=measure.window_s,
        tiny=measure.tiny,
        stall_times=measure.stall_times,
        stall_ms=measure.stall_ms,
        a_file_usd=f"CAST({measure.prices.a_file_usd:.12f} AS DOUBLE)",
        requests_a_file=measure.prices.writes_a_file + measure.prices.reads_a_file,
        lasted="format_number(lasted_ms / 1000, 0) || ' s'",
        later="coalesce(', ' || format_number(interval_ms / 1000, 0) || ' s after the last commit that was read', '')",
        usual="format_number(usual_ms / 1000, 1) || ' s'",
        **{name: f"if(length(`{name}`) > 100, left(`{name}`, 99) || '…', `{name}`)" for name in ("from", "to")},
    )
