"""Tables for people of what was found, planned and done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.codec.layout import is_offset_entry, main_name
from airflow_provider_ckpt.report.table import Table, facts, size
from airflow_provider_ckpt.times import duration_text, time_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.backup.catalog import BackupListing
    from airflow_provider_ckpt.backup.manifest import Manifest
    from airflow_provider_ckpt.backup.retention import PrunePlan
    from airflow_provider_ckpt.backup.take import BackupPlan
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.journal import Record
    from airflow_provider_ckpt.changes.restore.rehearse import Rehearsal
    from airflow_provider_ckpt.checks.findings import Finding
    from airflow_provider_ckpt.fleet.row import FleetRow
    from airflow_provider_ckpt.restart.forecast import Forecast
    from airflow_provider_ckpt.sources.kafka.coming import NextBatches
    from airflow_provider_ckpt.sources.kafka.publication import Publication

#: Rows of findings that people are shown; the worst come first, and ``--json`` has all of them.
MOST_ROWS = 1_000


def findings_table(findings: Sequence[Finding]) -> Table:
    """Findings, a row each, up to a thousand; the last row counts the others."""
    rows: list[tuple[Any, ...]] = [
        (finding.code, finding.severity, finding.batch_id, finding.name, sentence(finding.message, finding.advice))
        for finding in findings[:MOST_ROWS]
    ]
    if others := len(findings[MOST_ROWS:]):
        rows.append((None, None, None, None, f"{others:,} more findings; --json lists them all."))
    return Table("Findings", ("code", "severity", "batch", "file", "what and what to do"), tuple(rows))


def fleet_table(rows: Sequence[FleetRow], left_out: Collection[str] = ()) -> Table:
    """A table with a row for each checkpoint, without the codes of findings that are left out."""
    judged, asked = any(row.decision for row in rows), any(row.sources is not None for row in rows)
    columns: tuple[str, ...] = ("checkpoint", "newest batch", "last commit", "worst", "findings")
    if asked:
        columns = (*columns, "unread")
    if judged:
        columns = (*columns, "decision")
    cells = (
        (*_fleet_cells(row, left_out), *((_lag_cell(row),) if asked else ()), *((row.decision,) if judged else ()))
        for row in rows
    )
    return Table("Checkpoints", columns, tuple(cells))


def _lag_cell(row: FleetRow) -> tuple[str, ...] | None:
    """Unread data of all sources, the age of the oldest, and the time at which the first of it may be deleted."""
    from airflow_provider_ckpt.report.lag_tables import unread_text

    sources = row.sources or ()
    ages = [source.age_ms for source in sources if source.age_ms is not None]
    unread = [unread_text(source) for source in sources]
    known = any(text is not None for text in unread)
    shown = (text or f"source {source.source_id} not known" for text, source in zip(unread, sources, strict=True))
    lines = [
        *(shown if known else ()),
        *([f"oldest {duration_text(max(ages))}"] if ages else ()),
        *([] if row.expires_ms is None else [f"expires in {duration_text(row.expires_ms)}"]),
    ]
    return tuple(lines) or None


def _newest(row: FleetRow) -> int | tuple[str, ...] | None:
    """The newest committed batch, and the one that is planned after it."""
    planned, committed = row.latest_planned_batch, row.latest_committed_batch
    if planned is None or planned == committed:
        return committed
    return ("-" if committed is None else str(committed), f"{planned} in flight")


def _last_commit(row: FleetRow) -> str | tuple[str, ...] | None:
    if row.last_commit_age_ms is None:
        return None
    ago = f"{duration_text(row.last_commit_age_ms)} ago"
    return (ago, row.quiet) if row.quiet else ago


def _fleet_cells(row: FleetRow, left_out: Collection[str]) -> tuple[Any, ...]:
    codes = ", ".join(dict.fromkeys(finding.code for finding in row.findings if finding.code not in left_out))
    return (
        row.location,
        _newest(row),
        _last_commit(row),
        row.worst or ("replaced" if row.replaced_by else None),
        row.error
        or (f"replaced by version {row.replaced_by.rpartition('/')[2]}" if row.replaced_by else None)
        or "; ".join(filter(None, (codes, row.lag_error))),
    )


def sentence(message: str, hint: str | None) -> str:
    """A message, made a sentence, and its hint."""
    text = message if message.endswith((".", "!", "?")) else f"{message}."
    return f"{text} {hint}" if hint else text


def headline(location: str, foretold: Forecast) -> str:
    """One line that can be read alone: the decision, what Spark will do, what was not judged."""
    return f"{foretold.decision.upper()} {location}: {foretold.sentence}{not_judged_text(foretold.unknown)}"


def not_judged_text(unknown: Sequence[str]) -> str:
    """Names of what was not judged, as the end of a first line; empty when everything was judged."""
    return f"; not judged: {', '.join(unknown)}" if unknown else ""


def forecast_tables(location: str, foretold: Forecast) -> list[Table]:
    """The decision, the confs that change or were given, the findings."""
    tables = [
        facts(
            location,
            [
                ("decision", foretold.decision),
                ("resumes at batch", foretold.resumes_at_batch),
                ("runs again batch", foretold.reruns_batch),
                ("Spark stops with", foretold.spark_error),
                ("watermark", time_text(foretold.watermark_ms) if foretold.watermark_ms else None),
                *((f"source {name} reads from", text) for name, text in foretold.start_offsets.items()),
                ("not judged", ", ".join(foretold.unknown) or None),
            ],
        )
    ]
    if foretold.next_batches is not None:
        tables += _next_batch_tables(foretold.next_batches)
    changed = tuple(
        (conf.key, conf.deploy_value, conf.log_value, conf.effective, conf.outcome)
        for conf in foretold.confs
        if conf.deploy_value is not None or conf.outcome in ("defaulted", "session")
    )
    if changed:
        columns = ("conf", "deploy", "offset log", "Spark will use", "outcome")
        tables.append(Table("Once-only confs", columns, changed))
    if foretold.findings:
        tables.append(findings_table(foretold.findings))
    return tables


def _next_batch_tables(batches: NextBatches) -> list[Table]:
    """Table of the data that the next batch reads of each source, or why that is not known."""
    known = [(name, item.text, item.ends_text, " ".join(item.notes)) for name, item in batches.coming.items()]
    unknown = [(name, None, None, sentence) for name, sentence in batches.missing.items()]
    rows = tuple(sorted((*known, *unknown), key=lambda row: row[0]))
    return [Table("Next batch", ("source", "reads (rows at most)", "ends at", "notes"), rows)] if rows else []


def plan_tables(plan: Plan, *, most: int = 20) -> list[Table]:
    """The effect on each sink, the warnings, and the steps: the first and last of a long plan, no checksum files."""
    own = {action.name for action in plan.actions if main_name(action.name) == action.name}
    rows: list[tuple[Any, ...]] = [
        (number, action.do, action.place, action.name, action.size)
        for number, action in enumerate(plan.actions, 1)
        if main_name(action.name) not in own or action.name in own
    ]
    hidden = len(plan.actions) - len(rows)
    if len(rows) > most:
        rows = [*rows[: most - 5], ("…", "", "", f"{len(rows) - most} more", ""), *rows[-5:]]
    counted = f"{len(plan.actions)} step{'' if len(plan.actions) == 1 else 's'}"
    title = f"Plan {plan.plan_id}: {plan.called} to {plan.aim}, {counted}"
    about = [("sink effect", plan.sink_effect), ("checkpoint", plan.location)]
    about += [("trigger", plan.trigger)] if plan.trigger else []
    about = [*([("completes", plan.completes)] if plan.completes else []), *about]
    closed = "so that Spark cannot start in between"
    about += [("closed meanwhile", f"{name} is {_held(plan, name)}, {closed}") for name in _guards(plan)]
    tables = [facts(title, [*about, *(("target", note) for note in plan.notes)])]
    if plan.effects:
        effects = tuple((item.sink, item.effect, item.reason, item.remedy or None) for item in plan.effects)
        tables.append(Table("Sinks", ("sink", "effect", "why", "remedy"), effects))
    if plan.warnings:
        tables.append(Table("Warnings", ("",), tuple((warning,) for warning in plan.warnings)))
    if rows:
        steps = f"Steps, without {hidden} on checksum files" if hidden else "Steps"
        tables.append(Table(steps, ("step", "do", "where", "object", "bytes"), tuple(rows)))
    return tables


def _held(plan: Plan, name: str) -> str:
    """Words for an entry that is handled around the other steps of a plan."""
    closes = any(action.do == "close" and action.name == name for action in plan.actions)
    return "written first and removed last" if closes else "removed first and put back last"


def _guards(plan: Plan) -> list[str]:
    """Offset entries that a plan deletes and puts back after other steps."""
    at: dict[str, list[int]] = {}
    for number, action in enumerate(plan.actions):
        if is_offset_entry(action.name):
            at.setdefault(action.name, []).append(number)
    return [
        name
        for name, steps in at.items()
        if any(main_name(action.name) != name for action in plan.actions[steps[0] : steps[-1]])
    ]


def history_table(location: str, changes: Sequence[Record]) -> Table:
    """Table of the changes of a checkpoint, a row for each."""
    rows = tuple(
        (
            record.plan.plan_id,
            record.plan.kind,
            record.from_batch,
            record.plan.batch_id if record.plan.kind != "undo" else f"undoes {record.plan.undoes}",
            f"{record.state}, cannot be undone" if record.forgotten else record.state,
            time_text(record.begun_at_ms or record.plan.planned_at_ms),
            _people(record),
            record.approved_by or None,
        )
        for record in changes
    )
    columns = ("plan", "kind", "from batch", "to", "state", "begun", "by", "approved by")
    return Table(f"Changes of {location}", columns, rows)


def _people(record: Record) -> str | None:
    """Who began a change, and what was accepted."""
    accepted = [f"accepted sink effect: {', '.join(record.accepted_sink)}"] if record.accepted_sink else []
    return "; ".join([*filter(None, [record.by]), *accepted]) or None


def backup_table(taken: Manifest) -> Table:
    """Table of the facts of a backup."""
    return facts(
        taken.backup_id,
        [
            ("of", taken.location),
            ("query id", taken.query_id),
            ("batch", taken.batch_id),
            ("objects", len(taken.objects)),
            ("bytes copied", taken.own_bytes),
            ("bytes reused", taken.reused_bytes),
            ("tags", ", ".join(taken.tags) or None),
            ("message", taken.message or None),
            *(("unknown", sentence) for sentence in sentences_on_unknown(taken)),
        ],
    )


def backups_table(root: str, listing: BackupListing) -> Table:
    """The backups under a root, a row each."""
    says_why = any(item.message for item in listing.backups)
    message = ("message",) if says_why else ()
    columns = ("backup", "query", "taken", "batch", "watermark", "objects", "size", "tags", *message, "of")
    rows = tuple(
        (
            item.backup_id,
            item.query_id,
            time_text(item.created_at_ms),
            item.batch_id,
            time_text(item.watermark_ms) if item.watermark_ms else None,  # 0 is what a query without one has
            f"{len(item.objects)}, {len(item.unknown)} unknown" if item.unknown else len(item.objects),
            f"{size(item.total_bytes)}, {size(item.own_bytes)} of it only in this backup",
            ", ".join(item.tags) or None,
            *((item.message or None,) if says_why else ()),
            item.location,
        )
        for item in listing.backups
    )
    return Table(root, columns, rows)


def backup_plan_tables(plan: BackupPlan) -> list[Table]:
    """Tables of the files that a backup would copy, and of those that it would leave out and why."""
    unknown = set(plan.beside.unknown)
    rows = tuple(
        (name, plan.view.objects[name].size, "unknown, kept" if name in unknown else "") for name in plan.names
    )
    tables = [Table(f"A backup of batch {plan.chosen.batch_id}", ("object", "bytes", ""), rows)]
    if plan.chosen.unknown:
        tables.append(Table("Not judged", ("what",), tuple((problem,) for problem in plan.chosen.unknown)))
    if plan.beside.left_out:
        tables.append(Table("Left out", ("why", "objects"), tuple(plan.beside.counted.items())))
    return tables


def sentences_on_unknown(taken: Manifest) -> list[str]:
    """Sentences on files in a backup that ckpt does not know, and on state that no file describes."""
    said = [f"Not judged: {problem}." for problem in taken.not_judged]
    if taken.unknown:
        said.append(f"{len(taken.unknown)} files that ckpt does not know are in it: {listed_shortly(taken.unknown)}.")
    if taken.unknown_changed:
        said.append(
            f"{len(taken.unknown_changed)} of them changed while they were copied, so they are not known to be "
            f"consistent with batch {taken.batch_id}: {listed_shortly(taken.unknown_changed)}."
        )
    return said


def prune_tables(plan: PrunePlan) -> list[Table]:
    """Tables of the backups that a prune keeps and why, and of the objects that it sweeps."""
    decisions = tuple(
        (item.backup_id, "keep" if item.keep else "drop", ", ".join(item.reasons) or "no --keep rule keeps it")
        for item in plan.decisions
    )
    sweeps = tuple((item.directory, item.objects, item.bytes) for item in plan.sweeps)
    tables = [Table(f"Backups in {plan.location}", ("backup", "decision", "why"), decisions)]
    if sweeps:
        tables.append(Table("To be swept", ("directory", "objects", "bytes"), sweeps))
    if plan.referred_bytes:
        title = "Kept of deleted backups, because other backups reference it"
        tables.append(facts(title, [("bytes that stay", plan.referred_bytes)]))
    return tables


def published_table(published: Sequence[Publication], title: str = "Published") -> Table:
    """Table of the offsets that consumer groups got, or would get."""
    columns = ("checkpoint", "batch", "group", "partitions", "lag in offsets, at most")
    rows = (
        (item.position.location, item.position.batch_id, item.group, len(item.offsets), item.lag) for item in published
    )
    return Table(title, columns, tuple(rows))


def rehearsal_table(rehearsal: Rehearsal) -> Table:
    """Table of the results of Spark on a restored backup, a row for each part of the state."""
    rows: list[tuple[Any, ...]] = [
        (part.operator_id, part.operator, part.part or None, part.rows) for part in rehearsal.state
    ]
    rows += [(operator_id, "not read: no operator metadata", None, None) for operator_id in rehearsal.unread]
    title = f"Spark {rehearsal.spark_version} opens {rehearsal.backup_id} at batch {rehearsal.batch_id}"
    return Table(title, ("operator", "is", "part", "rows of state"), tuple(rows))
