"""Reading the files of a record, which somebody may have damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import MOST
from airflow_provider_ckpt.untrusted.limits import RECORD_BYTES, size_text


class Note:
    """The JSON object of one file of a record; empty when it is not there."""

    def __init__(self, store: Store, name: str, files: Mapping[str, StoredObject]) -> None:
        self._store, self._name = store, name
        self._value = parsed(store, name, read_bytes(store, name)) if name in files else {}

    def text(self, key: str) -> str:
        """A text, or empty when it is not said."""
        value = self._value.get(key, "")
        if not isinstance(value, str):
            raise damaged(self._store, self._name, "is not valid")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Several texts; none when it is not said."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise damaged(self._store, self._name, "is not valid")
        return tuple(value)

    def number(self, key: str) -> int | None:
        """A whole number, or None when it is not said."""
        value = self._value.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST):
            raise damaged(self._store, self._name, "is not valid")
        return value


def read_bytes(store: Store, name: str, most: int = RECORD_BYTES) -> bytes:
    """A file of a record. Raises StoreError when it cannot be read or is larger than ``most`` bytes."""
    try:
        data = store.read_up_to(name, most + 1)
    except StoreUnavailableError:
        raise
    except StoreError as error:
        raise damaged(store, name, f"cannot be read ({error.message})") from None
    if len(data) > most:
        raise damaged(store, name, f"is larger than {size_text(most)}")
    return data


def parsed(store: Store, name: str, data: bytes) -> dict[str, Any]:
    """The JSON object that a file of a record holds. Raises StoreError for anything else."""
    try:
        value = parse_json(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise damaged(store, name, "is not valid")
    return value


def damaged(store: Store, name: str, problem: str) -> StoreError:
    """Error for a damaged record, with its remedy."""
    hint = (
        "ckpt cannot use this record. Move its directory away; its directory saved/ has the files that the change "
        "removed."
    )
    return StoreError(f"the record of a change {problem}", location=store.location, name=name, hint=hint)
