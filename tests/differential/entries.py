"""Generated log entries: sound ones, and sound ones with a few bytes or words changed."""

from __future__ import annotations

import json
import random
from typing import Any

_WORDS = (
    "{}",
    "[]",
    "null",
    "-",
    "0",
    "-1",
    "5.7",
    "1e3",
    '"x"',
    "true",
    "",
    " ",
    "v1",
    "v2",
    "v9",
    "\\u0041",
    "é",
    "}",
    "{",
    ":",
    ",",
)
_CONFS = ("spark.sql.shuffle.partitions", "spark.sql.streaming.multipleWatermarkPolicy", "x.y", "ключ")
_NUMBERS = (0, 1, -1, 1795213211916, 2**63 - 1, 2**63, -(2**63), 2**70, 5.7, -0.5, 1e20, 1e-7, 123456789.25)


def offset_entry(rng: random.Random) -> bytes:
    """A sound offset log entry."""
    version = rng.choice((1, 1, 2))
    offsets = [_offset(rng) for _ in range(rng.randrange(4))]
    lines = offsets if version == 1 else [f"{_source_id(rng, at)}:{text}" for at, text in enumerate(offsets)]
    return "\n".join([f"v{version}", _offset_metadata(rng, version), *lines]).encode()


def _offset_metadata(rng: random.Random, version: int) -> str:
    if version == 1 and rng.random() < 0.1:
        return ""
    fields: dict[str, Any] = {
        "batchWatermarkMs": rng.choice(_NUMBERS),
        "batchTimestampMs": rng.choice(_NUMBERS),
        "conf": {key: _conf_value(rng) for key in _CONFS if rng.random() < 0.6},
        "someLaterField": {"a": [1, {"b": None}]},
        "sourceMetadataInfo": {"0": {"sourceId": "0", "providerName": "a.Kafka", "apiVersion": "DSv2"}},
        "controlBatchInfo": {"operationType": "REPARTITION", "operationInfo": '{"n":4}'},
    }
    kept = {key: value for key, value in fields.items() if rng.random() < 0.7}
    return json.dumps(kept, separators=rng.choice(((",", ":"), (", ", ": "))), ensure_ascii=rng.random() < 0.5)


def _conf_value(rng: random.Random) -> Any:
    return rng.choice(
        ("2", "min", "", 'q"uo\\te', "tab\tnew\nline", "\x01\x1f\x7f\u2028", "é😀", 5, -7, 2.5, 1e10, 1e-5, None)
    )


def _offset(rng: random.Random) -> str:
    return rng.choice(
        (
            "-",
            "3",
            '{"logOffset":5}',
            '{"t":{"0":1200,"1":7}}',
            '{"offset":10,"timestamp":1000}',
            "not json",
            " 5 ",
            "a:b",
        )
    )


def _source_id(rng: random.Random, at: int) -> str:
    return rng.choice((str(at), "orders", "ördérs", "", "0"))


def commit_entry(rng: random.Random) -> bytes:
    """A sound commit log entry."""
    version = rng.choice((1, 2, 3))
    fields: dict[str, Any] = {"nextBatchWatermarkMs": rng.choice(_NUMBERS)}
    if rng.random() < 0.6:
        fields["stateUniqueIds"] = {
            str(rng.choice((0, 1, 7))): [["id-a", "id-b"], [], ["5"]] for _ in range(rng.randrange(3))
        }
    if version == 3 or rng.random() < 0.2:
        names = rng.sample(("a", "b", "ç"), rng.randrange(1, 4))
        fields["sinkMetadataMap"] = {name: _sink(name, at == 0) for at, name in enumerate(names)}
    if rng.random() < 0.2:
        fields.pop("nextBatchWatermarkMs")
    return f"{rng.choice(('', '', ' '))}v{version}\n{json.dumps(fields)}".encode()


def _sink(name: str, active: bool) -> dict[str, Any]:
    return {"sinkName": name, "commitOffset": "-", "providerName": "p", "apiVersion": "DSv1", "isActive": active}


def mutate(rng: random.Random, data: bytes) -> bytes:
    """A few changes: bytes, words, lines, newlines."""
    for _ in range(rng.randrange(1, 4)):
        data = rng.choice((_flip, _cut, _insert_word, _drop_line, _repeat_line, _newlines, _append))(rng, data)
    return data


def _flip(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert_word(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_WORDS).encode() + data[at:]


def _drop_line(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines.pop(rng.randrange(len(lines)))
    return b"\n".join(lines)


def _repeat_line(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines)


def _newlines(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0c", b"\xc2\x85")))


def _append(rng: random.Random, data: bytes) -> bytes:
    return data + rng.choice((b"\n", b"\n\n", b"\r\n", b"\0", b"\n-", b" "))
