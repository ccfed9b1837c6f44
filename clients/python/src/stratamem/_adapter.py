"""What adapters share."""

from __future__ import annotations

import asyncio
import weakref

from stratamem.client import AsyncClient

Address = str | AsyncClient | None  #: a client, or the address of a server; None for STRATA_SERVER


class PerLoop:
    """A client for each loop of asyncio, since frameworks run one agent in several, one after the other. It is made when it is first
    asked for. A client that was given is used in every loop, and stays open."""

    def __init__(self, client: Address) -> None:
        self._given = client if isinstance(client, AsyncClient) else None
        self._address = client if isinstance(client, str) else None
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = weakref.WeakKeyDictionary()
        self._closed = False

    def client(self) -> AsyncClient:
        if self._closed:
            raise RuntimeError("it is closed: make another to go on")
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = AsyncClient(self._address)
        return self._clients[loop]

    async def close(self) -> None:
        self._closed = True
        mine = self._clients.pop(asyncio.get_running_loop(), None)
        if mine is not None:
            await mine.close()
