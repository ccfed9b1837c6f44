"""The client of Strata, conversation memory for LLM agents: record a turn, build the context of the next.

Client and AsyncClient make calls, messages reads and writes what providers send, v1 has the contract, and testing starts a server.
Adapters of frameworks stand in modules of their own, such as stratamem.openai_agents.
"""

from stratamem.client import AsyncClient, Client, document_value
from stratamem.errors import (
    AlreadyExists,
    Cancelled,
    Conflict,
    DeadlineExceeded,
    FailedPrecondition,
    FieldViolation,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    StrataError,
    Unauthenticated,
    Unavailable,
)
from stratamem.retry import Retry

__all__ = [
    "AlreadyExists",
    "AsyncClient",
    "Cancelled",
    "Client",
    "Conflict",
    "DeadlineExceeded",
    "FailedPrecondition",
    "FieldViolation",
    "Internal",
    "InvalidArgument",
    "NotFound",
    "PermissionDenied",
    "ResourceExhausted",
    "Retry",
    "StrataError",
    "Unauthenticated",
    "Unavailable",
    "document_value",
]
