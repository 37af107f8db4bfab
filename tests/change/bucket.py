"""A tree of files as objects of S3, each with what people give to objects beside their bytes.

``python -m tests.change.bucket`` prints what each change and its undo leave of that, as a table.
"""

from __future__ import annotations

import io
import uuid
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.storage.store import Store
from tests import s3_server
from tests.change.modes import CHANGES, UNDO, Tree, directory_with_modes, make_tree
from tests.goldens import Goldens

#: Type and encoding of the content, metadata and tags of each object, and of one that the driver makes by itself.
GIVEN = ("application/octet-stream", "identity", (("team", "orders"),), (("tier", "hot"),))
PLAIN = ("binary/octet-stream", None, (), ())
#: The changes whose objects are written by this package; Spark itself writes a repartition.
IN_BUCKET = tuple(change for change in CHANGES if change != "repartition")
#: All were put there at one moment, so it is decided which files a batch has written.
DECIDED = {"repair": ["--adopt", "10", "--accept-sink", "unknown"]}

#: As ``GIVEN``, and a checksum of the content.
Held = tuple[str, str | None, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], str]


@dataclass(frozen=True)
class Bucket:
    """A bucket of an S3 API.

    Args:
        fs: Its driver.
        name: Of the bucket.
    """

    fs: Any
    name: str

    def fill(self, tree: Tree) -> list[str]:
        """Put every file of a tree there; returns the command for it, on objects."""
        for path in sorted(path for path in tree.place.rglob("*") if path.is_file()):
            data = path.read_bytes().replace(f"file://{tree.place}".encode(), f"s3a://{self.name}".encode())
            self.fs.call_s3(
                "put_object",
                Bucket=self.name,
                Key=str(path.relative_to(tree.place)),
                Body=data,
                ContentType=GIVEN[0],
                ContentEncoding=GIVEN[1],
                Metadata=dict(GIVEN[2]),
                Tagging="&".join("=".join(tag) for tag in GIVEN[3]),
            )
        return [self.of(tree, word) for word in tree.words]

    def of(self, tree: Tree, word: str) -> str:
        """A word of a command, or a path, for the bucket."""
        return word.replace(str(tree.place), f"s3://{self.name}")

    def held(self) -> dict[str, Held]:
        """Every object, but for the records of changes."""
        keys = [path.partition("/")[2] for path in self.fs.find(self.name)]
        return {key: self._one(key) for key in keys if not key.startswith("_ckpt_undo/")}

    def _one(self, key: str) -> Held:
        place = {"Bucket": self.name, "Key": key}
        told = self.fs.call_s3("head_object", **place)
        tags = self.fs.call_s3("get_object_tagging", **place)["TagSet"]
        return (
            told["ContentType"],
            told.get("ContentEncoding"),
            tuple(told["Metadata"].items()),
            tuple((tag["Key"], tag["Value"]) for tag in tags),
            told["ETag"],  # of the content, where an object is written by one request, as these are
        )


def main() -> None:
    """Print the table."""
    with s3_server.serving() as url, pytest.MonkeyPatch.context() as patch, directory_with_modes() as goldens_home:
        options = {"key": "test", "secret": "test", "endpoint_url": url}
        words = [word for name, value in options.items() for word in ("--storage-option", f"{name}={value}")]
        driver = Store.open("s3://any", **options).fs
        for change in IN_BUCKET:
            bucket = Bucket(driver, f"test-{uuid.uuid4()}")
            driver.mkdir(bucket.name)
            with directory_with_modes() as place, redirect_stdout(io.StringIO()):
                tree = make_tree(change, place, Goldens(goldens_home), patch)
                command = bucket.fill(tree)
                before = bucket.held()
                codes = [run([*command, *DECIDED.get(change, ()), *words])]
                after = bucket.held()
                codes.append(run(["undo", bucket.of(tree, str(tree.checkpoint)), *UNDO, *words]))
                again = bucket.held()
            new = [after[name][:-1] for name in after.keys() - before.keys()]
            lost = sum(after[name][:-1] != GIVEN for name in after.keys() & before.keys())
            other = sum(before.get(name) != again.get(name) for name in before.keys() | again.keys())
            print(
                f"{change:22} objects of S3  exit {codes}  new {len(new):2}, {new.count(PLAIN)} of them plain  "
                f"type, metadata or tags lost {lost}  not as before after the undo {other} of {len(before)}"
            )


if __name__ == "__main__":
    main()
