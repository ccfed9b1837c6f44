"""The clients: Client for programs that wait, AsyncClient for asyncio. Both have the stubs of every service as attributes, whose
calls retry and raise StrataError like all others, and short forms of the calls that agents make."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, cast

import grpc
from google.protobuf import struct_pb2

from stratamem import _channel, _memory, messages, v1
from stratamem._channel import DEFAULT_TIMEOUT
from stratamem._requests import made
from stratamem.errors import NotFound
from stratamem.retry import Retry
from stratamem.v1 import (
    access_service_pb2_grpc,
    audit_service_pb2_grpc,
    document_service_pb2_grpc,
    fact_service_pb2_grpc,
    history_service_pb2_grpc,
    maintenance_service_pb2_grpc,
    memory_service_pb2_grpc,
    summary_service_pb2_grpc,
    user_service_pb2_grpc,
    work_service_pb2_grpc,
)

WorkName = Literal["indexed", "extracted", "summarised"]  #: the name of a kind of background work
_WORKS: dict[str, v1.Watermark] = {
    "indexed": v1.WATERMARK_INDEXED,
    "extracted": v1.WATERMARK_EXTRACTED,
    "summarised": v1.WATERMARK_SUMMARISED,
}

__all__ = ["AsyncClient", "Client", "document_value"]


def _record(user_id: str, session_id: str, said: Iterable[Any], state_patch: Mapping[str, Any] | None, **fields: Any) -> v1.RecordRequest:
    request = made(v1.RecordRequest, user_id=user_id, session_id=session_id, messages=messages.read_all(said), **fields)
    if state_patch:
        patch = struct_pb2.Struct()
        patch.update(dict(state_patch))
        request.state_patch.CopyFrom(patch)
    return request


def _build(user_id: str, session_id: str, query: str, pending: Iterable[Any], **fields: Any) -> v1.BuildContextRequest:
    return made(v1.BuildContextRequest, user_id=user_id, session_id=session_id, query=query, pending=messages.read_all(pending), **fields)


def _put(
    user_id: str, namespace: Iterable[str], key: str, value: Mapping[str, Any], ttl: float | None, **fields: Any
) -> v1.PutDocumentRequest:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    document = made(v1.Document, user_id=user_id, namespace=_labels(namespace), key=key, value_json=text, **fields)
    if ttl is not None:
        document.ttl.FromNanoseconds(int(ttl * 1e9))
    return v1.PutDocumentRequest(document=document)


def _find(
    user_id: str, query: str, namespace_prefix: Iterable[str], where: Mapping[str, Any] | None, **fields: Any
) -> v1.SearchDocumentsRequest:
    request = made(
        v1.SearchDocumentsRequest, user_id=user_id, query=query, namespace_prefix=_labels(namespace_prefix), as_json=True, **fields
    )
    if where:
        request.filter.update(dict(where))
    return request


def _labels(namespace: Iterable[str]) -> list[str]:
    """The labels of a namespace. A text is refused: its letters would be taken for labels."""
    if isinstance(namespace, str):
        raise TypeError('a namespace is a list of labels, such as ["memories", "food"], and not one text')
    return list(namespace)


def _watermarks(of: Iterable[v1.Watermark | WorkName]) -> list[v1.Watermark]:
    """The kinds of work by their names or numbers. What is none of them is refused by name."""
    out = []
    for w in of:
        known: Any = _WORKS.get(w, w) if isinstance(w, str) else w
        if not isinstance(known, int):
            raise TypeError(f"wait takes {', '.join(map(repr, _WORKS))} or v1.WATERMARK_…, and not {w!r}")
        out.append(cast("v1.Watermark", known))
    return out


def document_value(document: v1.Document) -> dict[str, Any]:
    """What a document holds, with its numbers as they were put."""
    return cast("dict[str, Any]", json.loads(document.value_json))


def _next(request: Any, page: Any) -> bool:
    """Turns the request to the page after this one; False at the end."""
    request.page_token = page.next_page_token
    return bool(page.next_page_token)


class Client:
    """Calls one server, over one connection that any number of threads may share.

    address and key are those of STRATA_SERVER and STRATA_KEY where they are not given, as for the strata command; the address
    is 127.0.0.1:8081 where that is not set either. tls is True for the machine's certificate authorities, as with an address that
    begins with https://, or credentials of grpc. timeout is how long one call may take with all its attempts, in seconds.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        retry: Retry | None = None,
        tls: bool | grpc.ChannelCredentials = False,
    ) -> None:
        self.settings = _channel.settings(address, key, timeout, retry, tls)
        self._connection = _channel.connect(self.settings)
        channel = cast(grpc.Channel, _channel.Channel(self._connection, self.settings))
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.facts = fact_service_pb2_grpc.FactServiceStub(channel)
        self.documents = document_service_pb2_grpc.DocumentServiceStub(channel)
        self.summaries = summary_service_pb2_grpc.SummaryServiceStub(channel)
        self.users = user_service_pb2_grpc.UserServiceStub(channel)
        self.history = history_service_pb2_grpc.HistoryServiceStub(channel)
        self.work = work_service_pb2_grpc.WorkServiceStub(channel)
        self.maintenance = maintenance_service_pb2_grpc.MaintenanceServiceStub(channel)
        self.keys = access_service_pb2_grpc.KeyServiceStub(channel)
        self.tenants = access_service_pb2_grpc.TenantServiceStub(channel)
        self.audit = audit_service_pb2_grpc.AuditServiceStub(channel)

    def close(self) -> None:
        """Closes the connection. Calls after it fail."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def record(
        self,
        user_id: str,
        session_id: str,
        said: Iterable[Any] = (),
        *,
        state_patch: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **fields: Any,
    ) -> v1.RecordResponse:
        """Records a turn: messages of v1, or of a provider as stratamem.messages reads them. fields are those of RecordRequest."""
        return self.memory.Record(_record(user_id, session_id, said, state_patch, **fields), timeout=timeout)

    def build_context(
        self,
        user_id: str,
        session_id: str,
        query: str = "",
        *,
        pending: Iterable[Any] = (),
        timeout: float | None = None,
        **fields: Any,
    ) -> v1.BuildContextResponse:
        """Builds the context of the next model call. fields are those of BuildContextRequest; see messages.rendered."""
        return self.memory.BuildContext(_build(user_id, session_id, query, pending, **fields), timeout=timeout)

    def recall(
        self,
        user_id: str,
        session_id: str,
        query: str,
        *,
        beside: Iterable[Any] = (),
        summary: bool = False,
        timeout: float | None = None,
        **fields: Any,
    ) -> str:
        """What memory knows that helps with the query, as one text between fences, "" for nothing: for agents that hold their
        session's messages themselves. What the messages beside it say is left out; summary has it hold the session's summary,
        for messages that do not reach back to the beginning. fields are those of BuildContextRequest."""
        request = _memory.request(user_id, session_id, query, beside, summary, **fields)
        return _memory.block(self.memory.BuildContext(request, timeout=timeout))

    def messages(self, user_id: str, session_id: str, **fields: Any) -> Iterator[v1.Message]:
        """The session's messages in order, page by page as they are read; messages.text_of has the words of each, which stand in
        its parts as a rule. fields are those of ListMessagesRequest."""
        request = made(v1.ListMessagesRequest, user_id=user_id, session_id=session_id, **fields)
        return self.pages(self.memory.ListMessages, request, "messages")

    def sessions(self, user_id: str, **fields: Any) -> Iterator[v1.Session]:
        """The user's sessions, the one spoken in last first."""
        return self.pages(self.memory.ListSessions, made(v1.ListSessionsRequest, user_id=user_id, **fields), "sessions")

    def search(self, user_id: str, query: str, **fields: Any) -> Iterator[v1.MessageHit]:
        """The user's messages that answer the query, best first; fields are those of SearchMessagesRequest."""
        return self.pages(self.memory.SearchMessages, made(v1.SearchMessagesRequest, user_id=user_id, query=query, **fields), "hits")

    def known_facts(self, user_id: str, **fields: Any) -> Iterator[v1.Fact]:
        """What is known about the user; fields are those of ListFactsRequest."""
        return self.pages(self.facts.ListFacts, made(v1.ListFactsRequest, user_id=user_id, **fields), "facts")

    def put_document(
        self,
        user_id: str,
        namespace: Iterable[str],
        key: str,
        value: Mapping[str, Any],
        *,
        ttl: float | None = None,
        **fields: Any,
    ) -> v1.Document:
        """Stores a JSON object under a namespace and a key, for so many seconds after it was put or read last where ttl is given;
        fields are those of Document."""
        return self.documents.PutDocument(_put(user_id, namespace, key, value, ttl, **fields)).document

    def document(self, user_id: str, namespace: Iterable[str], key: str, **fields: Any) -> v1.Document | None:
        """The document, None where there is none; document_value has what it holds."""
        request = made(v1.GetDocumentRequest, user_id=user_id, namespace=_labels(namespace), key=key, as_json=True, **fields)
        try:
            return self.documents.GetDocument(request).document
        except NotFound:
            return None

    def find_documents(
        self,
        user_id: str,
        query: str = "",
        *,
        namespace_prefix: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> v1.SearchDocumentsResponse:
        """Documents for the query, best first, or the latest put without one. where is a filter, such as {"rating": {"$gte": 4}};
        fields are those of SearchDocumentsRequest."""
        return self.documents.SearchDocuments(_find(user_id, query, namespace_prefix, where, **fields))

    def list_documents(self, user_id: str, namespace_prefix: Iterable[str] = (), **fields: Any) -> Iterator[v1.Document]:
        """All documents, by namespace and key; fields are those of ListDocumentsRequest."""
        request = made(v1.ListDocumentsRequest, user_id=user_id, namespace_prefix=_labels(namespace_prefix), as_json=True, **fields)
        return self.pages(self.documents.ListDocuments, request, "documents")

    def delete_document(self, user_id: str, namespace: Iterable[str], key: str) -> bool:
        """Deletes a document; whether there was one."""
        try:
            self.documents.DeleteDocument(v1.DeleteDocumentRequest(user_id=user_id, namespace=_labels(namespace), key=key))
        except NotFound:
            return False
        return True

    def wait(self, user_id: str, session_id: str, *of: v1.Watermark | WorkName, timeout: float = 10.0) -> bool:
        """Waits for background work on what is recorded, for at most so many seconds, and no longer than the server's
        request-timeout, 10 s by default; whether it is done."""
        request = v1.WaitForWatermarkRequest(user_id=user_id, session_id=session_id, of=_watermarks(of))
        request.timeout.FromNanoseconds(int(timeout * 1e9))
        return self.work.WaitForWatermark(request, timeout=timeout + self.settings.timeout).reached

    def pages(self, call: Callable[[Any], Any], request: Any, items: str) -> Iterator[Any]:
        """What all pages of a list hold, from the request's page on. items is the field of the reply that has them."""
        copy = type(request)()
        copy.CopyFrom(request)
        while True:
            page = call(copy)
            yield from getattr(page, items)
            if not _next(copy, page):
                return


class AsyncClient:
    """Client for asyncio. It is made in the loop that uses it."""

    def __init__(
        self,
        address: str | None = None,
        *,
        key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        retry: Retry | None = None,
        tls: bool | grpc.ChannelCredentials = False,
    ) -> None:
        self.settings = _channel.settings(address, key, timeout, retry, tls)
        self._connection = _channel.connect_async(self.settings)
        channel = cast(grpc.aio.Channel, _channel.AsyncChannel(self._connection, self.settings))
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.facts = fact_service_pb2_grpc.FactServiceStub(channel)
        self.documents = document_service_pb2_grpc.DocumentServiceStub(channel)
        self.summaries = summary_service_pb2_grpc.SummaryServiceStub(channel)
        self.users = user_service_pb2_grpc.UserServiceStub(channel)
        self.history = history_service_pb2_grpc.HistoryServiceStub(channel)
        self.work = work_service_pb2_grpc.WorkServiceStub(channel)
        self.maintenance = maintenance_service_pb2_grpc.MaintenanceServiceStub(channel)
        self.keys = access_service_pb2_grpc.KeyServiceStub(channel)
        self.tenants = access_service_pb2_grpc.TenantServiceStub(channel)
        self.audit = audit_service_pb2_grpc.AuditServiceStub(channel)

    async def close(self) -> None:
        """Closes the connection. Calls after it fail."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def record(
        self,
        user_id: str,
        session_id: str,
        said: Iterable[Any] = (),
        *,
        state_patch: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **fields: Any,
    ) -> v1.RecordResponse:
        """As Client.record."""
        return await self.memory.Record(_record(user_id, session_id, said, state_patch, **fields), timeout=timeout)

    async def build_context(
        self,
        user_id: str,
        session_id: str,
        query: str = "",
        *,
        pending: Iterable[Any] = (),
        timeout: float | None = None,
        **fields: Any,
    ) -> v1.BuildContextResponse:
        """As Client.build_context."""
        return await self.memory.BuildContext(_build(user_id, session_id, query, pending, **fields), timeout=timeout)

    async def recall(
        self,
        user_id: str,
        session_id: str,
        query: str,
        *,
        beside: Iterable[Any] = (),
        summary: bool = False,
        timeout: float | None = None,
        **fields: Any,
    ) -> str:
        """As Client.recall."""
        request = _memory.request(user_id, session_id, query, beside, summary, **fields)
        return _memory.block(await self.memory.BuildContext(request, timeout=timeout))

    def messages(self, user_id: str, session_id: str, **fields: Any) -> AsyncIterator[v1.Message]:
        """As Client.messages."""
        request = made(v1.ListMessagesRequest, user_id=user_id, session_id=session_id, **fields)
        return self.pages(self.memory.ListMessages, request, "messages")

    def sessions(self, user_id: str, **fields: Any) -> AsyncIterator[v1.Session]:
        """As Client.sessions."""
        return self.pages(self.memory.ListSessions, made(v1.ListSessionsRequest, user_id=user_id, **fields), "sessions")

    def search(self, user_id: str, query: str, **fields: Any) -> AsyncIterator[v1.MessageHit]:
        """As Client.search."""
        return self.pages(self.memory.SearchMessages, made(v1.SearchMessagesRequest, user_id=user_id, query=query, **fields), "hits")

    def known_facts(self, user_id: str, **fields: Any) -> AsyncIterator[v1.Fact]:
        """As Client.known_facts."""
        return self.pages(self.facts.ListFacts, made(v1.ListFactsRequest, user_id=user_id, **fields), "facts")

    async def put_document(
        self,
        user_id: str,
        namespace: Iterable[str],
        key: str,
        value: Mapping[str, Any],
        *,
        ttl: float | None = None,
        **fields: Any,
    ) -> v1.Document:
        """As Client.put_document."""
        return (await self.documents.PutDocument(_put(user_id, namespace, key, value, ttl, **fields))).document

    async def document(self, user_id: str, namespace: Iterable[str], key: str, **fields: Any) -> v1.Document | None:
        """As Client.document."""
        request = made(v1.GetDocumentRequest, user_id=user_id, namespace=_labels(namespace), key=key, as_json=True, **fields)
        try:
            return (await self.documents.GetDocument(request)).document
        except NotFound:
            return None

    async def find_documents(
        self,
        user_id: str,
        query: str = "",
        *,
        namespace_prefix: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> v1.SearchDocumentsResponse:
        """As Client.find_documents."""
        return await self.documents.SearchDocuments(_find(user_id, query, namespace_prefix, where, **fields))

    def list_documents(self, user_id: str, namespace_prefix: Iterable[str] = (), **fields: Any) -> AsyncIterator[v1.Document]:
        """As Client.list_documents."""
        request = made(v1.ListDocumentsRequest, user_id=user_id, namespace_prefix=_labels(namespace_prefix), as_json=True, **fields)
        return self.pages(self.documents.ListDocuments, request, "documents")

    async def delete_document(self, user_id: str, namespace: Iterable[str], key: str) -> bool:
        """As Client.delete_document."""
        try:
            await self.documents.DeleteDocument(v1.DeleteDocumentRequest(user_id=user_id, namespace=_labels(namespace), key=key))
        except NotFound:
            return False
        return True

    async def wait(self, user_id: str, session_id: str, *of: v1.Watermark | WorkName, timeout: float = 10.0) -> bool:
        """As Client.wait."""
        request = v1.WaitForWatermarkRequest(user_id=user_id, session_id=session_id, of=_watermarks(of))
        request.timeout.FromNanoseconds(int(timeout * 1e9))
        return (await self.work.WaitForWatermark(request, timeout=timeout + self.settings.timeout)).reached

    async def pages(self, call: Callable[[Any], Any], request: Any, items: str) -> AsyncIterator[Any]:
        """As Client.pages."""
        copy = type(request)()
        copy.CopyFrom(request)
        while True:
            page = await call(copy)
            for item in getattr(page, items):
                yield item
            if not _next(copy, page):
                return
