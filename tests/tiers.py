"""Which tests are those of ``make unit``: all but what needs more than Python, and what takes long."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
#: What a fixture starts, by its name: the marker of every test that uses it.
SERVICES = {
    "spark": "spark",
    "airflow_env": "airflow",
    "s3_server": "s3",
    "s3_store": "s3",
    "s3_down": "s3",
    "kafka": "kafka",
}
#: What is started once a process, and the rooms and files that come to the process that has it (tests/sharing.py), with
#: all files that ask for one of its fixtures.
SHARED = {"spark": ("spark", "differential"), "airflow": ("airflow", "oracle", "plugin", "test_compose.py")}
SHARED_FIXTURES = {"spark": "spark", "kafka": "spark", "airflow_env": "airflow"}
#: Tests with one of these markers are none of ``make unit``; every other one is, and so gets the marker ``unit``.
NOT_UNIT = frozenset({*SERVICES.values(), "sweep", "exhaustive"})
#: What needs Airflow (or greenlet, which it brings), Spark, the client of a broker, a table format or a cloud, or the
#: command itself to be installed;
#: the environment of ``make unit`` has none of them.
NEEDS_MORE = (
    *(
        "airflow",
        "browser",
        "dags",
        "differential",
        "docs",
        "interleavings",
        "lineage",
        "notifications",
        "operators",
        "oracle",
        "contract",
        "plugin",
        "query/test_trigger.py",
        "sensors",
        "spark",
        "test_postgres.py",
        "walk",
        "change/test_bucket.py",
        "test_wheels.py",
        "triggers",
    ),
    *(
        "engines/test_local.py",
        "hooks",
        "cli/changes/test_ask_stopped.py",
        "cli/test_bad_input.py",
        "cli/test_runs.py",
        "cli/test_source_grammar.py",
        "cli/mcp/test_assistant.py",
        "cli/mcp/test_command.py",
        "cli/mcp/test_server.py",
        "cli/positions/test_publish.py",
        "cli/test_waiting.py",
        "untrusted/test_bounds.py",
    ),
    *("graph/test_thirty.py", "graph/test_read_place.py"),
    *("fleet/test_read_positions.py", "batches/test_arrow.py"),
    *(
        f"history_table/test_{name}.py"
        for name in ("compact", "model", "publish", "read", "rewind", "vacuum", "write_rows")
    ),
    *("sinks/test_delta.py", "sinks/test_history.py", "sinks/test_iceberg.py", "sinks/test_rollback.py"),
    "tables/test_iceberg.py",
    *("sources/test_kafkas_own_tool.py", "sources/kafka/test_ask.py", "changes/reset/test_reads_from_there.py"),
    *(
        "sources/delta/test_resolve_goal.py",
        "tables/test_read_restores.py",
        "sources/kafka/test_ask.py",
        "sources/kafka/test_connect.py",
    ),
    *(
        "sources/kafka/test_ask_brokers.py",
        "sources/kafka/test_foresee_batches.py",
        "sources/test_foresee_losses.py",
        "sources/kafka/test_foresee_wait.py",
        "sources/test_real_batches.py",
        "sources/test_real_queries.py",
    ),
    *("sources/delta/test_judge.py", "sources/iceberg/test_judge.py", "sources/iceberg/test_resolve_goal.py"),
    *(
        "sources/kafka/test_translate.py",
        "sources/kafka/test_read_records.py",
        "sources/test_read_lag.py",
        "sources/kafka/test_read_losses.py",
    ),
    *("sources/kafka/test_end.py", "sources/test_kafka_waits.py", "sources/test_tables.py"),
    *("cli/test_kafka_refusals.py", "sources/test_secured_brokers.py", "sources/test_slow_brokers.py"),
    "sources/test_two_brokers.py",
    *("sources/kafka/test_publish.py", "sources/test_round_trip.py"),
    *(
        "changes/reset/test_after_a_reset.py",
        "changes/reset/test_over_http.py",
        "changes/reset/test_healing.py",
        "changes/reset/test_seed_start.py",
    ),
    *("sources/test_declared_tables.py", "blue_green/test_parquet.py", "blue_green/test_require.py"),
    "explain/test_conditions.py",
)
#: What goes through every call, file or byte of something, all of the project, or whole histories: too long for ``make unit``.
SWEEPS = (
    *("backup/test_backup_faults.py", "backup/test_damaged_backups.py", "backup/test_faults.py"),
    *("cli/test_completion.py", "cli/test_edges.py", "cli/test_hostile_bounds.py", "cli/test_hostile_text.py"),
    *("cli/test_option_names.py", "test_house.py", "test_near.py"),
    "codec/test_properties.py",
    *("change/test_damaged_records.py", "change/test_faults.py", "checkpoint/test_unknown_files.py"),
    "checkpoint/test_contents.py",
    *(
        "change/test_second_operator.py",
        "change/test_second_writer.py",
        "checks/test_read_state_files.py",
        "checks/test_long_source_logs.py",
    ),
    *("changes/rollback/test_read_backup.py", "changes/rollback/test_model.py", "changes/rollback/test_repairing.py"),
    *("changes/rollback/test_run_again.py", "untrusted/test_hostile.py", "waiting/test_histories.py"),
    *("changes/salvage/test_put_in_place.py", "changes/salvage/test_tears.py"),
    *("changes/fence/test_sleeping_writer.py", "explain/test_matrix.py"),
)
