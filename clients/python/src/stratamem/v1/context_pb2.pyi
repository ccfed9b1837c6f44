import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import fact_pb2 as _fact_pb2
from stratamem.v1 import message_pb2 as _message_pb2
from stratamem.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Render(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RENDER_UNSPECIFIED: _ClassVar[Render]
    RENDER_STRUCTURED: _ClassVar[Render]
    RENDER_TEXT: _ClassVar[Render]
    RENDER_OPENAI: _ClassVar[Render]
    RENDER_ANTHROPIC: _ClassVar[Render]
    RENDER_RESPONSES: _ClassVar[Render]

class MemoryRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_ROLE_UNSPECIFIED: _ClassVar[MemoryRole]
    MEMORY_ROLE_SYSTEM: _ClassVar[MemoryRole]
    MEMORY_ROLE_DEVELOPER: _ClassVar[MemoryRole]
    MEMORY_ROLE_USER: _ClassVar[MemoryRole]

class MemoryPlace(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_PLACE_UNSPECIFIED: _ClassVar[MemoryPlace]
    MEMORY_PLACE_BEFORE: _ClassVar[MemoryPlace]
    MEMORY_PLACE_AFTER: _ClassVar[MemoryPlace]

class TokenCounter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKEN_COUNTER_UNSPECIFIED: _ClassVar[TokenCounter]
    TOKEN_COUNTER_O200K_BASE: _ClassVar[TokenCounter]
    TOKEN_COUNTER_CL100K_BASE: _ClassVar[TokenCounter]
    TOKEN_COUNTER_CHARS_4: _ClassVar[TokenCounter]
    TOKEN_COUNTER_ESTIMATE: _ClassVar[TokenCounter]

class SectionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SECTION_KIND_UNSPECIFIED: _ClassVar[SectionKind]
    SECTION_KIND_INSTRUCTIONS: _ClassVar[SectionKind]
    SECTION_KIND_STATE: _ClassVar[SectionKind]
    SECTION_KIND_NOTES: _ClassVar[SectionKind]
    SECTION_KIND_FACTS: _ClassVar[SectionKind]
    SECTION_KIND_PERIODS: _ClassVar[SectionKind]
    SECTION_KIND_PREVIOUS_SESSIONS: _ClassVar[SectionKind]
    SECTION_KIND_SUMMARY: _ClassVar[SectionKind]
    SECTION_KIND_RECALLED: _ClassVar[SectionKind]
    SECTION_KIND_SESSION_FACTS: _ClassVar[SectionKind]
    SECTION_KIND_RECENT: _ClassVar[SectionKind]
    SECTION_KIND_PENDING: _ClassVar[SectionKind]

class OmitReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OMIT_REASON_UNSPECIFIED: _ClassVar[OmitReason]
    OMIT_REASON_BUDGET: _ClassVar[OmitReason]
    OMIT_REASON_ORPHAN_RESULT: _ClassVar[OmitReason]
    OMIT_REASON_UNANSWERED_CALL: _ClassVar[OmitReason]
    OMIT_REASON_NOT_RENDERABLE: _ClassVar[OmitReason]
    OMIT_REASON_REPLY_SIZE: _ClassVar[OmitReason]
    OMIT_REASON_REPEATED: _ClassVar[OmitReason]
    OMIT_REASON_HIDDEN: _ClassVar[OmitReason]
    OMIT_REASON_POLICY: _ClassVar[OmitReason]
    OMIT_REASON_HIDDEN_SUMMARY: _ClassVar[OmitReason]

class Watermark(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WATERMARK_UNSPECIFIED: _ClassVar[Watermark]
    WATERMARK_INDEXED: _ClassVar[Watermark]
    WATERMARK_EXTRACTED: _ClassVar[Watermark]
    WATERMARK_SUMMARISED: _ClassVar[Watermark]

class Selection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SELECTION_UNSPECIFIED: _ClassVar[Selection]
    SELECTION_FOUND: _ClassVar[Selection]
    SELECTION_CORE: _ClassVar[Selection]
    SELECTION_FILL_NEIGHBOUR: _ClassVar[Selection]
    SELECTION_FILL_STATED: _ClassVar[Selection]
    SELECTION_FILL_SESSION: _ClassVar[Selection]
    SELECTION_FILL_NEWEST: _ClassVar[Selection]
RENDER_UNSPECIFIED: Render
RENDER_STRUCTURED: Render
RENDER_TEXT: Render
RENDER_OPENAI: Render
RENDER_ANTHROPIC: Render
RENDER_RESPONSES: Render
MEMORY_ROLE_UNSPECIFIED: MemoryRole
MEMORY_ROLE_SYSTEM: MemoryRole
MEMORY_ROLE_DEVELOPER: MemoryRole
MEMORY_ROLE_USER: MemoryRole
MEMORY_PLACE_UNSPECIFIED: MemoryPlace
MEMORY_PLACE_BEFORE: MemoryPlace
MEMORY_PLACE_AFTER: MemoryPlace
TOKEN_COUNTER_UNSPECIFIED: TokenCounter
TOKEN_COUNTER_O200K_BASE: TokenCounter
TOKEN_COUNTER_CL100K_BASE: TokenCounter
TOKEN_COUNTER_CHARS_4: TokenCounter
TOKEN_COUNTER_ESTIMATE: TokenCounter
SECTION_KIND_UNSPECIFIED: SectionKind
SECTION_KIND_INSTRUCTIONS: SectionKind
SECTION_KIND_STATE: SectionKind
SECTION_KIND_NOTES: SectionKind
SECTION_KIND_FACTS: SectionKind
SECTION_KIND_PERIODS: SectionKind
SECTION_KIND_PREVIOUS_SESSIONS: SectionKind
SECTION_KIND_SUMMARY: SectionKind
SECTION_KIND_RECALLED: SectionKind
SECTION_KIND_SESSION_FACTS: SectionKind
SECTION_KIND_RECENT: SectionKind
SECTION_KIND_PENDING: SectionKind
OMIT_REASON_UNSPECIFIED: OmitReason
OMIT_REASON_BUDGET: OmitReason
OMIT_REASON_ORPHAN_RESULT: OmitReason
OMIT_REASON_UNANSWERED_CALL: OmitReason
OMIT_REASON_NOT_RENDERABLE: OmitReason
OMIT_REASON_REPLY_SIZE: OmitReason
OMIT_REASON_REPEATED: OmitReason
OMIT_REASON_HIDDEN: OmitReason
OMIT_REASON_POLICY: OmitReason
OMIT_REASON_HIDDEN_SUMMARY: OmitReason
WATERMARK_UNSPECIFIED: Watermark
WATERMARK_INDEXED: Watermark
WATERMARK_EXTRACTED: Watermark
WATERMARK_SUMMARISED: Watermark
SELECTION_UNSPECIFIED: Selection
SELECTION_FOUND: Selection
SELECTION_CORE: Selection
SELECTION_FILL_NEIGHBOUR: Selection
SELECTION_FILL_STATED: Selection
SELECTION_FILL_SESSION: Selection
SELECTION_FILL_NEWEST: Selection

class StablePrefix(_message.Message):
    __slots__ = ("messages", "bytes", "tokens", "hash")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    messages: int
    bytes: int
    tokens: int
    hash: str
    def __init__(self, messages: _Optional[int] = ..., bytes: _Optional[int] = ..., tokens: _Optional[int] = ..., hash: _Optional[str] = ...) -> None: ...

class SectionSwitch(_message.Message):
    __slots__ = ("section", "enabled")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    section: SectionKind
    enabled: bool
    def __init__(self, section: _Optional[_Union[SectionKind, str]] = ..., enabled: bool = ...) -> None: ...

class ContextOverrides(_message.Message):
    __slots__ = ("budget_tokens", "recent_n", "top_k", "min_score", "sections", "memory_role", "counter", "max_facts", "min_fact_score", "categories", "previous_sessions", "policy", "step_limit", "recall_floor", "memory_place", "max_wishes")
    BUDGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RECENT_N_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    SECTIONS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ROLE_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    MAX_FACTS_FIELD_NUMBER: _ClassVar[int]
    MIN_FACT_SCORE_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STEP_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RECALL_FLOOR_FIELD_NUMBER: _ClassVar[int]
    MEMORY_PLACE_FIELD_NUMBER: _ClassVar[int]
    MAX_WISHES_FIELD_NUMBER: _ClassVar[int]
    budget_tokens: int
    recent_n: int
    top_k: int
    min_score: float
    sections: _containers.RepeatedCompositeFieldContainer[SectionSwitch]
    memory_role: MemoryRole
    counter: TokenCounter
    max_facts: int
    min_fact_score: float
    categories: _containers.RepeatedScalarFieldContainer[_fact_pb2.Category]
    previous_sessions: PreviousSessions
    policy: _policy_pb2.ContextPolicy
    step_limit: int
    recall_floor: int
    memory_place: MemoryPlace
    max_wishes: int
    def __init__(self, budget_tokens: _Optional[int] = ..., recent_n: _Optional[int] = ..., top_k: _Optional[int] = ..., min_score: _Optional[float] = ..., sections: _Optional[_Iterable[_Union[SectionSwitch, _Mapping]]] = ..., memory_role: _Optional[_Union[MemoryRole, str]] = ..., counter: _Optional[_Union[TokenCounter, str]] = ..., max_facts: _Optional[int] = ..., min_fact_score: _Optional[float] = ..., categories: _Optional[_Iterable[_Union[_fact_pb2.Category, str]]] = ..., previous_sessions: _Optional[_Union[PreviousSessions, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.ContextPolicy, _Mapping]] = ..., step_limit: _Optional[int] = ..., recall_floor: _Optional[int] = ..., memory_place: _Optional[_Union[MemoryPlace, str]] = ..., max_wishes: _Optional[int] = ...) -> None: ...

class PreviousSessions(_message.Message):
    __slots__ = ("max", "max_age")
    MAX_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    max: int
    max_age: _duration_pb2.Duration
    def __init__(self, max: _Optional[int] = ..., max_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Freshness(_message.Message):
    __slots__ = ("min_seq", "of", "timeout")
    MIN_SEQ_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    min_seq: int
    of: _containers.RepeatedScalarFieldContainer[Watermark]
    timeout: _duration_pb2.Duration
    def __init__(self, min_seq: _Optional[int] = ..., of: _Optional[_Iterable[_Union[Watermark, str]]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FactScore(_message.Message):
    __slots__ = ("score", "relevance", "significance", "recency", "arms")
    SCORE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    SIGNIFICANCE_FIELD_NUMBER: _ClassVar[int]
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    score: float
    relevance: float
    significance: float
    recency: float
    arms: _containers.RepeatedCompositeFieldContainer[ArmScore]
    def __init__(self, score: _Optional[float] = ..., relevance: _Optional[float] = ..., significance: _Optional[float] = ..., recency: _Optional[float] = ..., arms: _Optional[_Iterable[_Union[ArmScore, _Mapping]]] = ...) -> None: ...

class SummaryItem(_message.Message):
    __slots__ = ("node_ids", "from_seq", "to_seq", "name", "start_time", "end_time", "shortened")
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    SHORTENED_FIELD_NUMBER: _ClassVar[int]
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    from_seq: int
    to_seq: int
    name: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    shortened: bool
    def __init__(self, node_ids: _Optional[_Iterable[str]] = ..., from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ..., name: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., shortened: bool = ...) -> None: ...

class TextRange(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class ContextItem(_message.Message):
    __slots__ = ("session_id", "message_id", "seq", "role", "name", "create_time", "tokens", "cut", "text", "message", "explanation", "fact", "fact_score", "summary", "model", "note", "selection")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    FACT_SCORE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message_id: str
    seq: int
    role: _message_pb2.Role
    name: str
    create_time: _timestamp_pb2.Timestamp
    tokens: int
    cut: TextRange
    text: str
    message: _message_pb2.Message
    explanation: Explanation
    fact: _fact_pb2.Fact
    fact_score: FactScore
    summary: SummaryItem
    model: str
    note: NoteItem
    selection: Selection
    def __init__(self, session_id: _Optional[str] = ..., message_id: _Optional[str] = ..., seq: _Optional[int] = ..., role: _Optional[_Union[_message_pb2.Role, str]] = ..., name: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tokens: _Optional[int] = ..., cut: _Optional[_Union[TextRange, _Mapping]] = ..., text: _Optional[str] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., fact_score: _Optional[_Union[FactScore, _Mapping]] = ..., summary: _Optional[_Union[SummaryItem, _Mapping]] = ..., model: _Optional[str] = ..., note: _Optional[_Union[NoteItem, _Mapping]] = ..., selection: _Optional[_Union[Selection, str]] = ...) -> None: ...

class NoteItem(_message.Message):
    __slots__ = ("name", "revision", "of_user")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    OF_USER_FIELD_NUMBER: _ClassVar[int]
    name: str
    revision: int
    of_user: bool
    def __init__(self, name: _Optional[str] = ..., revision: _Optional[int] = ..., of_user: bool = ...) -> None: ...

class Section(_message.Message):
    __slots__ = ("kind", "items", "tokens")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    kind: SectionKind
    items: _containers.RepeatedCompositeFieldContainer[ContextItem]
    tokens: int
    def __init__(self, kind: _Optional[_Union[SectionKind, str]] = ..., items: _Optional[_Iterable[_Union[ContextItem, _Mapping]]] = ..., tokens: _Optional[int] = ...) -> None: ...

class ArmScore(_message.Message):
    __slots__ = ("arm", "rank", "score", "weight")
    ARM_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    arm: str
    rank: int
    score: float
    weight: float
    def __init__(self, arm: _Optional[str] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class TermScore(_message.Message):
    __slots__ = ("term", "weighted_frequency", "idf", "score", "near_words")
    TERM_FIELD_NUMBER: _ClassVar[int]
    WEIGHTED_FREQUENCY_FIELD_NUMBER: _ClassVar[int]
    IDF_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    NEAR_WORDS_FIELD_NUMBER: _ClassVar[int]
    term: str
    weighted_frequency: float
    idf: float
    score: float
    near_words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, term: _Optional[str] = ..., weighted_frequency: _Optional[float] = ..., idf: _Optional[float] = ..., score: _Optional[float] = ..., near_words: _Optional[_Iterable[str]] = ...) -> None: ...

class ScoreFactor(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("rank", "score", "relevance", "arms", "terms", "factors", "kind")
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    rank: int
    score: float
    relevance: float
    arms: _containers.RepeatedCompositeFieldContainer[ArmScore]
    terms: _containers.RepeatedCompositeFieldContainer[TermScore]
    factors: _containers.RepeatedCompositeFieldContainer[ScoreFactor]
    kind: str
    def __init__(self, rank: _Optional[int] = ..., score: _Optional[float] = ..., relevance: _Optional[float] = ..., arms: _Optional[_Iterable[_Union[ArmScore, _Mapping]]] = ..., terms: _Optional[_Iterable[_Union[TermScore, _Mapping]]] = ..., factors: _Optional[_Iterable[_Union[ScoreFactor, _Mapping]]] = ..., kind: _Optional[str] = ...) -> None: ...

class Coverage(_message.Message):
    __slots__ = ("summary_through", "raw_from", "gaps")
    SUMMARY_THROUGH_FIELD_NUMBER: _ClassVar[int]
    RAW_FROM_FIELD_NUMBER: _ClassVar[int]
    GAPS_FIELD_NUMBER: _ClassVar[int]
    summary_through: int
    raw_from: int
    gaps: _containers.RepeatedCompositeFieldContainer[SeqRange]
    def __init__(self, summary_through: _Optional[int] = ..., raw_from: _Optional[int] = ..., gaps: _Optional[_Iterable[_Union[SeqRange, _Mapping]]] = ...) -> None: ...

class SeqRange(_message.Message):
    __slots__ = ("from_seq", "to_seq")
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    from_seq: int
    to_seq: int
    def __init__(self, from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ...) -> None: ...

class Watermarks(_message.Message):
    __slots__ = ("recorded", "indexed", "extracted", "summarised")
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    SUMMARISED_FIELD_NUMBER: _ClassVar[int]
    recorded: int
    indexed: int
    extracted: int
    summarised: int
    def __init__(self, recorded: _Optional[int] = ..., indexed: _Optional[int] = ..., extracted: _Optional[int] = ..., summarised: _Optional[int] = ...) -> None: ...

class Omission(_message.Message):
    __slots__ = ("session_id", "from_seq", "to_seq", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    from_seq: int
    to_seq: int
    reason: OmitReason
    def __init__(self, session_id: _Optional[str] = ..., from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ..., reason: _Optional[_Union[OmitReason, str]] = ...) -> None: ...

class Degradation(_message.Message):
    __slots__ = ("tier", "reason")
    TIER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tier: str
    reason: str
    def __init__(self, tier: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ContextUsage(_message.Message):
    __slots__ = ("tokens", "available_tokens", "budget_tokens", "counter", "window_tokens", "window_share", "history_tokens_before", "history_tokens_after", "effects", "tools_tokens", "raised_tokens")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_SHARE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RAISED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: int
    available_tokens: int
    budget_tokens: int
    counter: str
    window_tokens: int
    window_share: float
    history_tokens_before: int
    history_tokens_after: int
    effects: _containers.RepeatedCompositeFieldContainer[_policy_pb2.PolicyEffect]
    tools_tokens: int
    raised_tokens: int
    def __init__(self, tokens: _Optional[int] = ..., available_tokens: _Optional[int] = ..., budget_tokens: _Optional[int] = ..., counter: _Optional[str] = ..., window_tokens: _Optional[int] = ..., window_share: _Optional[float] = ..., history_tokens_before: _Optional[int] = ..., history_tokens_after: _Optional[int] = ..., effects: _Optional[_Iterable[_Union[_policy_pb2.PolicyEffect, _Mapping]]] = ..., tools_tokens: _Optional[int] = ..., raised_tokens: _Optional[int] = ...) -> None: ...

class Retrieval(_message.Message):
    __slots__ = ("terms", "candidates", "passages", "unindexed", "facts", "embedder")
    TERMS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    UNINDEXED_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedScalarFieldContainer[str]
    candidates: int
    passages: int
    unindexed: int
    facts: int
    embedder: str
    def __init__(self, terms: _Optional[_Iterable[str]] = ..., candidates: _Optional[int] = ..., passages: _Optional[int] = ..., unindexed: _Optional[int] = ..., facts: _Optional[int] = ..., embedder: _Optional[str] = ...) -> None: ...
