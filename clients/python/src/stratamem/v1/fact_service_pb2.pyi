import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import context_pb2 as _context_pb2
from stratamem.v1 import fact_pb2 as _fact_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateFactRequest(_message.Message):
    __slots__ = ("fact", "request_id", "author")
    FACT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    request_id: str
    author: str
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., request_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class CreateFactResponse(_message.Message):
    __slots__ = ("fact",)
    FACT_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ...) -> None: ...

class GetFactRequest(_message.Message):
    __slots__ = ("user_id", "fact_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    fact_id: str
    def __init__(self, user_id: _Optional[str] = ..., fact_id: _Optional[str] = ...) -> None: ...

class GetFactResponse(_message.Message):
    __slots__ = ("fact",)
    FACT_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ...) -> None: ...

class ListFactsRequest(_message.Message):
    __slots__ = ("user_id", "include_past", "categories", "session_id", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PAST_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    include_past: bool
    categories: _containers.RepeatedScalarFieldContainer[_fact_pb2.Category]
    session_id: str
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., include_past: bool = ..., categories: _Optional[_Iterable[_Union[_fact_pb2.Category, str]]] = ..., session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListFactsResponse(_message.Message):
    __slots__ = ("facts", "next_page_token")
    FACTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    facts: _containers.RepeatedCompositeFieldContainer[_fact_pb2.Fact]
    next_page_token: str
    def __init__(self, facts: _Optional[_Iterable[_Union[_fact_pb2.Fact, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SearchFactsRequest(_message.Message):
    __slots__ = ("user_id", "query", "categories", "min_score", "page_size", "as_of")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    query: str
    categories: _containers.RepeatedScalarFieldContainer[_fact_pb2.Category]
    min_score: float
    page_size: int
    as_of: _timestamp_pb2.Timestamp
    def __init__(self, user_id: _Optional[str] = ..., query: _Optional[str] = ..., categories: _Optional[_Iterable[_Union[_fact_pb2.Category, str]]] = ..., min_score: _Optional[float] = ..., page_size: _Optional[int] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FactHit(_message.Message):
    __slots__ = ("fact", "score")
    FACT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    score: _context_pb2.FactScore
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., score: _Optional[_Union[_context_pb2.FactScore, _Mapping]] = ...) -> None: ...

class SearchFactsResponse(_message.Message):
    __slots__ = ("hits", "degraded", "embedder")
    HITS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[FactHit]
    degraded: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    embedder: str
    def __init__(self, hits: _Optional[_Iterable[_Union[FactHit, _Mapping]]] = ..., degraded: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., embedder: _Optional[str] = ...) -> None: ...

class UpdateFactRequest(_message.Message):
    __slots__ = ("fact", "update_mask", "author")
    FACT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    update_mask: _field_mask_pb2.FieldMask
    author: str
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., author: _Optional[str] = ...) -> None: ...

class UpdateFactResponse(_message.Message):
    __slots__ = ("fact",)
    FACT_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ...) -> None: ...

class DeleteFactRequest(_message.Message):
    __slots__ = ("user_id", "fact_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    fact_id: str
    def __init__(self, user_id: _Optional[str] = ..., fact_id: _Optional[str] = ...) -> None: ...

class DeleteFactResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListFactRevisionsRequest(_message.Message):
    __slots__ = ("user_id", "fact_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    fact_id: str
    def __init__(self, user_id: _Optional[str] = ..., fact_id: _Optional[str] = ...) -> None: ...

class FactRevision(_message.Message):
    __slots__ = ("fact", "cause", "job_id", "author")
    FACT_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    cause: _fact_pb2.FactCause
    job_id: str
    author: str
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., cause: _Optional[_Union[_fact_pb2.FactCause, str]] = ..., job_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class ListFactRevisionsResponse(_message.Message):
    __slots__ = ("revisions",)
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    revisions: _containers.RepeatedCompositeFieldContainer[FactRevision]
    def __init__(self, revisions: _Optional[_Iterable[_Union[FactRevision, _Mapping]]] = ...) -> None: ...

class RestoreFactRequest(_message.Message):
    __slots__ = ("user_id", "fact_id", "revision", "author")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    fact_id: str
    revision: int
    author: str
    def __init__(self, user_id: _Optional[str] = ..., fact_id: _Optional[str] = ..., revision: _Optional[int] = ..., author: _Optional[str] = ...) -> None: ...

class RestoreFactResponse(_message.Message):
    __slots__ = ("fact", "superseded_fact_ids")
    FACT_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FACT_IDS_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    superseded_fact_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., superseded_fact_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListQuarantinedRequest(_message.Message):
    __slots__ = ("user_id", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class QuarantinedOperation(_message.Message):
    __slots__ = ("session_id", "job_id", "reason", "operation", "model", "create_time")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    job_id: str
    reason: str
    operation: str
    model: str
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, session_id: _Optional[str] = ..., job_id: _Optional[str] = ..., reason: _Optional[str] = ..., operation: _Optional[str] = ..., model: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListQuarantinedResponse(_message.Message):
    __slots__ = ("operations", "next_page_token")
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[QuarantinedOperation]
    next_page_token: str
    def __init__(self, operations: _Optional[_Iterable[_Union[QuarantinedOperation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
