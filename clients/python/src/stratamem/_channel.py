"""Channels that the generated stubs are put on: they send the key, set a deadline, retry, and raise StrataError."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from stratamem import errors
from stratamem.retry import Method, Retry, method

DEFAULT_ADDRESS = "127.0.0.1:8081"
DEFAULT_TIMEOUT = 30.0

# The service takes requests of 8 MiB; a reply may be somewhat larger than gRPC's own limit of 4 MiB.
# A connection that broke is tried again about as soon as calls are: by itself gRPC waits up to two minutes.
_OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 8 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]


@dataclass(frozen=True)
class Settings:
    """What all calls of a client share."""

    address: str
    timeout: float
    retry: Retry
    metadata: tuple[tuple[str, str], ...] = field(repr=False)  # it holds the key
    credentials: grpc.ChannelCredentials | None = None


def settings(
    address: str | None,
    key: str | None,
    timeout: float,
    retry: Retry | None,
    tls: bool | grpc.ChannelCredentials,
) -> Settings:
    """The settings of a client; what is None comes from STRATA_SERVER and STRATA_KEY, as for the strata command."""
    key = os.environ.get("STRATA_KEY", "") if key is None else key
    address = address or os.environ.get("STRATA_SERVER", "") or DEFAULT_ADDRESS
    tls = tls or address.startswith("https://")
    return Settings(
        address=address.removeprefix("https://").removeprefix("http://"),
        timeout=timeout,
        retry=retry or Retry(),
        metadata=(("authorization", f"Bearer {key}"),) if key else (),
        credentials=(grpc.ssl_channel_credentials() if tls else None) if isinstance(tls, bool) else tls,
    )


def connect(s: Settings) -> grpc.Channel:
    if s.credentials is not None:
        return grpc.secure_channel(s.address, s.credentials, options=_OPTIONS)
    return grpc.insecure_channel(s.address, options=_OPTIONS)


def connect_async(s: Settings) -> grpc.aio.Channel:
    if s.credentials is not None:
        return grpc.aio.secure_channel(s.address, s.credentials, options=_OPTIONS)
    return grpc.aio.insecure_channel(s.address, options=_OPTIONS)


class Attempts:
    """The attempts of one call under one deadline."""

    def __init__(self, s: Settings, m: Method, timeout: float | None, clock: Callable[[], float]) -> None:
        self._settings, self._method, self._clock = s, m, clock
        self._deadline = clock() + (s.timeout if timeout is None else timeout)
        self._made = 0

    def left(self) -> float:
        """The seconds that the next attempt may take."""
        self._made += 1
        return max(0.0, self._deadline - self._clock())

    def wait(self, error: errors.StrataError) -> float:
        """The seconds to wait before the next attempt; raises the error where there is none, or no time for it. A call cannot be
        cancelled by its caller here: where the time is up, a server that closed its stream did so for the deadline."""
        if isinstance(error, errors.Cancelled) and self._clock() >= self._deadline:
            raise errors.DeadlineExceeded("the time of the call was up", code=grpc.StatusCode.DEADLINE_EXCEEDED)
        wait = self._settings.retry.wait(error, self._made, self._method.repeatable)
        if wait is None or self._clock() + wait >= self._deadline:
            raise error
        return wait


def _metadata(s: Settings, more: Sequence[tuple[str, str]] | None) -> tuple[tuple[str, str], ...]:
    return s.metadata + tuple(more) if more else s.metadata


class Channel:
    """Has what generated stubs ask of a grpc.Channel."""

    def __init__(self, channel: grpc.Channel, s: Settings) -> None:
        self._channel, self._settings = channel, s

    def unary_unary(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s, m = self._channel.unary_unary(path, *args, **kwargs), self._settings, method(path)

        def invoke(request: Any, timeout: float | None = None, metadata: Any = None) -> Any:
            request = m.prepared(request)
            attempts = Attempts(s, m, timeout, time.monotonic)
            while True:
                try:
                    return call(request, timeout=attempts.left(), metadata=_metadata(s, metadata))
                except grpc.RpcError as failed:
                    error = errors.of(failed)
                time.sleep(attempts.wait(error))  # out of the handler: the traceback of grpc says nothing more

        return invoke

    def unary_stream(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s = self._channel.unary_stream(path, *args, **kwargs), self._settings

        def invoke(request: Any, timeout: float | None = None, metadata: Any = None) -> Iterator[Any]:
            try:
                yield from call(request, timeout=timeout, metadata=_metadata(s, metadata))
            except grpc.RpcError as failed:
                raise errors.of(failed) from failed

        return invoke

    def stream_unary(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s = self._channel.stream_unary(path, *args, **kwargs), self._settings

        def invoke(requests: Iterator[Any], timeout: float | None = None, metadata: Any = None) -> Any:
            try:
                return call(requests, timeout=timeout, metadata=_metadata(s, metadata))
            except grpc.RpcError as failed:
                raise errors.of(failed) from failed

        return invoke


class AsyncChannel:
    """Has what generated stubs ask of a grpc.aio.Channel."""

    def __init__(self, channel: grpc.aio.Channel, s: Settings) -> None:
        self._channel, self._settings = channel, s

    def unary_unary(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s, m = self._channel.unary_unary(path, *args, **kwargs), self._settings, method(path)

        async def invoke(request: Any, timeout: float | None = None, metadata: Any = None) -> Any:
            request = m.prepared(request)
            attempts = Attempts(s, m, timeout, time.monotonic)
            while True:
                try:
                    return await call(request, timeout=attempts.left(), metadata=_metadata(s, metadata))
                except grpc.aio.AioRpcError as failed:
                    error = errors.of(failed)
                await asyncio.sleep(attempts.wait(error))

        return invoke

    def unary_stream(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s = self._channel.unary_stream(path, *args, **kwargs), self._settings

        async def invoke(request: Any, timeout: float | None = None, metadata: Any = None) -> AsyncIterator[Any]:
            try:
                async for reply in call(request, timeout=timeout, metadata=_metadata(s, metadata)):
                    yield reply
            except grpc.aio.AioRpcError as failed:
                raise errors.of(failed) from failed

        return invoke

    def stream_unary(self, path: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        call, s = self._channel.stream_unary(path, *args, **kwargs), self._settings

        async def invoke(requests: AsyncIterator[Any], timeout: float | None = None, metadata: Any = None) -> Any:
            try:
                return await call(requests, timeout=timeout, metadata=_metadata(s, metadata))
            except grpc.aio.AioRpcError as failed:
                raise errors.of(failed) from failed

        return invoke
