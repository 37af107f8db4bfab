"""Versions of Spark, and how Spark writes values of confs."""

from __future__ import annotations

#: ``(major, minor)``.
SparkVersion = tuple[int, int]

SPARK_MIN: SparkVersion = (3, 4)
SPARK_MAX: SparkVersion = (4, 3)


def parse_spark_version(text: str) -> SparkVersion:
    """``"4.3.0"`` or ``"4.3"`` as ``(4, 3)``. Raises ValueError for a version outside SPARK_MIN to SPARK_MAX."""
    parts = text.split(".")
    try:
        version = (int(parts[0]), int(parts[1]))
    except (ValueError, IndexError):
        raise ValueError(f"{text!r} is not a Spark version, such as 4.3") from None
    if not SPARK_MIN <= version <= SPARK_MAX:
        supported = f"{version_text(SPARK_MIN)} to {version_text(SPARK_MAX)}"
        raise ValueError(f"Spark {text} is not supported; ckpt knows the confs of Spark {supported}")
    return version


def version_text(version: SparkVersion) -> str:
    """A version as people write it, such as ``4.3``."""
    return f"{version[0]}.{version[1]}"


def conf_text(value: object) -> str:
    """A value of a conf or an option as Spark writes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
