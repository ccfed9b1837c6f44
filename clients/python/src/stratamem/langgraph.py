"""A long-term store for LangGraph: pip install "stratamem[langgraph]"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from stratamem.errors import NotFound

_PAGE = 100  # hits of one SearchDocuments
_NAMESPACES = 1000  # of one ListNamespaces


class StrataStore(BaseStore):
    """Keeps the items of a LangGraph store as documents of a user of Strata: erased, exported and backed up with the user.

    user_id is whose they are: an id, or what makes it of a namespace; without it that of the run, config["configurable"]["user_id"].
    A search is about one user, so a namespace that names other users finds nothing of theirs. Items are searched by words and meaning;
    ttl is in minutes, as LangGraph has it, and ttl_config its defaults. client is for graphs that wait, aclient for asyncio; without
    them STRATA_SERVER and STRATA_KEY say where the server is.
    """

    supports_ttl = True
    __slots__ = ("_client", "_loops", "_user_id", "ttl_config")

    def __init__(
        self,
        user_id: str | Callable[[tuple[str, ...]], str] | None = None,
        *,
        client: Client | str | None = None,
        aclient: Address = None,
        ttl_config: TTLConfig | None = None,
    ) -> None:
        self._user_id = user_id
        self._client = client
        self._loops = PerLoop(aclient if aclient is not None or not isinstance(client, str) else client)
        self.ttl_config = ttl_config

    def _user(self, namespace: tuple[str, ...]) -> str:
        if callable(self._user_id):
            return self._user_id(namespace)
        if self._user_id is not None:
            return self._user_id
        user = get_config().get("configurable", {}).get("user_id")
        if not user:
            raise ValueError('StrataStore has no user: give it user_id, or run with config={"configurable": {"user_id": …}}')
        return str(user)

    def _waiting(self) -> Client:
        if not isinstance(self._client, Client):
            self._client = Client(self._client)
        return self._client

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does the operations one after the other: each sees what those before it did."""
        client = self._waiting()
        return [self._done(op, client) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As batch."""
        client = self._loops.client()
        return [await self._adone(op, client) for op in ops]

    def _done(self, op: Op, client: Client) -> Result:
        if isinstance(op, GetOp):
            try:
                return _item(client.documents.GetDocument(self._get(op)).document)
            except NotFound:
                return None
        if isinstance(op, PutOp):
            if op.value is None:
                client.delete_document(self._user(op.namespace), op.namespace, op.key)
            else:
                client.put_document(self._user(op.namespace), op.namespace, op.key, op.value, **_put(op))
            return None
        if isinstance(op, SearchOp):
            found: list[SearchItem] = []
            for request in self._searches(op):
                hits = client.documents.SearchDocuments(request).hits
                found += [_hit(h, op) for h in hits]
                if len(hits) < request.page_size:
                    break
            return found
        namespaces = client.pages(client.documents.ListNamespaces, self._namespaces(op), "namespaces")
        return _cut([tuple(n.labels) for n in namespaces], op)

    async def _adone(self, op: Op, client: AsyncClient) -> Result:
        if isinstance(op, GetOp):
            try:
                return _item((await client.documents.GetDocument(self._get(op))).document)
            except NotFound:
                return None
        if isinstance(op, PutOp):
            if op.value is None:
                await client.delete_document(self._user(op.namespace), op.namespace, op.key)
            else:
                await client.put_document(self._user(op.namespace), op.namespace, op.key, op.value, **_put(op))
            return None
        if isinstance(op, SearchOp):
            found: list[SearchItem] = []
            for request in self._searches(op):
                hits = (await client.documents.SearchDocuments(request)).hits
                found += [_hit(h, op) for h in hits]
                if len(hits) < request.page_size:
                    break
            return found
        namespaces = client.pages(client.documents.ListNamespaces, self._namespaces(op), "namespaces")
        return _cut([tuple(n.labels) async for n in namespaces], op)

    def _get(self, op: GetOp) -> v1.GetDocumentRequest:
        return v1.GetDocumentRequest(
            user_id=self._user(op.namespace), namespace=op.namespace, key=op.key, as_json=True, keep_ttl=not op.refresh_ttl
        )

    def _searches(self, op: SearchOp) -> Iterable[v1.SearchDocumentsRequest]:
        """The pages of a search."""
        for passed in range(0, op.limit, _PAGE):
            request = v1.SearchDocumentsRequest(
                user_id=self._user(op.namespace_prefix),
                namespace_prefix=op.namespace_prefix,
                query=op.query or "",
                page_size=min(_PAGE, op.limit - passed),
                offset=op.offset + passed,
                as_json=True,
                keep_ttl=not op.refresh_ttl,
            )
            if op.filter:
                request.filter.update(op.filter)
            yield request

    def _namespaces(self, op: ListNamespacesOp) -> v1.ListNamespacesRequest:
        request = v1.ListNamespacesRequest(max_depth=op.max_depth or 0, page_size=_NAMESPACES)
        for condition in op.match_conditions or ():
            getattr(request, condition.match_type).extend(condition.path)
        request.user_id = self._user(tuple(request.prefix))
        return request

    def close(self) -> None:
        """Closes the connection of graphs that wait, where the store made it."""
        if isinstance(self._client, Client):
            self._client.close()

    async def aclose(self) -> None:
        """Closes the connection of this loop, where the store made it."""
        await self._loops.close()


def _put(op: PutOp) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if op.index is False:
        fields["unindexed"] = True
    elif op.index:
        fields["index_fields"] = [path for path in op.index if path != "$"]
    if op.ttl is not None:
        fields["ttl"] = op.ttl * 60
    return fields


def _item(document: v1.Document) -> Item:
    return Item(
        value=document_value(document),
        key=document.key,
        namespace=tuple(document.namespace),
        created_at=_time(document.create_time),
        updated_at=_time(document.update_time),
    )


def _hit(hit: v1.DocumentHit, op: SearchOp) -> SearchItem:
    document = hit.document
    return SearchItem(
        namespace=tuple(document.namespace),
        key=document.key,
        value=document_value(document),
        created_at=_time(document.create_time),
        updated_at=_time(document.update_time),
        score=hit.score if op.query else None,
    )


def _time(stamp: Any) -> Any:
    from datetime import timezone

    return stamp.ToDatetime(tzinfo=timezone.utc)


def _cut(namespaces: list[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    return namespaces[op.offset : op.offset + op.limit]
