"""A long-term store for LangGraph: pip install "stratamem[langgraph]"."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import timezone
from itertools import zip_longest
from typing import Any

from langgraph.config import get_config
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from stratamem import v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import AsyncClient, Client, document_value

_PAGE = 40  # hits of one SearchDocuments: a reply of 3 MiB has room for so many of the largest, so that a shorter page is the last
_NAMESPACES = 1000  # of one ListNamespaces
_DEPTH = 16  # labels of the deepest namespace


class StrataStore(BaseStore):
    """Keeps the items of a LangGraph store as documents of a user of Strata, erased, exported and backed up with the user.

    user_id is whose they are: an id, or a function that makes it of a namespace, or of the prefix of a search or a list. What is not
    given is the run's: user_id of config["configurable"]. Every operation is about one user, and finds nothing of others. ttl_config
    has the defaults of times to live, in minutes; what has expired is never returned. client is for graphs that wait, aclient for
    asyncio; without them STRATA_SERVER and STRATA_KEY say where the server is.
    """

    supports_ttl = True

    def __init__(
        self,
        user_id: str | Callable[[tuple[str, ...]], str] | None = None,
        *,
        client: Client | str | None = None,
        aclient: Address = None,
        ttl_config: TTLConfig | None = None,
    ) -> None:
        self._user_id = user_id
        self._given = client if isinstance(client, Client) else None
        self._address = client if isinstance(client, str) else None
        self._made: Client | None = None
        self._making = threading.Lock()  # tools of one step run in threads of their own
        self._closed = False
        self._loops = PerLoop(aclient if aclient is not None else self._address)
        self.ttl_config = ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does the operations one after the other: each sees what those before it did. One that fails ends the batch."""
        client = self._waiting()
        return [self._done(op, client) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As batch."""
        client = self._loops.client()
        return [await self._adone(op, client) for op in ops]

    def close(self) -> None:
        """Closes the connection of graphs that wait, unless it was given. Operations after it fail."""
        with self._making:
            self._closed = True
            if self._made is not None:
                self._made.close()

    async def aclose(self) -> None:
        """Closes the connection of this loop, unless it was given. Operations with asyncio fail after it."""
        await self._loops.close()

    def _waiting(self) -> Client:
        if self._given is not None:
            return self._given
        with self._making:
            if self._closed:
                raise RuntimeError("the store is closed: make another to go on")
            if self._made is None:
                self._made = Client(self._address)
            return self._made

    def _done(self, op: Op, client: Client) -> Result:
        if isinstance(op, GetOp):
            document = client.document(self._user(tuple(op.namespace)), op.namespace, op.key, keep_ttl=not op.refresh_ttl)
            return None if document is None else _item(document)
        if isinstance(op, PutOp):
            user = self._user(tuple(op.namespace))
            if op.value is None:
                client.delete_document(user, op.namespace, op.key)
            else:
                client.put_document(user, op.namespace, op.key, op.value, **_put(op))
            return None
        if isinstance(op, SearchOp):
            user = self._user(tuple(op.namespace_prefix))
            found: list[SearchItem] = []
            for page in _pages(op):
                hits = client.find_documents(user, **page).hits
                found += [_hit(h, op) for h in hits]
                if len(hits) < page["page_size"]:
                    break
            return found
        request = _namespaces(op)
        if request is None:
            return []
        request.user_id = self._user(tuple(request.prefix))
        return _cut([tuple(n.labels) for n in client.pages(client.documents.ListNamespaces, request, "namespaces")], op)

    async def _adone(self, op: Op, client: AsyncClient) -> Result:
        if isinstance(op, GetOp):
            document = await client.document(self._user(tuple(op.namespace)), op.namespace, op.key, keep_ttl=not op.refresh_ttl)
            return None if document is None else _item(document)
        if isinstance(op, PutOp):
            user = self._user(tuple(op.namespace))
            if op.value is None:
                await client.delete_document(user, op.namespace, op.key)
            else:
                await client.put_document(user, op.namespace, op.key, op.value, **_put(op))
            return None
        if isinstance(op, SearchOp):
            user = self._user(tuple(op.namespace_prefix))
            found: list[SearchItem] = []
            for page in _pages(op):
                hits = (await client.find_documents(user, **page)).hits
                found += [_hit(h, op) for h in hits]
                if len(hits) < page["page_size"]:
                    break
            return found
        request = _namespaces(op)
        if request is None:
            return []
        request.user_id = self._user(tuple(request.prefix))
        return _cut([tuple(n.labels) async for n in client.pages(client.documents.ListNamespaces, request, "namespaces")], op)

    def _user(self, namespace: tuple[str, ...]) -> str:
        if callable(self._user_id):
            return self._user_id(namespace)
        user = self._user_id
        if user is None:
            with contextlib.suppress(RuntimeError):  # outside of a graph
                user = get_config().get("configurable", {}).get("user_id")
        if not user:
            raise ValueError('the store needs a user: give user_id to StrataStore, or run with config={"configurable": {"user_id": …}}')
        return str(user)


def _put(op: PutOp) -> dict[str, Any]:
    """What a put says beside the value. A path $ is the whole value."""
    fields: dict[str, Any] = {}
    if op.index is not None and not op.index:
        fields["unindexed"] = True
    elif op.index and "$" not in op.index:
        fields["index_fields"] = op.index
    if op.ttl is not None:
        fields["ttl"] = op.ttl * 60
    return fields


def _pages(op: SearchOp) -> Iterator[dict[str, Any]]:
    """What to ask for, page by page."""
    for passed in range(0, op.limit, _PAGE):
        yield {
            "query": op.query or "",
            "namespace_prefix": op.namespace_prefix,
            "where": op.filter,
            "page_size": min(_PAGE, op.limit - passed),
            "offset": op.offset + passed,
            "keep_ttl": not op.refresh_ttl,
            "include_unrelated": True,  # a store's query ranks, and leaves nothing out
        }


def _namespaces(op: ListNamespacesOp) -> v1.ListNamespacesRequest | None:
    """Asks for the namespaces that fit all conditions; None where none can."""
    conditions = op.match_conditions or ()
    prefix = _joint([c.path for c in conditions if c.match_type == "prefix"])
    suffix = _joint([c.path[::-1] for c in conditions if c.match_type == "suffix"])
    if prefix is None or suffix is None:
        return None
    depth = min(op.max_depth or 0, _DEPTH)
    return v1.ListNamespacesRequest(prefix=prefix, suffix=suffix[::-1], max_depth=depth, page_size=_NAMESPACES)


def _joint(patterns: list[tuple[str, ...]]) -> list[str] | None:
    """The pattern of what fits all patterns, label by label from the first; None where two of them contradict each other."""
    out = []
    for labels in zip_longest(*patterns, fillvalue="*"):
        named = set(labels) - {"*"}
        if len(named) > 1:
            return None
        out.append(named.pop() if named else "*")
    return out


def _cut(namespaces: list[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    return namespaces[op.offset : op.offset + op.limit]


def _item(document: v1.Document) -> Item:
    return Item(**_fields(document))


def _hit(hit: v1.DocumentHit, op: SearchOp) -> SearchItem:
    return SearchItem(**_fields(hit.document), score=hit.score if op.query else None)


def _fields(document: v1.Document) -> dict[str, Any]:
    return {
        "value": document_value(document),
        "key": document.key,
        "namespace": tuple(document.namespace),
        "created_at": document.create_time.ToDatetime(tzinfo=timezone.utc),
        "updated_at": document.update_time.ToDatetime(tzinfo=timezone.utc),
    }
