"""Write the names of all conditions of the Spark that is installed, and keep those of earlier ones.

python -m tests.explain.record_conditions
"""

from __future__ import annotations

from tests.explain.spark_catalogue import spark_names
from tests.package import PACKAGE

FILE = PACKAGE / "explain/other_conditions.txt"


def main() -> None:
    """Add the names that are new."""
    names = {*FILE.read_text().split(), *spark_names()}
    FILE.write_text("".join(f"{name}\n" for name in sorted(names)))


if __name__ == "__main__":
    main()
