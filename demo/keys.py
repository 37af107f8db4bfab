"""Make the secrets that the services of docker-compose.yaml share: once, at the first start.

    python demo/keys.py DIRECTORY     # with POSTGRES_ADDRESS, by default postgres:5432

Every Airflow process must have the same Fernet key (or the triggerer cannot decrypt what the scheduler wrote), the same
API secret (or no task log can be read) and the same JWT secret (or no task can report). A file that is there already is
left as it is, so a restart keeps the keys.
"""

from __future__ import annotations

import base64
import os
import secrets
import sys
from pathlib import Path


def write_keys(directory: Path) -> None:
    """Write each secret to a file of its own, unless it is there."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("api_secret", "jwt_secret", "postgres_password", "s3_password"):
        _write_once(directory / name, secrets.token_urlsafe(32))
    _write_once(directory / "fernet_key", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    postgres, s3 = ((directory / name).read_text() for name in ("postgres_password", "s3_password"))
    address = os.environ.get("POSTGRES_ADDRESS", "postgres:5432")
    _write_once(directory / "database_url", f"postgresql+psycopg2://airflow:{postgres}@{address}/airflow")
    _write_once(directory / "aws", f"[default]\naws_access_key_id = lake\naws_secret_access_key = {s3}\n")


def _write_once(path: Path, text: str) -> None:
    """The services run as different users, so each that mounts the volume may read the file."""
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError:
        return
    path.chmod(0o644)


if __name__ == "__main__":
    write_keys(Path(sys.argv[1]))
