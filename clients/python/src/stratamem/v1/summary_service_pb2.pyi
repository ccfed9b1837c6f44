import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import work_service_pb2 as _work_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SummaryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_KIND_UNSPECIFIED: _ClassVar[SummaryKind]
    SUMMARY_KIND_SESSION: _ClassVar[SummaryKind]
    SUMMARY_KIND_WEEK: _ClassVar[SummaryKind]
    SUMMARY_KIND_MONTH: _ClassVar[SummaryKind]

class SummaryCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_CAUSE_UNSPECIFIED: _ClassVar[SummaryCause]
    SUMMARY_CAUSE_CORRECTED: _ClassVar[SummaryCause]
    SUMMARY_CAUSE_RESTORED: _ClassVar[SummaryCause]
    SUMMARY_CAUSE_LIFTED: _ClassVar[SummaryCause]
    SUMMARY_CAUSE_REBUILT: _ClassVar[SummaryCause]
    SUMMARY_CAUSE_DELETED: _ClassVar[SummaryCause]
SUMMARY_KIND_UNSPECIFIED: SummaryKind
SUMMARY_KIND_SESSION: SummaryKind
SUMMARY_KIND_WEEK: SummaryKind
SUMMARY_KIND_MONTH: SummaryKind
SUMMARY_CAUSE_UNSPECIFIED: SummaryCause
SUMMARY_CAUSE_CORRECTED: SummaryCause
SUMMARY_CAUSE_RESTORED: SummaryCause
SUMMARY_CAUSE_LIFTED: SummaryCause
SUMMARY_CAUSE_REBUILT: SummaryCause
SUMMARY_CAUSE_DELETED: SummaryCause

class SummaryNode(_message.Message):
    __slots__ = ("node_id", "level", "from_seq", "to_seq", "text", "appended", "model", "create_time", "generation")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    APPENDED_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    level: int
    from_seq: int
    to_seq: int
    text: str
    appended: int
    model: str
    create_time: _timestamp_pb2.Timestamp
    generation: int
    def __init__(self, node_id: _Optional[str] = ..., level: _Optional[int] = ..., from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ..., text: _Optional[str] = ..., appended: _Optional[int] = ..., model: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., generation: _Optional[int] = ...) -> None: ...

class Summary(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name", "text", "through_seq", "start_time", "end_time", "nodes", "tokens", "corrected", "withheld", "rebuilding", "revision", "etag")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    THROUGH_SEQ_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CORRECTED_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    REBUILDING_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    text: str
    through_seq: int
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    nodes: _containers.RepeatedCompositeFieldContainer[SummaryNode]
    tokens: int
    corrected: bool
    withheld: bool
    rebuilding: bool
    revision: int
    etag: str
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ..., text: _Optional[str] = ..., through_seq: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[SummaryNode, _Mapping]]] = ..., tokens: _Optional[int] = ..., corrected: bool = ..., withheld: bool = ..., rebuilding: bool = ..., revision: _Optional[int] = ..., etag: _Optional[str] = ...) -> None: ...

class GetSummaryRequest(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetSummaryResponse(_message.Message):
    __slots__ = ("summary",)
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ...) -> None: ...

class ListSummariesRequest(_message.Message):
    __slots__ = ("user_id", "kind", "page_size", "page_token", "withheld")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    page_size: int
    page_token: str
    withheld: bool
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., withheld: bool = ...) -> None: ...

class ListSummariesResponse(_message.Message):
    __slots__ = ("summaries", "next_page_token")
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    summaries: _containers.RepeatedCompositeFieldContainer[Summary]
    next_page_token: str
    def __init__(self, summaries: _Optional[_Iterable[_Union[Summary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SummarizeRequest(_message.Message):
    __slots__ = ("user_id", "session_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class SummarizeResponse(_message.Message):
    __slots__ = ("summary", "complete")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    complete: bool
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ..., complete: bool = ...) -> None: ...

class RebuildSummaryRequest(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name", "request_id", "author")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    request_id: str
    author: str
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ..., request_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class RebuildSummaryResponse(_message.Message):
    __slots__ = ("summary",)
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ...) -> None: ...

class UpdateSummaryRequest(_message.Message):
    __slots__ = ("summary", "request_id", "author")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    request_id: str
    author: str
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ..., request_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class UpdateSummaryResponse(_message.Message):
    __slots__ = ("summary",)
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ...) -> None: ...

class ListSummaryRevisionsRequest(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class SummaryRevision(_message.Message):
    __slots__ = ("revision", "cause", "text", "tokens", "through_seq", "create_time", "author")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    THROUGH_SEQ_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    revision: int
    cause: SummaryCause
    text: str
    tokens: int
    through_seq: int
    create_time: _timestamp_pb2.Timestamp
    author: str
    def __init__(self, revision: _Optional[int] = ..., cause: _Optional[_Union[SummaryCause, str]] = ..., text: _Optional[str] = ..., tokens: _Optional[int] = ..., through_seq: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., author: _Optional[str] = ...) -> None: ...

class ListSummaryRevisionsResponse(_message.Message):
    __slots__ = ("revisions",)
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    revisions: _containers.RepeatedCompositeFieldContainer[SummaryRevision]
    def __init__(self, revisions: _Optional[_Iterable[_Union[SummaryRevision, _Mapping]]] = ...) -> None: ...

class RestoreSummaryRequest(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name", "revision", "etag", "request_id", "author")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    revision: int
    etag: str
    request_id: str
    author: str
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ..., revision: _Optional[int] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class RestoreSummaryResponse(_message.Message):
    __slots__ = ("summary",)
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    summary: Summary
    def __init__(self, summary: _Optional[_Union[Summary, _Mapping]] = ...) -> None: ...

class DeleteSummaryRequest(_message.Message):
    __slots__ = ("user_id", "kind", "session_id", "name", "request_id", "wait", "validate_only")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    kind: SummaryKind
    session_id: str
    name: str
    request_id: str
    wait: _duration_pb2.Duration
    validate_only: bool
    def __init__(self, user_id: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., session_id: _Optional[str] = ..., name: _Optional[str] = ..., request_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., validate_only: bool = ...) -> None: ...

class DeleteSummaryResponse(_message.Message):
    __slots__ = ("job", "extent")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    extent: _work_service_pb2.ErasureExtent
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., extent: _Optional[_Union[_work_service_pb2.ErasureExtent, _Mapping]] = ...) -> None: ...
