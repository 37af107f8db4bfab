"""Charts are plain SVG: values are where their axes say, and nothing of a name becomes markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from airflow_provider_ckpt.report.charts import HEIGHT, WIDTH, Mark, line_chart, nice_ceiling, runs, short

SPAN = (0.0, 1000.0)


@pytest.mark.parametrize(
    ("value", "ceiling"),
    [
        (0, 1),
        (-5, 1),
        (1, 1),
        (1.1, 2),
        (2.2, 2.5),
        (3, 5),
        (7, 10),
        (99, 100),
        (101, 200),
        (0.03, 0.05),
        (float("inf"), 1),
        (float("nan"), 1),
    ],
)
def test_an_axis_ends_at_a_round_number(value, ceiling):
    assert nice_ceiling(value) == pytest.approx(ceiling)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.05, "0.05"), (350, "350"), (1234, "1.23k"), (2e6, "2M"), (3e9, "3G")]
)
def test_numbers_are_short(value, text):
    assert short(value) == text


def svg(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(re.search(r"<svg.*</svg>", chart)[0])


def test_lines_go_from_corner_to_corner():
    chart = svg(line_chart("read", {"a": [(0, 0), (500, 5), (1000, 10)]}, SPAN))
    (line,) = chart.findall("polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    xs, ys = zip(*points, strict=True)
    assert xs == (52.0, 232.0, WIDTH - 8.0)
    assert ys == (HEIGHT - 20.0, 69.0, 8.0)


def test_one_point_is_a_dot_and_a_moment_a_line():
    chart = svg(line_chart("read", {"a": [(500, 1)]}, SPAN, [Mark(250, "stalled", "bad")]))
    assert chart.find("circle").get("class") == "s0"
    assert chart.find("g/title").text == "stalled"


def test_several_series_have_a_legend_and_one_has_none():
    points = [(0, 1), (1, 2)]
    assert 'class="key"' not in line_chart("read", {"a": points}, SPAN)
    assert line_chart("read", dict.fromkeys("abcdefg", points), SPAN).count('class="key"') == 7


@pytest.mark.parametrize(
    ("times", "pieces"),
    [
        ([], []),
        ([5], [1]),
        ([0, 10, 20, 30], [4]),
        ([0, 10, 20, 30, 200, 210], [4, 2]),
        ([0, 10, 20, 30, 200], [4, 1]),
        ([0, 3_600, 7_200], [3]),
    ],
)
def test_a_line_ends_where_points_stop_coming(times, pieces):
    points = [(float(at), 1.0) for at in times]
    assert [len(run) for run in runs(points)] == pieces
    assert [point for run in runs(points) for point in run] == points


def test_a_span_of_time_is_an_area():
    chart = svg(line_chart("read", {}, SPAN, [Mark(250, "stalled", "bad", 750)]))
    area = chart.find("g/rect")
    assert (area.get("x"), area.get("width"), chart.find("g").get("class")) == ("142.0", "180.0", "mark bad")


def test_names_are_no_markup():
    chart = line_chart("<b>&", {"<script>": [], "x": []}, SPAN, [Mark(1, "<i>")])
    assert "<script>" not in chart and "<i>" not in chart.replace('<i class="s', "")


@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [(0, 0)]}])
def test_nothing_to_draw_is_drawn_as_an_empty_chart(series):
    assert svg(line_chart("read", series, (5.0, 5.0))) is not None
