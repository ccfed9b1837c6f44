"""What the client costs beside the raw stubs: p50 of a small Record and of a page of messages, in turns on one server.

Run it with a Python that has the package, and STRATA_BINARY. It prints a line a call and exits with 1 above the bar.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
import uuid
from collections.abc import Awaitable, Callable

import grpc
import grpc.aio

from stratamem import v1
from stratamem.testing import Server, server
from stratamem.v1 import memory_service_pb2_grpc

BAR_MS = 0.2
CALLS = 1500


def request(session: str) -> v1.RecordRequest:
    said = [v1.Message(role=v1.ROLE_USER, text="I am vegan"), v1.Message(role=v1.ROLE_ASSISTANT, text="Noted!")]
    return v1.RecordRequest(user_id="bench", session_id=session, messages=said, request_id=uuid.uuid4().hex)


PAGE = v1.ListMessagesRequest(user_id="bench", session_id="page", page_size=10)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e6


async def atimed(call: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter_ns()
    await call()
    return (time.perf_counter_ns() - start) / 1e6


def report(name: str, raw: list[float], ours: list[float]) -> bool:
    a, b = statistics.median(raw), statistics.median(ours)
    print(f"{name:<22} raw stubs p50 {a:.3f} ms, client p50 {b:.3f} ms, overhead {b - a:+.3f} ms (bar {BAR_MS} ms), ratio {b / a:.2f}")
    return b - a <= BAR_MS


def sync(s: Server) -> bool:
    with s.client() as client, grpc.insecure_channel(s.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        client.memory.Record(request("page"))
        stub.ListMessages(PAGE)
        raw, ours = [], []
        for _ in range(CALLS):
            raw.append(timed(lambda: stub.ListMessages(PAGE, timeout=30)))
            ours.append(timed(lambda: list(client.messages("bench", "page", page_size=10))))
        ok = report("ListMessages", raw, ours)
        raw, ours = [], []
        for _ in range(CALLS):
            raw.append(timed(lambda: stub.Record(request("raw"), timeout=30)))
            ours.append(timed(lambda: client.memory.Record(request("ours"))))
        return report("Record", raw, ours) and ok


async def asynchronous(s: Server) -> bool:
    async with s.async_client() as client, grpc.aio.insecure_channel(s.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        raw, ours = [], []
        for _ in range(CALLS):
            raw.append(await atimed(lambda: stub.ListMessages(PAGE, timeout=30)))
            ours.append(await atimed(lambda: client.memory.ListMessages(PAGE)))
        return report("ListMessages, asyncio", raw, ours)


if __name__ == "__main__":
    with server() as running:
        results = [sync(running), asyncio.run(asynchronous(running))]
    sys.exit(0 if all(results) else 1)
