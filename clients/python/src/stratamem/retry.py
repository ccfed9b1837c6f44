"""When a failed call is made again. Decisions only: who waits, and by which clock, is the channel's."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import descriptor_pool

import stratamem.v1  # noqa: F401  (registers the methods in the pool)
from stratamem.errors import StrataError

# What these methods do can be done again: they change nothing.
_READS = ("Get", "List", "Search", "Build", "Count", "Check", "Compact", "WaitFor")


@dataclass(frozen=True)
class Retry:
    """How often and how soon a call is made again: full jitter below a bound that doubles up to a most
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter), and never sooner than the service asks for."""

    attempts: int = 7  #: calls in all; 1 for no retry
    first: float = 0.1  #: the bound of the first wait, in seconds
    most: float = 5.0  #: the bound of every wait, in seconds
    draw: Callable[[], float] = field(default=random.random, repr=False)  #: from 0 to 1

    def wait(self, error: StrataError, attempt: int, repeatable: bool) -> float | None:
        """The seconds to wait after this attempt, counted from 1; None where the error stands."""
        if attempt >= self.attempts or not _passes(error, repeatable):
            return None
        jitter = self.draw() * min(self.most, self.first * float(2 ** (attempt - 1)))
        return (error.retry_after or 0.0) + jitter


def _passes(error: StrataError, repeatable: bool) -> bool:
    """Whether the call may succeed when it is repeated, and does no harm by it. RetryInfo says that nothing was done; or, of
    OVERLOADED, that what was done is found again by its request_id."""
    if error.code == grpc.StatusCode.UNAVAILABLE:
        return repeatable or (error.retry_after is not None and error.reason != "")
    if error.code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED):
        return error.retry_after is not None and (repeatable or error.metadata.get("cause") != "reply_bytes")
    return False


@dataclass(frozen=True)
class Method:
    """What is known of a method by its place in the contract."""

    has_request_id: bool
    reads: bool

    def prepared(self, request: Any) -> Any:
        """The request that all attempts send: with a request_id, so that the service knows a repeat by it. The caller's own is
        left as it is, since it may be sent again as another call."""
        if not self.has_request_id or request.request_id:
            return request
        out = type(request)()
        out.CopyFrom(request)
        out.request_id = uuid.uuid4().hex
        return out

    @property
    def repeatable(self) -> bool:
        return self.has_request_id or self.reads


def method(path: str) -> Method:
    """The method of a path such as /memory.v1.MemoryService/Record."""
    service, name = path.removeprefix("/").split("/")
    request = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name].input_type
    return Method("request_id" in request.fields_by_name, name.startswith(_READS))
