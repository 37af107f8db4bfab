"""The command that says what an error or a rule means: explain."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from airflow_provider_ckpt.checks.registry import RULES
from airflow_provider_ckpt.checks.rule_pages import text_of
from airflow_provider_ckpt.cli.absolute_words import absolute_sink
from airflow_provider_ckpt.cli.explain_output import print_explained
from airflow_provider_ckpt.cli.options import (
    command,
    open_store,
    opening,
    option,
    pairs,
    shared,
    with_kafka_config,
    with_sources,
)
from airflow_provider_ckpt.cli.query_names import query_of
from airflow_provider_ckpt.cli.render import print_json
from airflow_provider_ckpt.cli.sectioned import Names
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.explain.failure import is_condition
from airflow_provider_ckpt.query.declared import options_of_clusters
from airflow_provider_ckpt.query.source import Source

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import ExplainDocument, ExplanationFields
    from airflow_provider_ckpt.explain.explanation import Explained
    from airflow_provider_ckpt.explain.given import Given
    from airflow_provider_ckpt.explain.judge_cause import Ask
    from airflow_provider_ckpt.storage.store import Store

#: What a location of the command line begins with; an error text may, but then it has white space.
_LOCATION = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:/|/|\.{1,2}/|~/)\S*")
_CODE = re.compile(r"CKPT\d+", re.IGNORECASE)
#: Several blank lines, after the line feed of the line before.
_BLANKS = re.compile(r"\n(?:\r?\n){2,}")
#: A line of a log is read in pieces of this size.
_LINE_BYTES = 1 << 18
#: In UTF-16 without a byte order mark about every second byte is NUL. A first line with more than one in
#: so many is taken for that; a file that begins with a hole, as rotated logs do, has NUL bytes alone.
_NUL_SHARE = 4
#: What a file begins with that gzip has packed.
_GZIP = b"\x1f\x8b"


@command(
    "ckpt explain CKPT201",
    "ckpt explain CONCURRENT_STREAM_LOG_UPDATE s3://lake/checkpoints/orders",
    'ckpt explain "batch 3 doesn\'t exist" s3://lake/checkpoints/orders',
    "ckpt explain --log driver.log.gz --json",
    "ckpt explain --log driver.log s3://lake/checkpoints/orders --source 0=kafka:broker:9092/orders",
    "ckpt explain -",
    names=Names(needs_place=False),
)
@click.argument("words", nargs=-1, metavar="[TEXT|CODE|CONDITION|-]... [LOCATION]")
@option(
    "--log FILE", "Log to explain, of any size; one that gzip has packed is unpacked.", type=click.Path(path_type=Path)
)
@with_sources(
    "Source of the query, by its name or position. With a place, such as 0=kafka:host:9092/topic, the broker or the "
    "table is asked, which needs a location. Can be given more than once.",
    metavar="NAME=TYPE[:PLACE]",
)
@option(
    "--sink TYPE[:URI]",
    "Sink of the query, such as kafka or file:URI. With a URI and a location, what the sink remembers is read.",
)
@with_kafka_config
@shared
def explain(
    words: tuple[str, ...],
    log: Path | None,
    sources: dict[str, Source],
    sink: str | None,
    kafka_config: tuple[str, ...],
    storage_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Explain an error or a rule: the cause, and what repairs it.

    With a location also the evidence on that checkpoint.
    Give a stack trace, a log, an error condition, a message or a rule code. - reads the text from standard input.
    Without any, all rules are listed. The last word is the location of the checkpoint when it is a directory, or when
    it begins with a scheme such as s3://, with / or with ./ and has no white space. After -, a condition or a code it
    may have white space. The checkpoint is only read.

    Exit code 1 when nothing in the text is known, or when code of the query may have failed in the same words and
    nothing shows that the cause is in the checkpoint.
    """
    texts, location = _split(words)
    codes = [text.strip().upper() for text in texts if _CODE.fullmatch(text.strip())]
    about_rules = bool(codes) and len(codes) == len(texts) and log is None
    if (about_rules and location is None) or not (texts or log or location):
        _explain_rules(codes, as_json=as_json)
        return
    if not (texts or log):
        raise click.UsageError("say what to explain: an error text, a condition, --log FILE, or - for stdin")
    if log is not None and texts:
        raise click.UsageError("give either a text or --log")
    from airflow_provider_ckpt.explain.explain import explain as explain_text  # with a room that rules do not need
    from airflow_provider_ckpt.explain.explain import explain_rules
    from airflow_provider_ckpt.explain.given import Given

    store = None if location is None else open_store(location, storage_options)
    if about_rules and store is not None:
        explained = explain_rules(_known(codes), store)
    else:
        given = Given(sources, sink and absolute_sink(sink))
        query = None if location is None else query_of(location)
        configs = options_of_clusters([] if query is None else [query])
        ask = _ask(given, opening(storage_options), dict(pairs(kafka_config, "--kafka-config")), configs)
        explained = explain_text(_lines(texts, log), store, ask=ask, given=given)
    place = explained.location if store is None else store.location
    if as_json:
        print_json(_document(explained, place))
    else:
        print_explained(explained, None if store is None else store.location)
    if not any(item.cause and (item.match.is_proven or item.is_shown) for item in explained.explanations):
        click.get_current_context().exit(1)


