"""The JSON schema of SARIF 2.1.0, as OASIS published it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator, FormatChecker


@cache
def validator() -> Draft4Validator:
    """Formats are checked as well; without the libraries for them jsonschema would let every URI pass."""
    schema = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text())
    checker = FormatChecker()  # of every draft: the schema is of draft 4, and uri-reference is of draft 6
    assert {"uri", "uri-reference"} <= checker.checkers.keys()
    return Draft4Validator(schema, format_checker=checker)


def valid_run(text: str) -> dict[str, Any]:
    """The one run of a SARIF document, which has to be valid."""
    document = json.loads(text)
    errors = [f"{error.json_path}: {error.message}" for error in validator().iter_errors(document)]
    assert errors == []
    (run,) = document["runs"]
    return run
