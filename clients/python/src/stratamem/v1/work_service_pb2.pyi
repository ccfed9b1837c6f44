import datetime

from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from stratamem.v1 import context_pb2 as _context_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_KIND_UNSPECIFIED: _ClassVar[JobKind]
    JOB_KIND_EXTRACT: _ClassVar[JobKind]
    JOB_KIND_SUMMARIZE: _ClassVar[JobKind]
    JOB_KIND_MERGE: _ClassVar[JobKind]
    JOB_KIND_WEEK: _ClassVar[JobKind]
    JOB_KIND_MONTH: _ClassVar[JobKind]
    JOB_KIND_REEMBED: _ClassVar[JobKind]
    JOB_KIND_REINDEX: _ClassVar[JobKind]
    JOB_KIND_VERIFY: _ClassVar[JobKind]
    JOB_KIND_REBUILD: _ClassVar[JobKind]
    JOB_KIND_ERASE: _ClassVar[JobKind]
    JOB_KIND_INDEX: _ClassVar[JobKind]

class View(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEW_UNSPECIFIED: _ClassVar[View]
    VIEW_VECTORS: _ClassVar[View]
    VIEW_FACTS: _ClassVar[View]
    VIEW_TRANSCRIPT: _ClassVar[View]
    VIEW_TURNS: _ClassVar[View]

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_OPEN: _ClassVar[JobState]
    JOB_STATE_ANSWERED: _ClassVar[JobState]
    JOB_STATE_PARKED: _ClassVar[JobState]
    JOB_STATE_APPLIED: _ClassVar[JobState]
    JOB_STATE_SKIPPED: _ClassVar[JobState]
    JOB_STATE_SPLIT: _ClassVar[JobState]
    JOB_STATE_REVERTED: _ClassVar[JobState]
    JOB_STATE_REPLACED: _ClassVar[JobState]

class ErasureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASURE_KIND_UNSPECIFIED: _ClassVar[ErasureKind]
    ERASURE_KIND_USER: _ClassVar[ErasureKind]
    ERASURE_KIND_SESSION: _ClassVar[ErasureKind]
    ERASURE_KIND_MESSAGES: _ClassVar[ErasureKind]
    ERASURE_KIND_SUMMARY: _ClassVar[ErasureKind]

class PurgedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PURGED_BY_UNSPECIFIED: _ClassVar[PurgedBy]
    PURGED_BY_SWEEP: _ClassVar[PurgedBy]
    PURGED_BY_COMPACTION: _ClassVar[PurgedBy]

class RevertOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVERT_OUTCOME_UNSPECIFIED: _ClassVar[RevertOutcome]
    REVERT_OUTCOME_REMOVED: _ClassVar[RevertOutcome]
    REVERT_OUTCOME_RESTORED: _ClassVar[RevertOutcome]
    REVERT_OUTCOME_KEPT_CHANGED_BY_PERSON: _ClassVar[RevertOutcome]
    REVERT_OUTCOME_KEPT_CHANGED_BY_JOB: _ClassVar[RevertOutcome]
    REVERT_OUTCOME_KEPT_REPLACED: _ClassVar[RevertOutcome]
JOB_KIND_UNSPECIFIED: JobKind
JOB_KIND_EXTRACT: JobKind
JOB_KIND_SUMMARIZE: JobKind
JOB_KIND_MERGE: JobKind
JOB_KIND_WEEK: JobKind
JOB_KIND_MONTH: JobKind
JOB_KIND_REEMBED: JobKind
JOB_KIND_REINDEX: JobKind
JOB_KIND_VERIFY: JobKind
JOB_KIND_REBUILD: JobKind
JOB_KIND_ERASE: JobKind
JOB_KIND_INDEX: JobKind
VIEW_UNSPECIFIED: View
VIEW_VECTORS: View
VIEW_FACTS: View
VIEW_TRANSCRIPT: View
VIEW_TURNS: View
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_OPEN: JobState
JOB_STATE_ANSWERED: JobState
JOB_STATE_PARKED: JobState
JOB_STATE_APPLIED: JobState
JOB_STATE_SKIPPED: JobState
JOB_STATE_SPLIT: JobState
JOB_STATE_REVERTED: JobState
JOB_STATE_REPLACED: JobState
ERASURE_KIND_UNSPECIFIED: ErasureKind
ERASURE_KIND_USER: ErasureKind
ERASURE_KIND_SESSION: ErasureKind
ERASURE_KIND_MESSAGES: ErasureKind
ERASURE_KIND_SUMMARY: ErasureKind
PURGED_BY_UNSPECIFIED: PurgedBy
PURGED_BY_SWEEP: PurgedBy
PURGED_BY_COMPACTION: PurgedBy
REVERT_OUTCOME_UNSPECIFIED: RevertOutcome
REVERT_OUTCOME_REMOVED: RevertOutcome
REVERT_OUTCOME_RESTORED: RevertOutcome
REVERT_OUTCOME_KEPT_CHANGED_BY_PERSON: RevertOutcome
REVERT_OUTCOME_KEPT_CHANGED_BY_JOB: RevertOutcome
REVERT_OUTCOME_KEPT_REPLACED: RevertOutcome

class ViewCheck(_message.Message):
    __slots__ = ("view", "checked", "missing", "stale", "orphan", "repaired", "pending")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    CHECKED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_FIELD_NUMBER: _ClassVar[int]
    REPAIRED_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    view: View
    checked: int
    missing: int
    stale: int
    orphan: int
    repaired: int
    pending: int
    def __init__(self, view: _Optional[_Union[View, str]] = ..., checked: _Optional[int] = ..., missing: _Optional[int] = ..., stale: _Optional[int] = ..., orphan: _Optional[int] = ..., repaired: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("job_id", "user_id", "session_id", "kind", "state", "from_seq", "to_seq", "generation", "attempts", "not_before", "reason", "model_calls", "input_tokens", "output_tokens", "create_time", "update_time", "done", "total", "checks", "erasure")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQ_FIELD_NUMBER: _ClassVar[int]
    TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    user_id: str
    session_id: str
    kind: JobKind
    state: JobState
    from_seq: int
    to_seq: int
    generation: int
    attempts: int
    not_before: _timestamp_pb2.Timestamp
    reason: str
    model_calls: int
    input_tokens: int
    output_tokens: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    done: int
    total: int
    checks: _containers.RepeatedCompositeFieldContainer[ViewCheck]
    erasure: Erasure
    def __init__(self, job_id: _Optional[str] = ..., user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., kind: _Optional[_Union[JobKind, str]] = ..., state: _Optional[_Union[JobState, str]] = ..., from_seq: _Optional[int] = ..., to_seq: _Optional[int] = ..., generation: _Optional[int] = ..., attempts: _Optional[int] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., model_calls: _Optional[int] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., done: _Optional[int] = ..., total: _Optional[int] = ..., checks: _Optional[_Iterable[_Union[ViewCheck, _Mapping]]] = ..., erasure: _Optional[_Union[Erasure, _Mapping]] = ...) -> None: ...

class Erasure(_message.Message):
    __slots__ = ("kind", "messages", "stores", "done_time")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    DONE_TIME_FIELD_NUMBER: _ClassVar[int]
    kind: ErasureKind
    messages: int
    stores: _containers.RepeatedCompositeFieldContainer[StoreReceipt]
    done_time: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[_Union[ErasureKind, str]] = ..., messages: _Optional[int] = ..., stores: _Optional[_Iterable[_Union[StoreReceipt, _Mapping]]] = ..., done_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class StoreReceipt(_message.Message):
    __slots__ = ("store", "found", "deleted", "remaining", "purged_by")
    STORE_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    PURGED_BY_FIELD_NUMBER: _ClassVar[int]
    store: str
    found: int
    deleted: int
    remaining: int
    purged_by: PurgedBy
    def __init__(self, store: _Optional[str] = ..., found: _Optional[int] = ..., deleted: _Optional[int] = ..., remaining: _Optional[int] = ..., purged_by: _Optional[_Union[PurgedBy, str]] = ...) -> None: ...

class ErasureExtent(_message.Message):
    __slots__ = ("sessions", "messages", "facts", "summaries", "documents")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    sessions: int
    messages: int
    facts: int
    summaries: int
    documents: int
    def __init__(self, sessions: _Optional[int] = ..., messages: _Optional[int] = ..., facts: _Optional[int] = ..., summaries: _Optional[int] = ..., documents: _Optional[int] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("user_id", "job_id", "wait")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    job_id: str
    wait: _duration_pb2.Duration
    def __init__(self, user_id: _Optional[str] = ..., job_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class WaitForWatermarkRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "of", "min_seq", "timeout")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    MIN_SEQ_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    of: _containers.RepeatedScalarFieldContainer[_context_pb2.Watermark]
    min_seq: int
    timeout: _duration_pb2.Duration
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., of: _Optional[_Iterable[_Union[_context_pb2.Watermark, str]]] = ..., min_seq: _Optional[int] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitForWatermarkResponse(_message.Message):
    __slots__ = ("watermarks", "reached", "parked_job_id")
    WATERMARKS_FIELD_NUMBER: _ClassVar[int]
    REACHED_FIELD_NUMBER: _ClassVar[int]
    PARKED_JOB_ID_FIELD_NUMBER: _ClassVar[int]
    watermarks: _context_pb2.Watermarks
    reached: bool
    parked_job_id: str
    def __init__(self, watermarks: _Optional[_Union[_context_pb2.Watermarks, _Mapping]] = ..., reached: bool = ..., parked_job_id: _Optional[str] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "kinds", "states", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    kinds: _containers.RepeatedScalarFieldContainer[JobKind]
    states: _containers.RepeatedScalarFieldContainer[JobState]
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[JobKind, str]]] = ..., states: _Optional[_Iterable[_Union[JobState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RetryJobRequest(_message.Message):
    __slots__ = ("user_id", "job_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    job_id: str
    def __init__(self, user_id: _Optional[str] = ..., job_id: _Optional[str] = ...) -> None: ...

class RetryJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class RetryJobsRequest(_message.Message):
    __slots__ = ("user_id", "session_id", "kinds", "reason", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    session_id: str
    kinds: _containers.RepeatedScalarFieldContainer[JobKind]
    reason: str
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., session_id: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[JobKind, str]]] = ..., reason: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class RetryJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SkipJobRequest(_message.Message):
    __slots__ = ("user_id", "job_id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    job_id: str
    def __init__(self, user_id: _Optional[str] = ..., job_id: _Optional[str] = ...) -> None: ...

class SkipJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class RevertJobRequest(_message.Message):
    __slots__ = ("user_id", "job_id", "author")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    job_id: str
    author: str
    def __init__(self, user_id: _Optional[str] = ..., job_id: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class RevertJobResponse(_message.Message):
    __slots__ = ("job", "facts")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    job: Job
    facts: _containers.RepeatedCompositeFieldContainer[RevertedFact]
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ..., facts: _Optional[_Iterable[_Union[RevertedFact, _Mapping]]] = ...) -> None: ...

class RevertedFact(_message.Message):
    __slots__ = ("fact_id", "outcome")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    outcome: RevertOutcome
    def __init__(self, fact_id: _Optional[str] = ..., outcome: _Optional[_Union[RevertOutcome, str]] = ...) -> None: ...