def _ask(
    given: Given,
    open_store: Callable[[str], Store],
    kafka_config: Mapping[str, str],
    configs: Mapping[str, Mapping[str, str]],
) -> Ask | None:
    """Sources to read besides the checkpoint; None when nothing is declared of the query. Raises click.UsageError."""
    from airflow_provider_ckpt.explain.judge_cause import Ask
    from airflow_provider_ckpt.query.deploy import DeploySpec, declare

    if not given.sources and given.sink is None:
        return None
    try:
        deploy = declare(DeploySpec(), {"sources": tuple(given.sources.values()) or None, "sink": given.sink})
    except ValueError as error:
        raise click.UsageError(f"{error}") from None
    return Ask(deploy, open_store, kafka_config, configs)


def _document(explained: Explained, location: str | None) -> ExplainDocument:
    return {
        "format_version": FORMAT_VERSION,
        "explanations": [item.to_dict() for item in explained.explanations],
        "unknown": [item.to_dict() for item in explained.unknown],
        "location": location,
    }


def _split(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The texts of a command line, and the location behind them."""
    texts = list(words)
    if len(texts) == 2 and (texts[0] == "-" or is_condition(texts[0]) or _CODE.fullmatch(texts[0])):
        is_location = _LOCATION.match(texts[1]) is not None or _is_directory(texts[1])  # its name may have white space
    else:
        is_location = bool(texts) and (_LOCATION.fullmatch(texts[-1]) is not None or _is_directory(texts[-1]))
    return (texts[:-1], texts[-1]) if is_location else (texts, None)


def _is_directory(text: str) -> bool:
    try:
        return text != "-" and Path(text).is_dir()
    except (OSError, ValueError):  # a text that is no path, such as a whole stack trace
        return False


def _lines(texts: Sequence[str], log: Path | None) -> Iterator[str]:
    """The lines of the text, of standard input, or of a log."""
    if log is not None:
        try:
            with _opened(log) as file:
                yield from _pieces(file)
        except (OSError, EOFError) as error:
            raise click.BadParameter(
                f"{log}: {getattr(error, 'strerror', None) or error}", param_hint="--log"
            ) from None
        return
    for text in texts:
        if text == "-":
            if sys.stdin is None:
                raise click.UsageError("standard input is closed; give the text, or --log FILE")
            yield from _pieces(sys.stdin.buffer)
        else:
            yield from text.splitlines()
        yield ""


@contextmanager
def _opened(log: Path) -> Iterator[BinaryIO]:
    """A log, unpacked where it is packed by gzip, whatever its name; it may be a pipe, which is read once."""
    with log.open("rb") as file:
        if file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked)
        else:
            yield file


def _pieces(file: BinaryIO) -> Iterator[str]:
    """Lines, of which long ones come in pieces: no line is ever in memory as a whole."""
    first = file.readline(_LINE_BYTES)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        # The line ended within a character: the rest of the file is read with the mark.
        yield from _decoded(first, file)
        return
    if len(first) < first.count(0) * _NUL_SHARE < len(first) * (_NUL_SHARE - 1):
        raise click.UsageError(
            "the text is not UTF-8 but has many NUL bytes; convert it first: iconv -f UTF-16 -t UTF-8"
        )
    yield from _lines_of(first, file)


def _lines_of(first: bytes, file: BinaryIO) -> Iterator[str]:
    """Lines of UTF-8, read in blocks; blank lines that come one after the other are one piece."""
    left, block = b"", first
    while block:
        whole, line_feed, left = (left + block).rpartition(b"\n")
        if not line_feed and len(left) > _LINE_BYTES:
            whole, left = left, b""
        text = (whole + line_feed).decode("utf-8", "replace")
        start = 0
        for blanks in _BLANKS.finditer(text):
            yield from text[start : blanks.start()].split("\n")
            yield "\n" * (blanks[0].count("\n") - 1)
            start = blanks.end()
        if text:
            yield from text[start:].split("\n")[: -1 if line_feed else None]
        block = file.read(_LINE_BYTES)
    if left:
        yield left.decode("utf-8", "replace")


def _decoded(first: bytes, file: BinaryIO) -> Iterator[str]:
    """Lines of UTF-16 with a byte order mark; a line without an end comes in pieces."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    left, piece = "", first
    while piece:
        *lines, left = (left + decoder.decode(piece)).split("\n")
        yield from lines
        if len(left) > _LINE_BYTES:
            yield left
            left = ""
        piece = file.read(_LINE_BYTES)
    yield left


def _known(codes: Sequence[str]) -> list[str]:
    unknown = [code for code in codes if text_of(code) is None]
    if unknown:
        raise click.BadParameter(
            f"there is no rule {unknown[0]!r}; ckpt explain without a code lists all rules", param_hint="CODE"
        )
    return list(codes)


def _explain_rules(codes: Sequence[str], *, as_json: bool) -> None:
    wanted = _known(codes) or list(RULES)
    if as_json:
        explanations = [_rule(code) for code in wanted]
        document: ExplainDocument = {
            "format_version": FORMAT_VERSION,
            "explanations": explanations,
            "unknown": [],
            "location": None,
        }
        print_json(document)
    elif codes:
        click.echo("\n\n".join(f"{code}: {text_of(code)}" for code in wanted))
    else:
        click.echo("\n".join(f"{code}  {RULES[code]}" for code in wanted))


def _rule(code: str) -> ExplanationFields:
    return {
        "code": code,
        "title": RULES[code],
        "text": text_of(code),
        "condition": None,
        "message": None,
        "cause": None,
        "possible": None,
        "certainty": None,
        "shown_by": [],
        "evidence": None,
        "command": None,
        "commands": [],
        "page": None,
        "rules": [code],
        "facts": {},
        "line": None,
        "last_line": None,
        "times": None,
    }
