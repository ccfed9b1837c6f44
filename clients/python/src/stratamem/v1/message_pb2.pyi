import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_DEVELOPER: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_USER: _ClassVar[Origin]
    ORIGIN_MODEL: _ClassVar[Origin]
    ORIGIN_TOOL: _ClassVar[Origin]
    ORIGIN_RECALLED: _ClassVar[Origin]
    ORIGIN_SYSTEM: _ClassVar[Origin]

class ExtractMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXTRACT_MODE_UNSPECIFIED: _ClassVar[ExtractMode]
    EXTRACT_MODE_ALLOW: _ClassVar[ExtractMode]
    EXTRACT_MODE_NONE: _ClassVar[ExtractMode]

class ImageDetail(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMAGE_DETAIL_UNSPECIFIED: _ClassVar[ImageDetail]
    IMAGE_DETAIL_LOW: _ClassVar[ImageDetail]
    IMAGE_DETAIL_HIGH: _ClassVar[ImageDetail]
ROLE_UNSPECIFIED: Role
ROLE_SYSTEM: Role
ROLE_DEVELOPER: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_TOOL: Role
ORIGIN_UNSPECIFIED: Origin
ORIGIN_USER: Origin
ORIGIN_MODEL: Origin
ORIGIN_TOOL: Origin
ORIGIN_RECALLED: Origin
ORIGIN_SYSTEM: Origin
EXTRACT_MODE_UNSPECIFIED: ExtractMode
EXTRACT_MODE_ALLOW: ExtractMode
EXTRACT_MODE_NONE: ExtractMode
IMAGE_DETAIL_UNSPECIFIED: ImageDetail
IMAGE_DETAIL_LOW: ImageDetail
IMAGE_DETAIL_HIGH: ImageDetail

class Message(_message.Message):
    __slots__ = ("id", "seq", "role", "name", "text", "parts", "tags", "metadata", "create_time", "record_time", "origin", "extract", "pinned", "token_counts", "original", "turn_no", "hidden")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RECORD_TIME_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    EXTRACT_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNTS_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    TURN_NO_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    id: str
    seq: int
    role: Role
    name: str
    text: str
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    tags: _containers.RepeatedScalarFieldContainer[str]
    metadata: _struct_pb2.Struct
    create_time: _timestamp_pb2.Timestamp
    record_time: _timestamp_pb2.Timestamp
    origin: Origin
    extract: ExtractMode
    pinned: bool
    token_counts: TokenCounts
    original: Original
    turn_no: int
    hidden: bool
    def __init__(self, id: _Optional[str] = ..., seq: _Optional[int] = ..., role: _Optional[_Union[Role, str]] = ..., name: _Optional[str] = ..., text: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., tags: _Optional[_Iterable[str]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., record_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., origin: _Optional[_Union[Origin, str]] = ..., extract: _Optional[_Union[ExtractMode, str]] = ..., pinned: bool = ..., token_counts: _Optional[_Union[TokenCounts, _Mapping]] = ..., original: _Optional[_Union[Original, _Mapping]] = ..., turn_no: _Optional[int] = ..., hidden: bool = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("text", "reasoning", "tool_call", "tool_result", "blob", "uri", "opaque")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    text: Text
    reasoning: Reasoning
    tool_call: ToolCall
    tool_result: ToolResult
    blob: Blob
    uri: Uri
    opaque: Opaque
    def __init__(self, text: _Optional[_Union[Text, _Mapping]] = ..., reasoning: _Optional[_Union[Reasoning, _Mapping]] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., blob: _Optional[_Union[Blob, _Mapping]] = ..., uri: _Optional[_Union[Uri, _Mapping]] = ..., opaque: _Optional[_Union[Opaque, _Mapping]] = ...) -> None: ...

class Text(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Reasoning(_message.Message):
    __slots__ = ("text", "signature", "encrypted")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTED_FIELD_NUMBER: _ClassVar[int]
    text: str
    signature: str
    encrypted: bytes
    def __init__(self, text: _Optional[str] = ..., signature: _Optional[str] = ..., encrypted: _Optional[bytes] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("call_id", "parts", "is_error")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    is_error: bool
    def __init__(self, call_id: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., is_error: bool = ...) -> None: ...

class Blob(_message.Message):
    __slots__ = ("mime_type", "data", "image")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    data: bytes
    image: ImageSize
    def __init__(self, mime_type: _Optional[str] = ..., data: _Optional[bytes] = ..., image: _Optional[_Union[ImageSize, _Mapping]] = ...) -> None: ...

class Uri(_message.Message):
    __slots__ = ("mime_type", "uri", "image")
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    mime_type: str
    uri: str
    image: ImageSize
    def __init__(self, mime_type: _Optional[str] = ..., uri: _Optional[str] = ..., image: _Optional[_Union[ImageSize, _Mapping]] = ...) -> None: ...

class ImageSize(_message.Message):
    __slots__ = ("width", "height", "detail")
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    width: int
    height: int
    detail: ImageDetail
    def __init__(self, width: _Optional[int] = ..., height: _Optional[int] = ..., detail: _Optional[_Union[ImageDetail, str]] = ...) -> None: ...

class Opaque(_message.Message):
    __slots__ = ("type", "json")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    type: str
    json: str
    def __init__(self, type: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class Original(_message.Message):
    __slots__ = ("format", "data")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    format: str
    data: bytes
    def __init__(self, format: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class TokenCounts(_message.Message):
    __slots__ = ("o200k_base", "cl100k_base")
    O200K_BASE_FIELD_NUMBER: _ClassVar[int]
    CL100K_BASE_FIELD_NUMBER: _ClassVar[int]
    o200k_base: int
    cl100k_base: int
    def __init__(self, o200k_base: _Optional[int] = ..., cl100k_base: _Optional[int] = ...) -> None: ...
