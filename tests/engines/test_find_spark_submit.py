"""The spark-submit of this machine: the declared one, that of SPARK_HOME, that of PATH."""

from __future__ import annotations

from airflow_provider_ckpt.engines.find_spark_submit import find_spark_submit


def test_the_nearest_word_counts(tmp_path, monkeypatch):
    programs = [tmp_path / place / "spark-submit" for place in ("declared", "home/bin", "path")]
    for program in programs:
        program.parent.mkdir(parents=True)
        program.touch(0o755)
    monkeypatch.setenv("PATH", str(programs[2].parent))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert find_spark_submit(None) == str(programs[2])
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    assert find_spark_submit(None) == str(programs[1])
    assert find_spark_submit(str(programs[0])) == str(programs[0])
    assert find_spark_submit("no-such-program") is None
