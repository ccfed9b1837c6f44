import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import context_pb2 as _context_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Document(_message.Message):
    __slots__ = ("user_id", "namespace", "key", "value", "value_json", "index_fields", "unindexed", "ttl", "create_time", "update_time", "expire_time", "etag")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELDS_FIELD_NUMBER: _ClassVar[int]
    UNINDEXED_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    value: _struct_pb2.Struct
    value_json: str
    index_fields: _containers.RepeatedScalarFieldContainer[str]
    unindexed: bool
    ttl: _duration_pb2.Duration
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    etag: str
    def __init__(self, user_id: _Optional[str] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., value_json: _Optional[str] = ..., index_fields: _Optional[_Iterable[str]] = ..., unindexed: bool = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ...) -> None: ...

class PutDocumentRequest(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: Document
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ...) -> None: ...

class PutDocumentResponse(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: Document
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ...) -> None: ...

class GetDocumentRequest(_message.Message):
    __slots__ = ("user_id", "namespace", "key", "as_json", "keep_ttl")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    AS_JSON_FIELD_NUMBER: _ClassVar[int]
    KEEP_TTL_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    as_json: bool
    keep_ttl: bool
    def __init__(self, user_id: _Optional[str] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., as_json: bool = ..., keep_ttl: bool = ...) -> None: ...

class GetDocumentResponse(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: Document
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ...) -> None: ...

class DeleteDocumentRequest(_message.Message):
    __slots__ = ("user_id", "namespace", "key")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    def __init__(self, user_id: _Optional[str] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ...) -> None: ...

class DeleteDocumentResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDocumentsRequest(_message.Message):
    __slots__ = ("user_id", "namespace_prefix", "as_json", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    AS_JSON_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    namespace_prefix: _containers.RepeatedScalarFieldContainer[str]
    as_json: bool
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., namespace_prefix: _Optional[_Iterable[str]] = ..., as_json: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next_page_token")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    next_page_token: str
    def __init__(self, documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SearchDocumentsRequest(_message.Message):
    __slots__ = ("user_id", "namespace_prefix", "query", "filter", "page_size", "offset", "min_score", "as_json", "keep_ttl", "include_unrelated")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    AS_JSON_FIELD_NUMBER: _ClassVar[int]
    KEEP_TTL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_UNRELATED_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    namespace_prefix: _containers.RepeatedScalarFieldContainer[str]
    query: str
    filter: _struct_pb2.Struct
    page_size: int
    offset: int
    min_score: float
    as_json: bool
    keep_ttl: bool
    include_unrelated: bool
    def __init__(self, user_id: _Optional[str] = ..., namespace_prefix: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., filter: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., page_size: _Optional[int] = ..., offset: _Optional[int] = ..., min_score: _Optional[float] = ..., as_json: bool = ..., keep_ttl: bool = ..., include_unrelated: bool = ...) -> None: ...

class DocumentHit(_message.Message):
    __slots__ = ("document", "score")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    document: Document
    score: float
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class SearchDocumentsResponse(_message.Message):
    __slots__ = ("hits", "degraded", "embedder")
    HITS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[DocumentHit]
    degraded: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    embedder: str
    def __init__(self, hits: _Optional[_Iterable[_Union[DocumentHit, _Mapping]]] = ..., degraded: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., embedder: _Optional[str] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("user_id", "prefix", "suffix", "max_depth", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    SUFFIX_FIELD_NUMBER: _ClassVar[int]
    MAX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    prefix: _containers.RepeatedScalarFieldContainer[str]
    suffix: _containers.RepeatedScalarFieldContainer[str]
    max_depth: int
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., prefix: _Optional[_Iterable[str]] = ..., suffix: _Optional[_Iterable[str]] = ..., max_depth: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class Namespace(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, labels: _Optional[_Iterable[str]] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[Namespace]
    next_page_token: str
    def __init__(self, namespaces: _Optional[_Iterable[_Union[Namespace, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
