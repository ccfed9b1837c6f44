from google.api import annotations_pb2 as _annotations_pb2
from stratamem.v1 import check_pb2 as _check_pb2
from stratamem.v1 import context_pb2 as _context_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from stratamem.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CountTokensRequest(_message.Message):
    __slots__ = ("messages", "texts", "model", "counter", "tools_json")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    texts: _containers.RepeatedScalarFieldContainer[str]
    model: str
    counter: _context_pb2.TokenCounter
    tools_json: str
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., texts: _Optional[_Iterable[str]] = ..., model: _Optional[str] = ..., counter: _Optional[_Union[_context_pb2.TokenCounter, str]] = ..., tools_json: _Optional[str] = ...) -> None: ...

class CountTokensResponse(_message.Message):
    __slots__ = ("message_tokens", "text_tokens", "total_tokens", "counter", "tools_tokens")
    MESSAGE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    TOOLS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    message_tokens: _containers.RepeatedScalarFieldContainer[int]
    text_tokens: _containers.RepeatedScalarFieldContainer[int]
    total_tokens: int
    counter: str
    tools_tokens: int
    def __init__(self, message_tokens: _Optional[_Iterable[int]] = ..., text_tokens: _Optional[_Iterable[int]] = ..., total_tokens: _Optional[int] = ..., counter: _Optional[str] = ..., tools_tokens: _Optional[int] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ("messages", "policy", "profile", "model", "window_tokens", "counter", "message_tokens", "step_limit")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STEP_LIMIT_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    policy: _policy_pb2.ContextPolicy
    profile: str
    model: str
    window_tokens: int
    counter: _context_pb2.TokenCounter
    message_tokens: _containers.RepeatedScalarFieldContainer[int]
    step_limit: int
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., policy: _Optional[_Union[_policy_pb2.ContextPolicy, _Mapping]] = ..., profile: _Optional[str] = ..., model: _Optional[str] = ..., window_tokens: _Optional[int] = ..., counter: _Optional[_Union[_context_pb2.TokenCounter, str]] = ..., message_tokens: _Optional[_Iterable[int]] = ..., step_limit: _Optional[int] = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("changed", "messages", "omitted", "cleared", "summaries", "usage", "degraded", "steps_since_user", "step_limit_reached")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    STEPS_SINCE_USER_FIELD_NUMBER: _ClassVar[int]
    STEP_LIMIT_REACHED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    omitted: _containers.RepeatedCompositeFieldContainer[OmittedMessage]
    cleared: _containers.RepeatedCompositeFieldContainer[_policy_pb2.ClearedToolUse]
    summaries: _containers.RepeatedCompositeFieldContainer[HistorySummary]
    usage: HistoryUsage
    degraded: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    steps_since_user: int
    step_limit_reached: bool
    def __init__(self, changed: bool = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., omitted: _Optional[_Iterable[_Union[OmittedMessage, _Mapping]]] = ..., cleared: _Optional[_Iterable[_Union[_policy_pb2.ClearedToolUse, _Mapping]]] = ..., summaries: _Optional[_Iterable[_Union[HistorySummary, _Mapping]]] = ..., usage: _Optional[_Union[HistoryUsage, _Mapping]] = ..., degraded: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., steps_since_user: _Optional[int] = ..., step_limit_reached: bool = ...) -> None: ...

class OmittedMessage(_message.Message):
    __slots__ = ("message_id", "index", "reason", "stage")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    index: int
    reason: _policy_pb2.HistoryOmitReason
    stage: str
    def __init__(self, message_id: _Optional[str] = ..., index: _Optional[int] = ..., reason: _Optional[_Union[_policy_pb2.HistoryOmitReason, str]] = ..., stage: _Optional[str] = ...) -> None: ...

class HistorySummary(_message.Message):
    __slots__ = ("message_id", "of_message_ids", "model", "tokens", "fallback")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    OF_MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    of_message_ids: _containers.RepeatedScalarFieldContainer[str]
    model: str
    tokens: int
    fallback: bool
    def __init__(self, message_id: _Optional[str] = ..., of_message_ids: _Optional[_Iterable[str]] = ..., model: _Optional[str] = ..., tokens: _Optional[int] = ..., fallback: bool = ...) -> None: ...

class HistoryUsage(_message.Message):
    __slots__ = ("tokens_before", "tokens_after", "messages_before", "messages_after", "window_tokens", "share_before", "share_after", "counter", "effects", "model_calls", "model_input_tokens", "model_output_tokens")
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_AFTER_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SHARE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SHARE_AFTER_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MODEL_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODEL_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    window_tokens: int
    share_before: float
    share_after: float
    counter: str
    effects: _containers.RepeatedCompositeFieldContainer[_policy_pb2.PolicyEffect]
    model_calls: int
    model_input_tokens: int
    model_output_tokens: int
    def __init__(self, tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., messages_before: _Optional[int] = ..., messages_after: _Optional[int] = ..., window_tokens: _Optional[int] = ..., share_before: _Optional[float] = ..., share_after: _Optional[float] = ..., counter: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[_policy_pb2.PolicyEffect, _Mapping]]] = ..., model_calls: _Optional[int] = ..., model_input_tokens: _Optional[int] = ..., model_output_tokens: _Optional[int] = ...) -> None: ...
