"""What an assistant gets of a document: bounded, without secrets, and with nothing hidden."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli.answers import MOST_CHARACTERS, bounded


def test_a_short_document_is_the_same():
    document = {"format_version": 1, "batches": [{"batch_id": 1, "committed": True, "watermark": None, "rate": 0.5}]}
    assert bounded(document) == (document, [])


LONG = {
    "a long list": {"batches": [{"batch_id": number} for number in range(100_000)]},
    "a long text": {"text": "x" * 10_000_000},
    "a large object": {"partitions": {str(number): number for number in range(100_000)}},
    "a list in each item of a list": {"a": [{"b": ["text" * 50] * 200} for _ in range(200)]},
    "long keys": {"k" * 1_000_000: 1},
}


@pytest.mark.parametrize("document", LONG.values(), ids=LONG)
def test_a_long_document_is_shortened_and_says_where(document):
    kept, shortened = bounded(document)
    assert len(json.dumps(kept)) <= MOST_CHARACTERS
    assert shortened or "k" * 100 in str(kept)
    assert all(item["kept"] < item["of"] for item in shortened) and len(json.dumps(shortened)) < 20_000


def test_the_first_items_stay():
    kept, shortened = bounded({"batches": list(range(10_000))})
    assert kept["batches"][:3] == [0, 1, 2] and shortened == [
        {"at": "batches", "kept": len(kept["batches"]), "of": 10_000}
    ]


def test_what_fits_in_no_way_is_left_out():
    assert bounded({"deep": "x" * 10}, most=5) == ({}, [{"at": "", "kept": 0, "of": 1}])


def test_secrets_and_hidden_characters_are_not_in_it():
    document = {"text": "s3://key:topsecret@b \u202ereversed\x1b[31m", "confs": {"k\u200b": "of-my-store"}}
    text = json.dumps(bounded(document, ["of-my-store"])[0], ensure_ascii=False)
    assert "topsecret" not in text and "of-my-store" not in text
    assert not {"\u202e", "\x1b", "\u200b"} & set(text) and "\\\\u202e" in text
