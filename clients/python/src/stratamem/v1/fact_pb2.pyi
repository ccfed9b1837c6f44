import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Category(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATEGORY_UNSPECIFIED: _ClassVar[Category]
    CATEGORY_PREFERENCE: _ClassVar[Category]
    CATEGORY_PERSONAL_INFO: _ClassVar[Category]
    CATEGORY_GOAL: _ClassVar[Category]
    CATEGORY_PAIN_POINT: _ClassVar[Category]
    CATEGORY_DECISION: _ClassVar[Category]
    CATEGORY_OTHER: _ClassVar[Category]

class FactOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACT_ORIGIN_UNSPECIFIED: _ClassVar[FactOrigin]
    FACT_ORIGIN_EXTRACTED: _ClassVar[FactOrigin]
    FACT_ORIGIN_USER: _ClassVar[FactOrigin]
    FACT_ORIGIN_IMPORTED: _ClassVar[FactOrigin]

class FactCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACT_CAUSE_UNSPECIFIED: _ClassVar[FactCause]
    FACT_CAUSE_EXTRACTED: _ClassVar[FactCause]
    FACT_CAUSE_SUPERSEDED: _ClassVar[FactCause]
    FACT_CAUSE_CREATED: _ClassVar[FactCause]
    FACT_CAUSE_EDITED: _ClassVar[FactCause]
    FACT_CAUSE_RESTORED: _ClassVar[FactCause]
    FACT_CAUSE_IMPORTED: _ClassVar[FactCause]
    FACT_CAUSE_INVALIDATED: _ClassVar[FactCause]
    FACT_CAUSE_REVERTED: _ClassVar[FactCause]
    FACT_CAUSE_RETRACTED: _ClassVar[FactCause]
    FACT_CAUSE_ERASED: _ClassVar[FactCause]
CATEGORY_UNSPECIFIED: Category
CATEGORY_PREFERENCE: Category
CATEGORY_PERSONAL_INFO: Category
CATEGORY_GOAL: Category
CATEGORY_PAIN_POINT: Category
CATEGORY_DECISION: Category
CATEGORY_OTHER: Category
FACT_ORIGIN_UNSPECIFIED: FactOrigin
FACT_ORIGIN_EXTRACTED: FactOrigin
FACT_ORIGIN_USER: FactOrigin
FACT_ORIGIN_IMPORTED: FactOrigin
FACT_CAUSE_UNSPECIFIED: FactCause
FACT_CAUSE_EXTRACTED: FactCause
FACT_CAUSE_SUPERSEDED: FactCause
FACT_CAUSE_CREATED: FactCause
FACT_CAUSE_EDITED: FactCause
FACT_CAUSE_RESTORED: FactCause
FACT_CAUSE_IMPORTED: FactCause
FACT_CAUSE_INVALIDATED: FactCause
FACT_CAUSE_REVERTED: FactCause
FACT_CAUSE_RETRACTED: FactCause
FACT_CAUSE_ERASED: FactCause

class Evidence(_message.Message):
    __slots__ = ("session_id", "message_id", "seq", "quote", "ends")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message_id: str
    seq: int
    quote: str
    ends: bool
    def __init__(self, session_id: _Optional[str] = ..., message_id: _Optional[str] = ..., seq: _Optional[int] = ..., quote: _Optional[str] = ..., ends: bool = ...) -> None: ...

class Fact(_message.Message):
    __slots__ = ("user_id", "fact_id", "text", "category", "tags", "significance", "confidence", "subject", "attribute", "evidence", "valid_from", "valid_to", "superseded_by", "pinned", "origin", "protected", "language", "model", "create_time", "update_time", "last_used_time", "revision", "etag")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SIGNIFICANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    fact_id: str
    text: str
    category: Category
    tags: _containers.RepeatedScalarFieldContainer[str]
    significance: int
    confidence: float
    subject: str
    attribute: str
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    superseded_by: str
    pinned: bool
    origin: FactOrigin
    protected: bool
    language: str
    model: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    last_used_time: _timestamp_pb2.Timestamp
    revision: int
    etag: str
    def __init__(self, user_id: _Optional[str] = ..., fact_id: _Optional[str] = ..., text: _Optional[str] = ..., category: _Optional[_Union[Category, str]] = ..., tags: _Optional[_Iterable[str]] = ..., significance: _Optional[int] = ..., confidence: _Optional[float] = ..., subject: _Optional[str] = ..., attribute: _Optional[str] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., superseded_by: _Optional[str] = ..., pinned: bool = ..., origin: _Optional[_Union[FactOrigin, str]] = ..., protected: bool = ..., language: _Optional[str] = ..., model: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_used_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., etag: _Optional[str] = ...) -> None: ...
