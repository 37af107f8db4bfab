"""The page of a checkpoint, as a browser gets it."""

from __future__ import annotations

import json

import pytest

from tests.plugin.kafka_checkpoints import write_checkpoint
from tests.plugin.pages import asking, text_of

EVIL = "<script>alert(1)</script>\"'&\u202e\x1b[31m{{7*7}}"


@pytest.fixture
def lake(tmp_path, configure):
    configure(roots=str(tmp_path / "lake"), backup_roots=str(tmp_path / "backups"))
    (tmp_path / "lake").mkdir()
    return tmp_path / "lake"


def page_at(place, role: str | None = "viewer", **more):
    return asking(role).get("/ckpt/checkpoint", params={"at": str(place), **more})


def test_a_viewer_sees_it(lake):
    place = write_checkpoint(lake / "orders", 6, in_flight=True, confs={"spark.sql.shuffle.partitions": "7"})
    answer = page_at(place, sources="0=kafka")
    text = text_of(answer.text)
    assert answer.status_code == 200
    assert "5 newest committed batch" not in text and "4 newest committed batch" in text
    assert "In flight: running, or left by a crash" in text and "orders-1 50 50" in text
    assert "spark.sql.shuffle.partitions 7" in text and "Nobody has changed this checkpoint with ckpt." in text


def test_nobody_else_does(lake, tmp_path):
    place = write_checkpoint(lake / "orders")
    assert page_at(place, None).status_code == 401
    for outside in (tmp_path, lake.parent / "other", "/etc", f"{lake}/../x", "", "s3://lake/orders", "orders"):
        answer = page_at(outside)
        assert answer.status_code in (404, 422)
        assert "metadata" not in answer.text


@pytest.mark.parametrize("before", ["-1", "x", "9" * 30, "1.5"])
def test_what_is_no_batch_is_not_understood(lake, before):
    assert page_at(write_checkpoint(lake / "orders"), before=before).status_code == 422


def test_pages_lead_to_older_batches_and_back(lake):
    place = write_checkpoint(lake / "orders", 60)
    assert 'rel="next" href="/ckpt/checkpoint?at=' in page_at(place).text
    older = page_at(place, before=10)
    assert "10 batches before batch 10" in text_of(older.text) and 'rel="next"' not in older.text


def test_markup_anywhere_is_text(lake):
    """In the location, a topic, a conf and its name, the query id, a file, a record, a type that was typed."""
    place = write_checkpoint(lake / "a<b>&'c", 3, topic=EVIL, confs={EVIL: EVIL})
    (place / "metadata").write_text(json.dumps({"id": EVIL}))
    (place / "<img src=x onerror=alert(1)>").write_text("")
    (place / "offsets" / "3").write_text(f"v1\n{EVIL}")
    record = lake / "_ckpt_undo" / place.name / "<b>x</b>"
    record.mkdir(parents=True)
    (record / "plan.json").write_text(EVIL)
    for sources in ("0=kafka", EVIL):
        page = page_at(place, sources=sources).text
        assert "<script>alert" not in page and "<img" not in page and "<b>x" not in page and "a<b>" not in page
        assert "\u202e" not in page and "\x1b" not in page
        assert "&lt;script&gt;alert(1)" in page and "{{7*7}}" in page


def test_a_page_of_what_is_not_there_is_readable(lake):
    answer = page_at(lake / "nothing")
    assert answer.status_code == 404
    assert "the location does not exist" in text_of(answer.text) and "restore it from a backup" in text_of(answer.text)


def test_a_missing_connection_of_a_root_of_backups_is_a_sentence_beside_the_rest(lake, tmp_path, configure):
    configure(backup_roots=f"s3://lake/backups conn=misnamed, {tmp_path / 'backups'}")
    (tmp_path / "backups").mkdir()
    answer = page_at(write_checkpoint(lake / "orders", 3))
    text = text_of(answer.text)
    assert answer.status_code == 200 and "2 newest committed batch" in text
    assert "s3://lake/backups: the Airflow connection 'misnamed' cannot open this" in text


def test_a_missing_connection_of_a_root_is_a_sentence(lake, configure):
    configure(roots="s3://lake/checkpoints conn=misnamed")
    answer = page_at("s3://lake/checkpoints/orders")
    assert answer.status_code == 500
    assert "s3://lake/checkpoints/orders: the Airflow connection 'misnamed' cannot open this" in text_of(answer.text)


@pytest.mark.parametrize("sub_path", ["", "/team/airflow"])
def test_links_stay_below_the_sub_path(lake, sub_path):
    place = write_checkpoint(lake / "orders")
    page = asking("viewer", sub_path).get(f"{sub_path}/ckpt/checkpoint", params={"at": str(place)}).text
    assert f'href="{sub_path}/ckpt/preview?at=' in page
