from google.api import annotations_pb2 as _annotations_pb2
from stratamem.v1 import work_service_pb2 as _work_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetentionRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RETENTION_RULE_UNSPECIFIED: _ClassVar[RetentionRule]
    RETENTION_RULE_SESSION_AGE: _ClassVar[RetentionRule]
    RETENTION_RULE_MESSAGE_AGE: _ClassVar[RetentionRule]
    RETENTION_RULE_MAX_MESSAGES: _ClassVar[RetentionRule]
    RETENTION_RULE_FACT_AGE: _ClassVar[RetentionRule]
    RETENTION_RULE_UNUSED: _ClassVar[RetentionRule]
    RETENTION_RULE_MAX_FACTS: _ClassVar[RetentionRule]
RETENTION_RULE_UNSPECIFIED: RetentionRule
RETENTION_RULE_SESSION_AGE: RetentionRule
RETENTION_RULE_MESSAGE_AGE: RetentionRule
RETENTION_RULE_MAX_MESSAGES: RetentionRule
RETENTION_RULE_FACT_AGE: RetentionRule
RETENTION_RULE_UNUSED: RetentionRule
RETENTION_RULE_MAX_FACTS: RetentionRule

class ReembedRequest(_message.Message):
    __slots__ = ("model", "dimension")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    dimension: int
    def __init__(self, model: _Optional[str] = ..., dimension: _Optional[int] = ...) -> None: ...

class ReembedResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ...) -> None: ...

class ReindexRequest(_message.Message):
    __slots__ = ("views",)
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    views: _containers.RepeatedScalarFieldContainer[_work_service_pb2.View]
    def __init__(self, views: _Optional[_Iterable[_Union[_work_service_pb2.View, str]]] = ...) -> None: ...

class ReindexResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_work_service_pb2.Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[_work_service_pb2.Job, _Mapping]]] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("views", "dry_run")
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    views: _containers.RepeatedScalarFieldContainer[_work_service_pb2.View]
    dry_run: bool
    def __init__(self, views: _Optional[_Iterable[_Union[_work_service_pb2.View, str]]] = ..., dry_run: bool = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ...) -> None: ...

class Expiring(_message.Message):
    __slots__ = ("rule", "user_id", "session_id", "messages", "fact_id")
    RULE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    rule: RetentionRule
    user_id: str
    session_id: str
    messages: int
    fact_id: str
    def __init__(self, rule: _Optional[_Union[RetentionRule, str]] = ..., user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[int] = ..., fact_id: _Optional[str] = ...) -> None: ...

class ListExpiringRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListExpiringResponse(_message.Message):
    __slots__ = ("expiring", "next_page_token")
    EXPIRING_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    expiring: _containers.RepeatedCompositeFieldContainer[Expiring]
    next_page_token: str
    def __init__(self, expiring: _Optional[_Iterable[_Union[Expiring, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
