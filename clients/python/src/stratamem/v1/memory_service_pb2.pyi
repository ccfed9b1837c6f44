import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import check_pb2 as _check_pb2
from stratamem.v1 import context_pb2 as _context_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from stratamem.v1 import policy_pb2 as _policy_pb2
from stratamem.v1 import session_pb2 as _session_pb2
from stratamem.v1 import work_service_pb2 as _work_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FindingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_KIND_UNSPECIFIED: _ClassVar[FindingKind]
    FINDING_KIND_ORPHAN_TOOL_RESULT: _ClassVar[FindingKind]
    FINDING_KIND_DUPLICATE_TOOL_CALL: _ClassVar[FindingKind]
    FINDING_KIND_ARGUMENTS_NOT_JSON: _ClassVar[FindingKind]
    FINDING_KIND_CHECK: _ClassVar[FindingKind]
    FINDING_KIND_EMPTY: _ClassVar[FindingKind]

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_HYBRID: _ClassVar[SearchMode]
    SEARCH_MODE_TRANSCRIPT: _ClassVar[SearchMode]
FINDING_KIND_UNSPECIFIED: FindingKind
FINDING_KIND_ORPHAN_TOOL_RESULT: FindingKind
FINDING_KIND_DUPLICATE_TOOL_CALL: FindingKind
FINDING_KIND_ARGUMENTS_NOT_JSON: FindingKind
FINDING_KIND_CHECK: FindingKind
FINDING_KIND_EMPTY: FindingKind
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_HYBRID: SearchMode
SEARCH_MODE_TRANSCRIPT: SearchMode

class RecordRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "request_id", "messages", "state_patch", "expected_last_seq", "extract", "profile")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STATE_PATCH_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    EXTRACT_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    request_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    state_patch: _struct_pb2.Struct
    expected_last_seq: int
    extract: _message_pb2.ExtractMode
    profile: str
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., request_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., state_patch: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expected_last_seq: _Optional[int] = ..., extract: _Optional[_Union[_message_pb2.ExtractMode, str]] = ..., profile: _Optional[str] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("message_id", "kind", "call_id", "check")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    kind: FindingKind
    call_id: str
    check: _check_pb2.CheckFinding
    def __init__(self, message_id: _Optional[str] = ..., kind: _Optional[_Union[FindingKind, str]] = ..., call_id: _Optional[str] = ..., check: _Optional[_Union[_check_pb2.CheckFinding, _Mapping]] = ...) -> None: ...

class RecordResponse(_message.Message):
    __slots__ = ("message_ids", "first_seq", "last_seq", "deduplicated_ids", "state_revision", "steps_since_user", "step_limit_reached", "findings", "turn_no", "replayed")
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    DEDUPLICATED_IDS_FIELD_NUMBER: _ClassVar[int]
    STATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    STEPS_SINCE_USER_FIELD_NUMBER: _ClassVar[int]
    STEP_LIMIT_REACHED_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    TURN_NO_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    first_seq: int
    last_seq: int
    deduplicated_ids: _containers.RepeatedScalarFieldContainer[str]
    state_revision: int
    steps_since_user: int
    step_limit_reached: bool
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    turn_no: int
    replayed: bool
    def __init__(self, message_ids: _Optional[_Iterable[str]] = ..., first_seq: _Optional[int] = ..., last_seq: _Optional[int] = ..., deduplicated_ids: _Optional[_Iterable[str]] = ..., state_revision: _Optional[int] = ..., steps_since_user: _Optional[int] = ..., step_limit_reached: bool = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., turn_no: _Optional[int] = ..., replayed: bool = ...) -> None: ...

class BuildContextRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "query", "pending", "instructions", "profile", "overrides", "render", "model", "reserve_output_tokens", "tool_schema_tokens", "as_of", "explain", "fresh", "instructions_template", "variables", "tools_json", "include_original")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    RENDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    RESERVE_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOOL_SCHEMA_TOKENS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    query: str
    pending: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    instructions: str
    profile: str
    overrides: _context_pb2.ContextOverrides
    render: _context_pb2.Render
    model: str
    reserve_output_tokens: int
    tool_schema_tokens: int
    as_of: _timestamp_pb2.Timestamp
    explain: bool
    fresh: _context_pb2.Freshness
    instructions_template: str
    variables: _struct_pb2.Struct
    tools_json: str
    include_original: bool
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., query: _Optional[str] = ..., pending: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., instructions: _Optional[str] = ..., profile: _Optional[str] = ..., overrides: _Optional[_Union[_context_pb2.ContextOverrides, _Mapping]] = ..., render: _Optional[_Union[_context_pb2.Render, str]] = ..., model: _Optional[str] = ..., reserve_output_tokens: _Optional[int] = ..., tool_schema_tokens: _Optional[int] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., explain: bool = ..., fresh: _Optional[_Union[_context_pb2.Freshness, _Mapping]] = ..., instructions_template: _Optional[str] = ..., variables: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., tools_json: _Optional[str] = ..., include_original: bool = ...) -> None: ...

class BuildContextResponse(_message.Message):
    __slots__ = ("sections", "rendering", "usage", "coverage", "watermarks", "omitted", "degraded", "steps_since_user", "as_of", "etag", "retrieval", "step_limit_reached", "cleared", "embedder", "stable_prefix")
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    RENDERING_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    WATERMARKS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    STEPS_SINCE_USER_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_FIELD_NUMBER: _ClassVar[int]
    STEP_LIMIT_REACHED_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    STABLE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    sections: _containers.RepeatedCompositeFieldContainer[_context_pb2.Section]
    rendering: str
    usage: _context_pb2.ContextUsage
    coverage: _context_pb2.Coverage
    watermarks: _context_pb2.Watermarks
    omitted: _containers.RepeatedCompositeFieldContainer[_context_pb2.Omission]
    degraded: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    steps_since_user: int
    as_of: _timestamp_pb2.Timestamp
    etag: str
    retrieval: _context_pb2.Retrieval
    step_limit_reached: bool
    cleared: _containers.RepeatedCompositeFieldContainer[_policy_pb2.ClearedToolUse]
    embedder: str
    stable_prefix: _context_pb2.StablePrefix
    def __init__(self, sections: _Optional[_Iterable[_Union[_context_pb2.Section, _Mapping]]] = ..., rendering: _Optional[str] = ..., usage: _Optional[_Union[_context_pb2.ContextUsage, _Mapping]] = ..., coverage: _Optional[_Union[_context_pb2.Coverage, _Mapping]] = ..., watermarks: _Optional[_Union[_context_pb2.Watermarks, _Mapping]] = ..., omitted: _Optional[_Iterable[_Union[_context_pb2.Omission, _Mapping]]] = ..., degraded: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., steps_since_user: _Optional[int] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ..., retrieval: _Optional[_Union[_context_pb2.Retrieval, _Mapping]] = ..., step_limit_reached: bool = ..., cleared: _Optional[_Iterable[_Union[_policy_pb2.ClearedToolUse, _Mapping]]] = ..., embedder: _Optional[str] = ..., stable_prefix: _Optional[_Union[_context_pb2.StablePrefix, _Mapping]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("user_id", "session_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("user_id", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateSessionRequest(_message.Message):
    __slots__ = ("session", "update_mask")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: _session_pb2.Session
    def __init__(self, session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ...) -> None: ...

class ListMessagesRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "page_size", "page_token", "newest_first", "include_original", "visible_only", "from_seq")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    page_size: int
    page_token: str
    newest_first: bool
    include_original: bool
    visible_only: bool
    from_seq: int
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., newest_first: bool = ..., include_original: bool = ..., visible_only: bool = ..., from_seq: _Optional[int] = ...) -> None: ...

class ListMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_page_token", "etag")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    next_page_token: str
    etag: str
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., etag: _Optional[str] = ...) -> None: ...

