"""The page of all checkpoints, and what it may show."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow
from airflow_provider_ckpt.fleet.row import BatchRate
from airflow_provider_ckpt.fleet.write_index import put_index
from airflow_provider_ckpt.plugin import fleet as fleet_page
from airflow_provider_ckpt.plugin.fleet import FleetReader
from airflow_provider_ckpt.plugin.fleet_table import SORTS
from airflow_provider_ckpt.plugin.settings import Settings
from airflow_provider_ckpt.storage.roots import parse_roots
from airflow_provider_ckpt.storage.store import Store
from tests.plugin.pages import asking, text_of

HOSTILE = """"><script>alert(1)</script><img src=x onerror=alert(2)>'{{7*7}}\u202e\x1b[2J"""


@pytest.fixture
def fleet(configure, tmp_path):
    """Configures a root, and writes an index of rows."""

    def write(*rows: IndexRow, age_ms: int = 0, roots: str = "s3://lake/checkpoints", left_out: int = 0) -> None:
        configure(roots=roots, index=str(tmp_path))
        at_ms = now_ms() - age_ms
        assert put_index(Store.open(str(tmp_path)), FleetIndex(at_ms, at_ms, ("s3://lake",), rows, left_out))

    return write


def page(query: str = "", role: str = "viewer") -> str:
    answer = asking(role).get(f"/ckpt/{query}")
    assert answer.status_code == 200
    return answer.text


def test_the_keyboard_gets_to_the_first_row_without_the_filters(fleet):
    fleet(IndexRow(location="s3://lake/checkpoints/orders"))
    shown = page()
    assert shown.index('href="#rows"') < shown.index('role="search"') < shown.index('id="rows"')


def test_a_query_has_its_name_and_the_thresholds_that_it_is_past(fleet):
    place = "s3://lake/checkpoints"
    fleet(
        IndexRow(location=f"{place}/a", query="orders", alarms="the age of the newest commit is 2 h"),
        IndexRow(location=f"{place}/b", query="totals"),
    )
    shown = text_of(page())
    assert (
        "threshold the age of the newest commit is 2 h" in shown
        and "1past a threshold, or not known" in shown.replace(" 1 past", " 1past")
    )
    assert shown.index("orders") < shown.index("totals")
    assert "totals" not in text_of(page("?q=orders")) and "totals" not in text_of(page("?q=newest+commit"))


@pytest.mark.parametrize(("minutes", "is_old"), [(14, False), (16, True)])
def test_an_index_whose_dag_has_missed_three_runs_is_old(fleet, minutes, is_old):
    fleet(age_ms=minutes * 60_000)
    assert ("see whether the DAG that writes the index runs" in text_of(page())) == is_old


def test_without_roots_or_index_the_page_says_what_to_configure(configure, tmp_path):
    assert "No root is configured, so nothing is shown. Set roots in the section [ckpt]" in text_of(page())
    configure(roots="/data")
    assert "No index is configured, so no list can be shown." in text_of(page())
    configure(index=str(tmp_path))
    assert f"Start the DAG checkpoint_index , or run ckpt fleet ROOT --index {tmp_path}" in text_of(page())


def test_a_row_says_how_a_query_is(fleet):
    at_ms = now_ms()
    fleet(
        IndexRow(
            "s3://lake/checkpoints/orders",
            "17ea636e-0000",
            8,
            7,
            8,
            at_ms - 300_000,
            watermark_lag_ms=60_000,
            offsets=12,
            errors=1,
            notes=1,
            worst="error",
            worst_code="CKPT102",
            worst_message="the entry is damaged",
            decision="block",
            backup_ms=at_ms - 7_200_000,
            backup_batch=6,
            rate=BatchRate(0, 7_200_000, (0, 5, 10)),
        )
    )
    text = text_of(page())
    for words in (
        "1 of 1 checkpoints, sorted by findings",
        "checkpoints/orders 17ea636e 7 8 5 min 60 s 12 offsets error CKPT102: the entry is damaged and 1 more",
        "gate: block",
        "batch 6, 2 h ago 15 batches in 2 h",
    ):
        assert words in text
    assert 'href="/ckpt/checkpoint?at=s3%3A//lake/checkpoints/orders"' in page()


def test_only_what_is_below_the_roots_is_shown(fleet):
    fleet(*(IndexRow(f"s3://lake/{name}/orders") for name in ("checkpoints", "checkpoints-evil", "secret")))
    shown = page()
    assert "checkpoints/orders" in shown
    assert "evil" not in shown and "secret" not in shown
    assert "1 of 1 checkpoints" in text_of(shown)


@pytest.mark.parametrize("field", ["location", "query_id", "worst_message", "worst_code", "error", "replaced_by"])
def test_hostile_text_is_text(fleet, field):
    given = {"location": "s3://lake/checkpoints/a", "worst": "error", "worst_code": "CKPT102"}
    if field == "location":
        hostile = HOSTILE.replace("\x1b", "")
        fleet(IndexRow(f"s3://lake/checkpoints/{hostile}"))
    else:
        fleet(IndexRow(**{**given, field: HOSTILE}))
    shown = page()
    assert "<script>alert" not in shown and "<img" not in shown and "\u202e" not in shown and "\x1b" not in shown
    assert "49" not in re.sub(r"\d{4}-\d\d-\d\d.*?UTC", "", text_of(shown))
    assert "&lt;script&gt;" in shown or field == "query_id"  # of which the beginning is shown


def test_what_is_typed_stays_text(fleet):
    fleet(IndexRow("s3://lake/checkpoints/a"))
    shown = asking("viewer").get("/ckpt/", params={"q": HOSTILE, "sort": HOSTILE, "page": HOSTILE}).text
    assert "<script>alert" not in shown and "No checkpoint is like that." in text_of(shown)


