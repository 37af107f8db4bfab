"""What is below the roots, and what only seems to be."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.storage.roots import OutsideRootsError, Root, normalised, parse_roots

S3 = parse_roots("s3://lake/checkpoints conn=lake, abfss://c@account.dfs.core.windows.net/ckpt\n gs://bucket")


@pytest.mark.parametrize(
    ("location", "normal"),
    [
        ("s3://lake/checkpoints", "s3://lake/checkpoints"),
        ("s3://lake/checkpoints/", "s3://lake/checkpoints"),
        ("s3a://lake/checkpoints/orders", "s3://lake/checkpoints/orders"),
        ("S3N://lake/checkpoints/a b/ü", "s3://lake/checkpoints/a b/ü"),
        ("s3://lake/checkpoints/100%/a", "s3://lake/checkpoints/100%/a"),
        ("s3://lake/checkpoints/dt=2026%2D01", "s3://lake/checkpoints/dt=2026%2D01"),
        ("abfs://c@account.dfs.core.windows.net/ckpt/q", "abfss://c@account.dfs.core.windows.net/ckpt/q"),
        ("gcs://bucket/any", "gs://bucket/any"),
    ],
)
def test_below_a_root(location, normal):
    assert S3.root_of(location)[1] == normal


@pytest.mark.parametrize(
    "location",
    [
        "s3://lake/checkpoints-evil",
        "s3://lake/checkpoints-evil/orders",
        "s3://lake/checkpoint",
        "s3://lake/",
        "s3://lake-evil/checkpoints/orders",
        "s3://lake/checkpoints/../secret",
        "s3://lake/checkpoints/./orders",
        "s3://lake/checkpoints//orders",
        "s3://lake/checkpoints/%2e%2e/secret",
        "s3://lake/checkpoints/%252e%252e/secret",
        "s3://lake/checkpoints/%2525252525252e%2525252525252e/secret",
        "s3://lake/checkpoints/..%2fsecret",
        "s3://lake/checkpoints/a%2f..%2f..%2fsecret",
        "s3://lake/checkpoints/..\\secret",
        "s3://lake/checkpoints/%5c..%5csecret",
        "s3://lake/checkpoints/a%00b",
        "s3://lake/checkpoints/a\x00b",
        "s3://lake/checkpoints/a\nb",
        "s3://key:secret@lake/checkpoints/orders",
        "s3:///lake/checkpoints",
        "s3://LAKE/checkpoints",
        "http://lake/checkpoints/orders",
        "filecache::s3://lake/checkpoints/orders",
        "s3://lake/checkpoints::file:///etc",
        "abfs://c/ckpt/q",
        "lake/checkpoints/orders",
        "~/orders",
        "orders",
        "",
        " s3://lake/checkpoints/orders",
        "/lake/checkpoints/orders",
        "s3://lake/checkpoints/" + "a" * 2_048,
    ],
)
def test_not_below_a_root(location):
    with pytest.raises(OutsideRootsError):
        S3.root_of(location)


def test_a_disk_is_compared_as_its_links_lead(tmp_path):
    for name in ("roots/q", "roots-evil/q", "secret/q"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "roots" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "way-in").symlink_to(tmp_path / "roots")
    roots = parse_roots(str(tmp_path / "roots"))
    inside = tmp_path / "roots" / "q"
    for location in (
        inside,
        f"file://{inside}",
        f"{inside}/",
        tmp_path / "way-in" / "q",
        f"{inside}/../q",
        f"file:{inside}",
    ):
        assert roots.root_of(str(location))[1] == str(inside)
    for outside in (
        tmp_path / "roots-evil" / "q",
        tmp_path / "roots" / "out" / "q",
        f"{inside}/../../secret/q",
        f"file://{inside}/../../secret/q",
        tmp_path / "secret" / "not there",
        tmp_path,
        "s3:/" + str(inside),
    ):
        assert not roots.hold(str(outside)), outside


def test_a_percent_sign_on_a_disk_is_a_percent_sign(tmp_path):
    (tmp_path / "roots").mkdir()
    roots = parse_roots(str(tmp_path / "roots"))
    assert roots.root_of(f"{tmp_path}/roots/%2e%2e/x")[1] == f"{tmp_path}/roots/%2e%2e/x"


def test_a_link_as_a_root_means_what_it_leads_to(tmp_path):
    (tmp_path / "data" / "q").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert parse_roots(str(tmp_path / "link")).hold(str(tmp_path / "data" / "q"))


def test_without_roots_nothing_is_shown():
    assert not parse_roots(" \n, ")
    assert not parse_roots("").hold("/")


def test_the_innermost_root_opens_it():
    roots = parse_roots("s3://lake conn=wide, s3a://lake/checkpoints conn=narrow, s3://lake/check")
    assert roots.root_of("s3://lake/checkpoints/q")[0] == Root("s3a://lake/checkpoints", "narrow")
    assert roots.root_of("s3://lake/other")[0].conn_id == "wide"


@pytest.mark.parametrize("text", ["checkpoints", "s3://lake/../x", "s3://", "~/x", "s3://a//b", "s3://lake::/x"])
def test_a_root_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match="is no root: give an absolute path or a URL"):
        parse_roots(f"/fine, {text}")


def test_the_normal_form_stays():
    for location in ("s3a://lake/x/", "/tmp/../etc/", "GS://b"):
        assert normalised(normalised(location)) == normalised(location)


def test_of_many_the_same_are_held_as_one_by_one(tmp_path):
    for name in ("roots/team/q", "roots-evil/q", "secret/q"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "roots" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "roots" / "team" / "self").symlink_to("q")
    (tmp_path / "roots" / "team" / "away").symlink_to(tmp_path / "secret" / "q")
    (tmp_path / "way-in").symlink_to(tmp_path / "roots")
    names = (
        *("roots", "roots/", "roots/team/q", "roots/team/self", "roots/team/away", "roots/team/gone", "roots/out"),
        *(
            "roots/out/q",
            "roots/out/../x",
            "roots/team/..",
            "roots/team/.",
            "roots//team//q",
            "roots-evil/q",
            "secret/q",
        ),
        *(
            "way-in",
            "way-in/team/q",
            "way-in/team/away",
            "roots/a::b",
            "roots/a\\b",
            "roots/\ud800",
            "roots/" + "a" * 2_048,
        ),
    )
    locations = [f"{tmp_path}/{name}" for name in names]
    locations += [
        f"file://{tmp_path}/roots/team/q",
        "s3://lake/a",
        "s3a://lake/b/../a",
        "gs://lake/a",
        "a",
        "",
        "/",
        "~",
    ]
    roots = parse_roots(f"{tmp_path}/roots, s3a://lake")
    held = list(roots.those_held(locations))
    assert held == [location for location in locations if roots.hold(location)]
    assert f"{tmp_path}/roots/team/self" in held and f"{tmp_path}/roots/team/away" not in held
    assert list(parse_roots("/").those_held(["/", "/etc", "s3://lake"])) == ["/", "/etc"]
