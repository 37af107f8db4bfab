"""A store whose driver speaks asyncio, used in an event loop without a thread."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from airflow_provider_ckpt.storage.drivers import is_itself
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import most_bytes


class AsyncStore(Store):
    """Listing and reading in an event loop, natively: S3 alone, the one such driver that is tested here.

    It has a file system of its own: one that is shared with blocking callers would be bound to the wrong event loop.
    """

    @classmethod
    async def beside(cls, store: Store) -> AsyncStore | None:
        """A native store of the same location; None when its driver has to block."""
        if "s3" not in store.fs.protocol:
            return None
        session = await asyncio.to_thread(_session, store.fs)
        options = {**store.fs.storage_options, "asynchronous": True, "skip_instance_cache": True, "session": session}
        fs = type(store.fs)(*store.fs.storage_args, **options)
        await fs.set_session()
        return cls(fs, store.root, store.location, store.calls)

    async def listing(self, directory: str) -> dict[str, StoredObject]:
        """The objects of one directory, as :meth:`Store.ls` has them."""
        path = self._path(directory)
        with self._errors(directory):
            try:
                infos = await self.fs._lsdir(path, refresh=True)  # noqa: SLF001  # one request also when it is empty
            except FileNotFoundError:
                return {}
        return self._split(info for info in infos if not is_itself(info, path, self.fs))[0]

    async def fetch(self, name: str) -> bytes:
        """The bytes of an object, as :meth:`Store.read` returns them."""
        with self._errors(name):
            most = most_bytes(name)
            try:
                data = bytes(await self.fs._cat_file(self._path(name), start=0, end=most + 1))  # noqa: SLF001  # fsspec's asynchronous calls have these names
            except FileNotFoundError:
                raise
            except OSError:  # object stores have no range of nothing
                if (await self.fs._info(self._path(name)))["size"]:  # noqa: SLF001  # fsspec's asynchronous calls have these names
                    raise
                data = b""
            return self._whole(name, data, most)

    def at(self, location: str) -> AsyncStore:
        """Open the store at a location; see :meth:`Store.at`."""
        store = super().at(location)
        return AsyncStore(store.fs, store.root, store.location, store.calls)

    async def close(self) -> None:
        """Close the connections."""
        session: Any = await self.fs.set_session()
        await session.close()


def _session(fs: Any) -> Any:
    """The session of an S3 driver, which has read what it has to know of S3: in the event loop that would block it."""
    from aiobotocore.session import AioSession

    if session := fs.storage_options.get("session"):
        return session
    session = AioSession(**fs.kwargs)
    session.register_component("data_loader", _descriptions())
    return session


@cache
def _descriptions() -> Any:
    """Load botocore's description of S3 (10 MB) once for all sessions."""
    from botocore.session import Session

    loader = Session().get_component("data_loader")
    loader.load_service_model("s3", "service-2")
    loader.load_service_model("s3", "endpoint-rule-set-1")
    return loader