def test_an_index_is_old_by_the_pace_at_which_indexes_are_written(fleet):
    fleet(age_ms=105 * 60_000)
    fleet(age_ms=45 * 60_000)
    assert "What happened since" not in text_of(page()), "one an hour"
    fleet(age_ms=40 * 60_000)
    assert "40 min old. What happened since then is not shown" in text_of(page())


def test_an_old_index_says_so(fleet):
    fleet(IndexRow("s3://lake/checkpoints/a"), age_ms=7_200_000)
    assert "2 h old. What happened since then is not shown" in text_of(page())


def test_a_newer_index_is_shown_at_once(fleet):
    fleet(IndexRow("s3://lake/checkpoints/a"), age_ms=1_000)
    assert "checkpoints/a" in page()
    fleet(IndexRow("s3://lake/checkpoints/b"))
    assert "checkpoints/b" in page() and "checkpoints/a" not in page()


def test_other_roots_count_at_once(fleet, configure):
    fleet(IndexRow("s3://lake/checkpoints/a"), IndexRow("s3://lake/checkpoints/b/c"))
    assert "2 of 2 checkpoints" in text_of(page())
    configure(roots="s3://lake/checkpoints/b")
    assert "1 of 1 checkpoints" in text_of(page())


def test_pages_filters_and_heads_are_links(fleet):
    fleet(*(IndexRow(f"s3://lake/checkpoints/{number:03d}") for number in range(150)))
    first = page("?q=checkpoints&sort=query")
    assert "150 of 150 checkpoints, page 1 of 2, sorted by query" in text_of(first)
    assert 'rel="next" href="/ckpt/?q=checkpoints&amp;sort=query&amp;page=2"' in first
    assert 'aria-sort="ascending"><a href="/ckpt/?q=checkpoints&amp;sort=query&amp;reverse=1">query</a>' in first
    second = page("?q=checkpoints&sort=query&page=2")
    assert "checkpoints/149" in second and "checkpoints/099" not in second and 'rel="next"' not in second
    assert "No checkpoint is like that. Show all" in text_of(page("?q=other"))


def test_an_index_that_is_damaged_is_a_page_with_what_to_do(fleet, tmp_path):
    fleet(IndexRow("s3://lake/checkpoints/a"))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"{}")
    answer = asking("viewer").get("/ckpt/")
    assert answer.status_code == 500
    assert "`ckpt fleet ROOT... --index URL` writes it anew" in text_of(answer.text)


def test_a_second_request_asks_for_names_alone(fleet, monkeypatch):
    """Which rows may be shown is asked once an index; `make browser` prints the time for 10,000."""
    fleet(*(IndexRow(f"s3://lake/checkpoints/{number:05d}", worst="error") for number in range(2_000)))
    assert "2,000 of 2,000 checkpoints, page 1 of 20" in text_of(page())
    monkeypatch.setattr(fleet_page.Roots, "those_held", None)
    monkeypatch.setattr(Store, "read", None)
    last = page("?page=20")
    assert "2,000 of 2,000 checkpoints, page 20 of 20" in text_of(last) and last.count("<tr>") == 101


def test_what_is_not_in_the_index_is_said(fleet):
    fleet(IndexRow("s3://lake/checkpoints/orders"), left_out=1)
    assert "1 checkpoint is not in the index, because a location of more than 2,048 characters" in text_of(page())


def test_a_misnamed_connection_of_the_index_is_a_sentence(configure):
    configure(roots="s3://lake/checkpoints", index="s3://lake/index conn=misnamed")
    answer = asking("viewer").get("/ckpt/")
    assert answer.status_code == 500
    assert "s3://lake/index: the Airflow connection 'misnamed' cannot open this" in text_of(answer.text)


@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63) + 1, 0])
def test_numbers_without_measure_are_a_row_all_the_same(fleet, number):
    names = [field.name for field in fields(IndexRow) if str(field.type).startswith("int")]
    top = abs(number)
    fleet(
        IndexRow("s3://lake/checkpoints/orders", **dict.fromkeys(names, number), rate=BatchRate(0, top, (top, 0))),
        IndexRow("s3://lake/checkpoints/others", worst="none of ours", rate=BatchRate(top, 0, (top,) * 24)),
    )
    for sort in SORTS:
        assert "2 of 2 checkpoints" in text_of(page(f"?sort={sort}"))


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "out").symlink_to(tmp_path / "secret")
    rows = [IndexRow(str(tmp_path / name)) for name in ("roots/a", "roots/out/q", "roots-evil/q", "secret/q")]
    index = FleetIndex(
        now_ms(), now_ms(), (), (*rows, IndexRow("s3a://lake/q"), IndexRow("\ud800"), IndexRow("relative"))
    )
    put_index(Store.open(str(tmp_path / "index")), index)
    return Settings(parse_roots(f"{tmp_path}/roots, s3://lake"), str(tmp_path / "index"))


def test_rows_outside_of_the_roots_are_left_out_also_behind_links(settings, tmp_path):
    _, rows = FleetReader().read(settings)
    assert [row.location for row in rows] == [f"{tmp_path}/roots/a", "s3a://lake/q"]


def test_there_may_be_none_yet(tmp_path):
    assert FleetReader().read(Settings(index=str(tmp_path))) is None


def test_a_connection_of_the_index_that_is_missing_is_named():
    with pytest.raises(StoreError, match="s3://lake/index: the Airflow connection 'misnamed' cannot open this: "):
        FleetReader().read(Settings(index="s3://lake/index", index_conn_id="misnamed"))
