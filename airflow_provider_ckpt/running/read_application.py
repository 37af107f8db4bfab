"""Reading what is started: the declaration, with the content of the files that it names."""

from __future__ import annotations

from itertools import pairwise

from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.errors import EngineError, StoreError
from airflow_provider_ckpt.query.engine import ENGINES, FILE
from airflow_provider_ckpt.running.find_unit import Unit
from airflow_provider_ckpt.untrusted.limits import MIB
from airflow_provider_ckpt.untrusted.secrets import may_be_secret

_MOST_BYTES = MIB


def read_application(unit: Unit) -> Application:
    """What the query file declares of an application, to be started and to be kept in its record.

    Raises:
        EngineError: A file that it names cannot be read, or it may hold a secret, as its words may, which no record
            is to have.
    """
    declared = unit.declared
    for key, value in declared.application.items():
        for option, word in pairwise(value) if isinstance(value, tuple) else ():
            is_placeholder = word.startswith("{") and word.endswith("}")
            if option.startswith("-") and not is_placeholder and may_be_secret(option.lstrip("-"), word):
                raise EngineError(
                    f"the word behind {option} in {key} of {unit.name} may be a secret, and is kept in the record.",
                    hint="Nothing was done. Take it from a secret of the platform, or from the environment.",
                )
    files = {key for key, form in ENGINES[declared.name].items() if form == FILE}
    texts = {key: _read(unit, key, place) for key, place in declared.application.items() if key in files}
    return Application(declared.name, dict(declared.application), texts)


def _read(unit: Unit, key: str, place: str) -> str:
    directory, _, name = place.rpartition("/")
    try:
        data = unit.opener(directory or ".").read_up_to(name, _MOST_BYTES + 1)
        text = data.decode()
    except (StoreError, UnicodeDecodeError) as error:
        raise EngineError(f"the {key} of {unit.name} cannot be read: {error}.", hint="Nothing was done.") from None
    if len(data) > _MOST_BYTES:
        raise EngineError(f"the {key} of {unit.name}, {place}, is larger than 1 MiB.", hint="Nothing was done.")
    for number, line in enumerate(text.splitlines(), 1):
        named, _, value = line.strip().strip("-").strip().partition(": ")
        if value and may_be_secret(named, value.strip("\"'")):
            raise EngineError(
                f"the {key} of {unit.name}, {place} line {number}, may hold a secret, and is kept in the record.",
                hint="Nothing was done. Take it from a secret of the platform.",
            )
    return text
