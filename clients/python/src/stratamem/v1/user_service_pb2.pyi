import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from stratamem.v1 import work_service_pb2 as _work_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OnConflict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_CONFLICT_UNSPECIFIED: _ClassVar[OnConflict]
    ON_CONFLICT_SKIP: _ClassVar[OnConflict]
    ON_CONFLICT_OVERWRITE: _ClassVar[OnConflict]
    ON_CONFLICT_NEW_IDS: _ClassVar[OnConflict]
ON_CONFLICT_UNSPECIFIED: OnConflict
ON_CONFLICT_SKIP: OnConflict
ON_CONFLICT_OVERWRITE: OnConflict
ON_CONFLICT_NEW_IDS: OnConflict

class User(_message.Message):
    __slots__ = ("user_id", "timezone", "language", "extract", "create_time", "update_time", "etag", "state", "state_revision")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    EXTRACT_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    timezone: str
    language: str
    extract: _message_pb2.ExtractMode
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    etag: str
    state: _struct_pb2.Struct
    state_revision: int
    def __init__(self, user_id: _Optional[str] = ..., timezone: _Optional[str] = ..., language: _Optional[str] = ..., extract: _Optional[_Union[_message_pb2.ExtractMode, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ..., state: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., state_revision: _Optional[int] = ...) -> None: ...

class GetUserRequest(_message.Message):
    __slots__ = ("user_id",)
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    def __init__(self, user_id: _Optional[str] = ...) -> None: ...

class GetUserResponse(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: User
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ...) -> None: ...

class ListUsersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListUsersResponse(_message.Message):
    __slots__ = ("users", "next_page_token")
    USERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[User]
    next_page_token: str
    def __init__(self, users: _Optional[_Iterable[_Union[User, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateUserRequest(_message.Message):
    __slots__ = ("user", "update_mask", "state_patch")
    USER_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    STATE_PATCH_FIELD_NUMBER: _ClassVar[int]
    user: User
    update_mask: _field_mask_pb2.FieldMask
    state_patch: _struct_pb2.Struct
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., state_patch: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class UpdateUserResponse(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: User
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ...) -> None: ...

class EraseUserRequest(_message.Message):
    __slots__ = ("user_id", "request_id", "wait", "validate_only")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    request_id: str
    wait: _duration_pb2.Duration
    validate_only: bool
    def __init__(self, user_id: _Optional[str] = ..., request_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., validate_only: bool = ...) -> None: ...

class EraseUserResponse(_message.Message):
    __slots__ = ("job", "extent")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    extent: _work_service_pb2.ErasureExtent
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., extent: _Optional[_Union[_work_service_pb2.ErasureExtent, _Mapping]] = ...) -> None: ...

class ExportUserRequest(_message.Message):
    __slots__ = ("user_id", "vectors")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    vectors: bool
    def __init__(self, user_id: _Optional[str] = ..., vectors: bool = ...) -> None: ...

class ExportUserResponse(_message.Message):
    __slots__ = ("chunk",)
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    chunk: bytes
    def __init__(self, chunk: _Optional[bytes] = ...) -> None: ...

class ImportUserRequest(_message.Message):
    __slots__ = ("user_id", "chunk", "on_conflict")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    chunk: bytes
    on_conflict: OnConflict
    def __init__(self, user_id: _Optional[str] = ..., chunk: _Optional[bytes] = ..., on_conflict: _Optional[_Union[OnConflict, str]] = ...) -> None: ...

class ImportUserResponse(_message.Message):
    __slots__ = ("user", "sessions", "messages", "facts", "left_sessions", "left_facts", "vectors", "left_vectors", "documents", "left_documents")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    LEFT_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    LEFT_FACTS_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    LEFT_VECTORS_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    LEFT_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    user: User
    sessions: int
    messages: int
    facts: int
    left_sessions: int
    left_facts: int
    vectors: int
    left_vectors: int
    documents: int
    left_documents: int
    def __init__(self, user: _Optional[_Union[User, _Mapping]] = ..., sessions: _Optional[int] = ..., messages: _Optional[int] = ..., facts: _Optional[int] = ..., left_sessions: _Optional[int] = ..., left_facts: _Optional[int] = ..., vectors: _Optional[int] = ..., left_vectors: _Optional[int] = ..., documents: _Optional[int] = ..., left_documents: _Optional[int] = ...) -> None: ...