class SearchMessagesRequest(_message.Message):
    __slots__ = ("user_id", "query", "session_ids", "start_time", "end_time", "page_size", "page_token", "explain", "as_of", "mode", "phrases", "roles")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SESSION_IDS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PHRASES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    query: str
    session_ids: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    explain: bool
    as_of: _timestamp_pb2.Timestamp
    mode: SearchMode
    phrases: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[_message_pb2.Role]
    def __init__(self, user_id: _Optional[str] = ..., query: _Optional[str] = ..., session_ids: _Optional[_Iterable[str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., explain: bool = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., mode: _Optional[_Union[SearchMode, str]] = ..., phrases: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[_Union[_message_pb2.Role, str]]] = ...) -> None: ...

class MessageHit(_message.Message):
    __slots__ = ("session_id", "message", "score", "snippet", "highlights", "explanation", "hidden")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    HIGHLIGHTS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message: _message_pb2.Message
    score: float
    snippet: str
    highlights: _containers.RepeatedCompositeFieldContainer[_context_pb2.TextRange]
    explanation: _context_pb2.Explanation
    hidden: bool
    def __init__(self, session_id: _Optional[str] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., score: _Optional[float] = ..., snippet: _Optional[str] = ..., highlights: _Optional[_Iterable[_Union[_context_pb2.TextRange, _Mapping]]] = ..., explanation: _Optional[_Union[_context_pb2.Explanation, _Mapping]] = ..., hidden: bool = ...) -> None: ...

class SearchMessagesResponse(_message.Message):
    __slots__ = ("hits", "next_page_token", "degraded", "embedder")
    HITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[MessageHit]
    next_page_token: str
    degraded: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    embedder: str
    def __init__(self, hits: _Optional[_Iterable[_Union[MessageHit, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., degraded: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., embedder: _Optional[str] = ...) -> None: ...

class UpdateMessageRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "message", "update_mask")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    message: _message_pb2.Message
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class UpdateMessageResponse(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.Message
    def __init__(self, message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ...) -> None: ...

class DeleteMessagesRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "message_ids", "oldest", "before_seq", "all", "request_id", "wait", "validate_only")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIELD_NUMBER: _ClassVar[int]
    BEFORE_SEQ_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    oldest: int
    before_seq: int
    all: bool
    request_id: str
    wait: _duration_pb2.Duration
    validate_only: bool
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ..., oldest: _Optional[int] = ..., before_seq: _Optional[int] = ..., all: bool = ..., request_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., validate_only: bool = ...) -> None: ...

class DeleteMessagesResponse(_message.Message):
    __slots__ = ("job", "extent")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    extent: _work_service_pb2.ErasureExtent
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., extent: _Optional[_Union[_work_service_pb2.ErasureExtent, _Mapping]] = ...) -> None: ...

class PopMessagesRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "count", "request_id", "include_original", "wait")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    count: int
    request_id: str
    include_original: bool
    wait: _duration_pb2.Duration
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., count: _Optional[int] = ..., request_id: _Optional[str] = ..., include_original: bool = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PopMessagesResponse(_message.Message):
    __slots__ = ("messages", "job", "replayed")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    job: _work_service_pb2.Job
    replayed: bool
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., replayed: bool = ...) -> None: ...

class ReplaceMessagesRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "messages", "etag", "after_seq", "request_id", "extract", "profile", "wait")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EXTRACT_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    etag: str
    after_seq: int
    request_id: str
    extract: _message_pb2.ExtractMode
    profile: str
    wait: _duration_pb2.Duration
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., etag: _Optional[str] = ..., after_seq: _Optional[int] = ..., request_id: _Optional[str] = ..., extract: _Optional[_Union[_message_pb2.ExtractMode, str]] = ..., profile: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReplaceMessagesResponse(_message.Message):
    __slots__ = ("message_ids", "kept", "first_seq", "last_seq", "findings", "etag", "job", "replayed")
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQ_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    kept: int
    first_seq: int
    last_seq: int
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    etag: str
    job: _work_service_pb2.Job
    replayed: bool
    def __init__(self, message_ids: _Optional[_Iterable[str]] = ..., kept: _Optional[int] = ..., first_seq: _Optional[int] = ..., last_seq: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., etag: _Optional[str] = ..., job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., replayed: bool = ...) -> None: ...

class DeleteSessionRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "request_id", "wait", "validate_only")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    request_id: str
    wait: _duration_pb2.Duration
    validate_only: bool
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., request_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., validate_only: bool = ...) -> None: ...

class DeleteSessionResponse(_message.Message):
    __slots__ = ("job", "extent")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EXTENT_FIELD_NUMBER: _ClassVar[int]
    job: _work_service_pb2.Job
    extent: _work_service_pb2.ErasureExtent
    def __init__(self, job: _Optional[_Union[_work_service_pb2.Job, _Mapping]] = ..., extent: _Optional[_Union[_work_service_pb2.ErasureExtent, _Mapping]] = ...) -> None: ...
