import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContextHead(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTEXT_HEAD_UNSPECIFIED: _ClassVar[ContextHead]
    CONTEXT_HEAD_SYSTEM_AND_FIRST: _ClassVar[ContextHead]
    CONTEXT_HEAD_SYSTEM_OR_FIRST: _ClassVar[ContextHead]
    CONTEXT_HEAD_SYSTEM: _ClassVar[ContextHead]

class CompressFallback(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPRESS_FALLBACK_UNSPECIFIED: _ClassVar[CompressFallback]
    COMPRESS_FALLBACK_KEEP: _ClassVar[CompressFallback]
    COMPRESS_FALLBACK_DROP: _ClassVar[CompressFallback]
    COMPRESS_FALLBACK_WHOLE: _ClassVar[CompressFallback]
    COMPRESS_FALLBACK_EXTRACT: _ClassVar[CompressFallback]

class FactCount(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACT_COUNT_UNSPECIFIED: _ClassVar[FactCount]
    FACT_COUNT_SINGLE: _ClassVar[FactCount]
    FACT_COUNT_MULTIPLE: _ClassVar[FactCount]

class HistoryOmitReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HISTORY_OMIT_REASON_UNSPECIFIED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_HIDDEN: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_TIED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_SUMMARISED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_FACTS: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_DROPPED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_FILTERED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_LOSSY: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_MESSAGES: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_BUDGET: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_REPEATED: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_ORPHAN_RESULT: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_UNANSWERED_CALL: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_EMPTY: _ClassVar[HistoryOmitReason]
    HISTORY_OMIT_REASON_RECALLED: _ClassVar[HistoryOmitReason]
CONTEXT_HEAD_UNSPECIFIED: ContextHead
CONTEXT_HEAD_SYSTEM_AND_FIRST: ContextHead
CONTEXT_HEAD_SYSTEM_OR_FIRST: ContextHead
CONTEXT_HEAD_SYSTEM: ContextHead
COMPRESS_FALLBACK_UNSPECIFIED: CompressFallback
COMPRESS_FALLBACK_KEEP: CompressFallback
COMPRESS_FALLBACK_DROP: CompressFallback
COMPRESS_FALLBACK_WHOLE: CompressFallback
COMPRESS_FALLBACK_EXTRACT: CompressFallback
FACT_COUNT_UNSPECIFIED: FactCount
FACT_COUNT_SINGLE: FactCount
FACT_COUNT_MULTIPLE: FactCount
HISTORY_OMIT_REASON_UNSPECIFIED: HistoryOmitReason
HISTORY_OMIT_REASON_HIDDEN: HistoryOmitReason
HISTORY_OMIT_REASON_TIED: HistoryOmitReason
HISTORY_OMIT_REASON_SUMMARISED: HistoryOmitReason
HISTORY_OMIT_REASON_FACTS: HistoryOmitReason
HISTORY_OMIT_REASON_DROPPED: HistoryOmitReason
HISTORY_OMIT_REASON_FILTERED: HistoryOmitReason
HISTORY_OMIT_REASON_LOSSY: HistoryOmitReason
HISTORY_OMIT_REASON_MESSAGES: HistoryOmitReason
HISTORY_OMIT_REASON_BUDGET: HistoryOmitReason
HISTORY_OMIT_REASON_REPEATED: HistoryOmitReason
HISTORY_OMIT_REASON_ORPHAN_RESULT: HistoryOmitReason
HISTORY_OMIT_REASON_UNANSWERED_CALL: HistoryOmitReason
HISTORY_OMIT_REASON_EMPTY: HistoryOmitReason
HISTORY_OMIT_REASON_RECALLED: HistoryOmitReason

class ContextPolicy(_message.Message):
    __slots__ = ("hide", "clear", "compress", "trim", "head", "keep_tags", "preserve_memory")
    HIDE_FIELD_NUMBER: _ClassVar[int]
    CLEAR_FIELD_NUMBER: _ClassVar[int]
    COMPRESS_FIELD_NUMBER: _ClassVar[int]
    TRIM_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    KEEP_TAGS_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_MEMORY_FIELD_NUMBER: _ClassVar[int]
    hide: HidePolicy
    clear: ClearPolicy
    compress: CompressPolicy
    trim: TrimPolicy
    head: ContextHead
    keep_tags: _containers.RepeatedScalarFieldContainer[str]
    preserve_memory: bool
    def __init__(self, hide: _Optional[_Union[HidePolicy, _Mapping]] = ..., clear: _Optional[_Union[ClearPolicy, _Mapping]] = ..., compress: _Optional[_Union[CompressPolicy, _Mapping]] = ..., trim: _Optional[_Union[TrimPolicy, _Mapping]] = ..., head: _Optional[_Union[ContextHead, str]] = ..., keep_tags: _Optional[_Iterable[str]] = ..., preserve_memory: bool = ...) -> None: ...

class HidePolicy(_message.Message):
    __slots__ = ("start_id", "exclude")
    START_ID_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    start_id: str
    exclude: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, start_id: _Optional[str] = ..., exclude: _Optional[_Iterable[str]] = ...) -> None: ...

class ContextTrigger(_message.Message):
    __slots__ = ("messages", "tokens", "fraction")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    messages: int
    tokens: int
    fraction: float
    def __init__(self, messages: _Optional[int] = ..., tokens: _Optional[int] = ..., fraction: _Optional[float] = ...) -> None: ...

class ContextKeep(_message.Message):
    __slots__ = ("messages", "tokens", "fraction")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    messages: int
    tokens: int
    fraction: float
    def __init__(self, messages: _Optional[int] = ..., tokens: _Optional[int] = ..., fraction: _Optional[float] = ...) -> None: ...

class ClearPolicy(_message.Message):
    __slots__ = ("triggers", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs", "placeholder")
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    CLEAR_AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    CLEAR_TOOL_INPUTS_FIELD_NUMBER: _ClassVar[int]
    PLACEHOLDER_FIELD_NUMBER: _ClassVar[int]
    triggers: _containers.RepeatedCompositeFieldContainer[ContextTrigger]
    keep: int
    clear_at_least: int
    exclude_tools: _containers.RepeatedScalarFieldContainer[str]
    clear_tool_inputs: bool
    placeholder: str
    def __init__(self, triggers: _Optional[_Iterable[_Union[ContextTrigger, _Mapping]]] = ..., keep: _Optional[int] = ..., clear_at_least: _Optional[int] = ..., exclude_tools: _Optional[_Iterable[str]] = ..., clear_tool_inputs: bool = ..., placeholder: _Optional[str] = ...) -> None: ...

class CompressPolicy(_message.Message):
    __slots__ = ("triggers", "keep", "whole", "last_n", "chunk_messages", "since", "facts", "custom", "prompt", "model", "max_tokens", "trim_tokens_to_summarize", "lossy", "fallback", "role", "prefix")
    TRIGGERS_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    LAST_N_FIELD_NUMBER: _ClassVar[int]
    CHUNK_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRIM_TOKENS_TO_SUMMARIZE_FIELD_NUMBER: _ClassVar[int]
    LOSSY_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    triggers: _containers.RepeatedCompositeFieldContainer[ContextTrigger]
    keep: ContextKeep
    whole: WholeHistory
    last_n: int
    chunk_messages: int
    since: _timestamp_pb2.Timestamp
    facts: RetrieveFacts
    custom: str
    prompt: str
    model: str
    max_tokens: int
    trim_tokens_to_summarize: int
    lossy: bool
    fallback: CompressFallback
    role: _message_pb2.Role
    prefix: str
    def __init__(self, triggers: _Optional[_Iterable[_Union[ContextTrigger, _Mapping]]] = ..., keep: _Optional[_Union[ContextKeep, _Mapping]] = ..., whole: _Optional[_Union[WholeHistory, _Mapping]] = ..., last_n: _Optional[int] = ..., chunk_messages: _Optional[int] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., facts: _Optional[_Union[RetrieveFacts, _Mapping]] = ..., custom: _Optional[str] = ..., prompt: _Optional[str] = ..., model: _Optional[str] = ..., max_tokens: _Optional[int] = ..., trim_tokens_to_summarize: _Optional[int] = ..., lossy: bool = ..., fallback: _Optional[_Union[CompressFallback, str]] = ..., role: _Optional[_Union[_message_pb2.Role, str]] = ..., prefix: _Optional[str] = ...) -> None: ...

class WholeHistory(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RetrieveFacts(_message.Message):
    __slots__ = ("concepts",)
    CONCEPTS_FIELD_NUMBER: _ClassVar[int]
    concepts: _containers.RepeatedCompositeFieldContainer[Concept]
    def __init__(self, concepts: _Optional[_Iterable[_Union[Concept, _Mapping]]] = ...) -> None: ...

class Concept(_message.Message):
    __slots__ = ("keyword", "description", "count")
    KEYWORD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    keyword: str
    description: str
    count: FactCount
    def __init__(self, keyword: _Optional[str] = ..., description: _Optional[str] = ..., count: _Optional[_Union[FactCount, str]] = ...) -> None: ...

class TrimPolicy(_message.Message):
    __slots__ = ("messages", "tokens", "fraction")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    messages: int
    tokens: int
    fraction: float
    def __init__(self, messages: _Optional[int] = ..., tokens: _Optional[int] = ..., fraction: _Optional[float] = ...) -> None: ...

class ClearedToolUse(_message.Message):
    __slots__ = ("message_id", "call_id", "tool", "tokens", "input")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    call_id: str
    tool: str
    tokens: int
    input: bool
    def __init__(self, message_id: _Optional[str] = ..., call_id: _Optional[str] = ..., tool: _Optional[str] = ..., tokens: _Optional[int] = ..., input: bool = ...) -> None: ...

class PolicyEffect(_message.Message):
    __slots__ = ("stage", "triggered", "messages_before", "messages_after", "tokens_before", "tokens_after", "fallback")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    TRIGGERED_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_AFTER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    stage: str
    triggered: bool
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    fallback: str
    def __init__(self, stage: _Optional[str] = ..., triggered: bool = ..., messages_before: _Optional[int] = ..., messages_after: _Optional[int] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., fallback: _Optional[str] = ...) -> None: ...
