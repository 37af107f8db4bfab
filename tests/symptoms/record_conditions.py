"""Write the names of all conditions of the Spark that is installed, and keep those of earlier ones.

python -m tests.symptoms.record_conditions
"""

from __future__ import annotations

from tests.package import PACKAGE
from tests.symptoms.spark_catalogue import spark_names

FILE = PACKAGE / "symptoms/other_conditions.txt"


def main() -> None:
    """Add the names that are new."""
    names = {*FILE.read_text().split(), *spark_names()}
    FILE.write_text("".join(f"{name}\n" for name in sorted(names)))


if __name__ == "__main__":
    main()
