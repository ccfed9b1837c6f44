"""What a call can fail with: one exception a gRPC code, with what the service says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

_DETAILS = "grpc-status-details-bin"  # where a google.rpc.Status with its details stands in the trailing metadata


@dataclass(frozen=True)
class FieldViolation:
    """A field of the request that is not as it must be."""

    field: str
    description: str


class StrataError(Exception):
    """A call failed. The message is the service's own: it names the field, the limit and what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode,
        reason: str = "",
        fields: tuple[FieldViolation, ...] = (),
        metadata: dict[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        #: ErrorReason of the API without its prefix, such as SESSION_NOT_FOUND; "" where the call did not reach the service.
        self.reason = reason
        #: Every field that the service refuses.
        self.fields = fields
        #: The variables of the message, such as the id that was not found.
        self.metadata = metadata or {}
        #: The seconds after which the service wants to be asked again; None where it says nothing of that.
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, self.code, self.reason, self.fields, self.metadata, self.retry_after)

    @property
    def field(self) -> str:
        """The first field that the service refuses; "" for none."""
        return self.fields[0].field if self.fields else ""

    def __str__(self) -> str:
        where = self.reason or self.code.name
        return f"{where}: {self.message}" if self.message else where


def _again(
    kind: type[StrataError],
    message: str,
    code: grpc.StatusCode,
    reason: str,
    fields: tuple[FieldViolation, ...],
    metadata: dict[str, str],
    retry_after: float | None,
) -> StrataError:
    """An error that went through pickle, as between processes."""
    return kind(message, code=code, reason=reason, fields=fields, metadata=metadata, retry_after=retry_after)


class InvalidArgument(StrataError):
    """The request is wrong: field and fields say where."""


class NotFound(StrataError):
    """There is no such user, session, message, fact, summary, job or key."""


class AlreadyExists(StrataError):
    """The id is taken by something else."""


class FailedPrecondition(StrataError):
    """The state is not what the request expects."""


class Conflict(StrataError):
    """Somebody was faster: read again and retry."""


class ResourceExhausted(StrataError):
    """A quota or the disk is full, or too much is asked for at once."""


class Unavailable(StrataError):
    """The service, or what it needs, does not respond: retry later."""


class DeadlineExceeded(StrataError):
    """The time was up. A write may have been done: repeat it with the same request_id."""


class Unauthenticated(StrataError):
    """The key is missing or not good."""


class PermissionDenied(StrataError):
    """The role of the key does not allow the call."""


class Cancelled(StrataError):
    """The call was cancelled."""


class Internal(StrataError):
    """A fault of the service; its log has the cause."""


_CLASSES: dict[grpc.StatusCode, type[StrataError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.ABORTED: Conflict,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.INTERNAL: Internal,
}


def of(error: Any) -> StrataError:
    """The exception for an error of grpc or grpc.aio."""
    code: grpc.StatusCode = error.code()
    reason = ""
    metadata: dict[str, str] = {}
    fields: tuple[FieldViolation, ...] = ()
    retry_after: float | None = None
    for detail in _details(error):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest()
            detail.Unpack(bad)
            fields = tuple(FieldViolation(v.field, v.description) for v in bad.field_violations)
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry = error_details_pb2.RetryInfo()
            detail.Unpack(retry)
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return _CLASSES.get(code, StrataError)(
        error.details() or "", code=code, reason=reason, fields=fields, metadata=metadata, retry_after=retry_after
    )


def _details(error: Any) -> Any:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            return status_pb2.Status.FromString(value).details
    return ()
