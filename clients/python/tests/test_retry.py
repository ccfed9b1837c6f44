"""When a call is made again, tried on a server that fails as it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

import stratamem
from stratamem import AsyncClient, Client, Retry, v1
from stratamem._channel import Attempts
from stratamem.errors import StrataError
from stratamem.retry import method
from stratamem.v1 import fact_service_pb2_grpc, memory_service_pb2_grpc, work_service_pb2_grpc

UNAVAILABLE, EXHAUSTED, ABORTED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED


class Failing(
    memory_service_pb2_grpc.MemoryServiceServicer, fact_service_pb2_grpc.FactServiceServicer, work_service_pb2_grpc.WorkServiceServicer
):
    """Fails as its list says, then does well. It keeps what it was asked."""

    def __init__(self) -> None:
        self.failures: list[tuple[grpc.StatusCode, str, float | None, dict[str, str]]] = []
        self.requests: list[Any] = []
        self.metadata: list[dict[str, Any]] = []
        self.left: list[float] = []  # seconds until the call's deadline, as it arrived

    def _take(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        self.left.append(context.time_remaining())
        if not self.failures:
            return
        code, reason, after, metadata = self.failures.pop(0)
        details = []
        if reason:
            details.append(error_details_pb2.ErrorInfo(reason=reason, domain="strata", metadata=metadata))
        if after is not None:
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromNanoseconds(int(after * 1e9))
            details.append(retry)
        packed = []
        for d in details:
            p = any_pb2.Any()
            p.Pack(d)
            packed.append(p)
        status = status_pb2.Status(code=code.value[0], message="told to", details=packed)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, "told to")

    def Record(self, request: Any, context: grpc.ServicerContext) -> v1.RecordResponse:
        self._take(request, context)
        return v1.RecordResponse(last_seq=7)

    def BuildContext(self, request: Any, context: grpc.ServicerContext) -> v1.BuildContextResponse:
        self._take(request, context)
        return v1.BuildContextResponse()

    def ListMessages(self, request: Any, context: grpc.ServicerContext) -> v1.ListMessagesResponse:
        self._take(request, context)
        return v1.ListMessagesResponse()

    def WaitForWatermark(self, request: Any, context: grpc.ServicerContext) -> v1.WaitForWatermarkResponse:
        self._take(request, context)
        return v1.WaitForWatermarkResponse(reached=True)

    def UpdateMessage(self, request: Any, context: grpc.ServicerContext) -> v1.UpdateMessageResponse:
        self._take(request, context)
        return v1.UpdateMessageResponse()


@pytest.fixture
def failing() -> Iterator[tuple[Failing, str]]:
    s = grpc.server(ThreadPoolExecutor(4))
    f = Failing()
    memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(f, s)
    work_service_pb2_grpc.add_WorkServiceServicer_to_server(f, s)
    port = s.add_insecure_port("127.0.0.1:0")
    s.start()
    yield f, f"127.0.0.1:{port}"
    s.stop(None)


SOON = Retry(attempts=4, first=0.001)
TURN = v1.RecordRequest(user_id="u", session_id="s")


def test_a_write_is_repeated_with_the_same_request_id(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [
        (UNAVAILABLE, "STORE_UNAVAILABLE", 0.0, {}),
        (EXHAUSTED, "OVERLOADED", 0.0, {"cause": "reply_bytes"}),
        (ABORTED, "CONTENTION", 0.0, {}),
    ]
    with Client(address, key="", retry=SOON) as client:
        assert client.memory.Record(TURN).last_seq == 7
    ids = {r.request_id for r in f.requests}
    assert len(f.requests) == 4
    assert len(ids) == 1
    assert "" not in ids


async def test_the_same_with_asyncio(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [(UNAVAILABLE, "", None, {}), (EXHAUSTED, "OVERLOADED", 0.0, {})]
    async with AsyncClient(address, key="k", retry=SOON) as client:
        assert (await client.memory.Record(TURN)).last_seq == 7
    assert len(f.requests) == 3
    assert len({r.request_id for r in f.requests}) == 1
    assert {m["authorization"] for m in f.metadata} == {"Bearer k"}


def test_the_request_id_of_the_caller_is_sent(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [(UNAVAILABLE, "", None, {})]
    with Client(address, key="", retry=SOON) as client:
        client.record("u", "s", request_id="turn-1", state_patch={"a": 1})
    assert [r.request_id for r in f.requests] == ["turn-1", "turn-1"]


def test_the_key_stands_in_the_metadata_of_every_attempt_and_in_no_text(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [(UNAVAILABLE, "", None, {})]
    with Client(address, key="st_secret", retry=SOON) as client:
        client.memory.ListMessages(v1.ListMessagesRequest())
        assert "st_secret" not in repr(client.settings)
    assert [m["authorization"] for m in f.metadata] == ["Bearer st_secret", "Bearer st_secret"]


def test_address_and_key_come_from_the_environment(failing: tuple[Failing, str], monkeypatch: pytest.MonkeyPatch) -> None:
    f, address = failing
    monkeypatch.setenv("STRATA_SERVER", address)
    monkeypatch.setenv("STRATA_KEY", "of-the-environment")
    with Client() as client:
        client.memory.ListMessages(v1.ListMessagesRequest())
    assert f.metadata[0]["authorization"] == "Bearer of-the-environment"


def test_after_the_last_attempt_the_error_stands(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [(UNAVAILABLE, "STORE_UNAVAILABLE", 0.0, {})] * 9
    with Client(address, key="", retry=SOON) as client, pytest.raises(stratamem.Unavailable) as e:
        client.memory.Record(TURN)
    assert len(f.requests) == 4
    assert e.value.reason == "STORE_UNAVAILABLE"


def test_all_attempts_share_one_deadline() -> None:
    now = [100.0]
    with Client("127.0.0.1:1", key="", retry=Retry(first=1.0, draw=lambda: 1.0)) as client:
        attempts = Attempts(client.settings, method("/memory.v1.MemoryService/Record"), 5.0, lambda: now[0])
    unavailable = StrataError("", code=UNAVAILABLE)
    assert attempts.left() == 5.0
    now[0] += attempts.wait(unavailable)
    assert attempts.left() == 4.0
    now[0] += attempts.wait(unavailable)
    assert attempts.left() == 2.0
    with pytest.raises(StrataError):
        attempts.wait(unavailable)  # four seconds, and two are left


def test_a_call_may_have_a_deadline_of_its_own(failing: tuple[Failing, str]) -> None:
    f, address = failing
    with Client(address, key="", timeout=3600) as client:
        client.record("u", "s")
        client.record("u", "s", timeout=60)
        client.build_context("u", "s", "dinner?", timeout=60)
        client.recall("u", "s", "dinner?", timeout=60)
    assert [left > 600 for left in f.left] == [True, False, False, False]


async def test_a_call_may_have_a_deadline_of_its_own_with_asyncio(failing: tuple[Failing, str]) -> None:
    f, address = failing
    async with AsyncClient(address, key="", timeout=3600) as client:
        await client.record("u", "s")
        await client.record("u", "s", timeout=60)
        await client.build_context("u", "s", "dinner?", timeout=60)
        await client.recall("u", "s", "dinner?", timeout=60)
    assert [left > 600 for left in f.left] == [True, False, False, False]


async def test_work_may_be_waited_for_longer_than_a_call_may_take(failing: tuple[Failing, str]) -> None:
    f, address = failing
    with Client(address, key="", timeout=60) as client:
        assert client.wait("u", "s", timeout=3600)
    async with AsyncClient(address, key="", timeout=60) as aclient:
        assert await aclient.wait("u", "s", timeout=3600)
    assert [left > 3600 for left in f.left] == [True, True]


def test_a_wait_that_the_deadline_does_not_hold_is_not_begun(failing: tuple[Failing, str]) -> None:
    f, address = failing
    f.failures = [(UNAVAILABLE, "STORE_UNAVAILABLE", 3600.0, {})]
    with Client(address, key="", retry=SOON) as client, pytest.raises(stratamem.Unavailable) as e:
        client.memory.Record(TURN, timeout=60)
    assert e.value.retry_after == 3600.0
    assert len(f.requests) == 1


def test_a_change_without_a_request_id_is_repeated_only_where_nothing_was_done(failing: tuple[Failing, str]) -> None:
    f, address = failing
    with Client(address, key="", retry=SOON) as client:
        f.failures = [(UNAVAILABLE, "STORE_UNAVAILABLE", 0.0, {})]
        client.memory.UpdateMessage(v1.UpdateMessageRequest())
        assert len(f.requests) == 2
        f.failures = [(UNAVAILABLE, "", None, {})]  # as where the connection breaks: it may have been done
        with pytest.raises(stratamem.Unavailable):
            client.memory.UpdateMessage(v1.UpdateMessageRequest())
        f.failures = [(EXHAUSTED, "OVERLOADED", 0.0, {"cause": "reply_bytes"})]  # it was done, and the reply had no room
        with pytest.raises(stratamem.ResourceExhausted):
            client.memory.UpdateMessage(v1.UpdateMessageRequest())


@pytest.mark.parametrize(
    ("code", "reason", "after"),
    [
        (EXHAUSTED, "STORE_FULL", None),
        (EXHAUSTED, "", None),
        (ABORTED, "ETAG_MISMATCH", None),
        (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", None),
        (grpc.StatusCode.INTERNAL, "INTERNAL", None),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "", None),
    ],
)
def test_what_does_not_pass_is_not_repeated(failing: tuple[Failing, str], code: grpc.StatusCode, reason: str, after: float | None) -> None:
    f, address = failing
    f.failures = [(code, reason, after, {})]
    with Client(address, key="", retry=SOON) as client, pytest.raises(StrataError) as e:
        client.memory.Record(TURN)
    assert len(f.requests) == 1
    assert (e.value.code, e.value.reason) == (code, reason)


def test_waits_double_below_their_bound_and_honour_the_service() -> None:
    retry = Retry(attempts=10, first=0.1, most=1.0, draw=lambda: 1.0)
    plain = StrataError("", code=UNAVAILABLE)
    assert [retry.wait(plain, n, True) for n in range(1, 6)] == [0.1, 0.2, 0.4, 0.8, 1.0]
    asked = StrataError("", code=UNAVAILABLE, reason="SHUTTING_DOWN", retry_after=3.0)
    assert retry.wait(asked, 1, False) == 3.1
    assert Retry(draw=lambda: 0.0).wait(asked, 1, True) == 3.0
    assert retry.wait(plain, 10, True) is None


def test_a_stream_that_a_server_closed_when_the_time_was_up_is_a_passed_deadline() -> None:
    now = [0.0]
    closed = stratamem.Cancelled("RST_STREAM", code=grpc.StatusCode.CANCELLED)
    with Client("127.0.0.1:1") as client:
        attempts = Attempts(client.settings, method("/memory.v1.MemoryService/Record"), 5.0, lambda: now[0])
    attempts.left()
    with pytest.raises(stratamem.Cancelled):
        attempts.wait(closed)
    now[0] = 5.0
    with pytest.raises(stratamem.DeadlineExceeded):
        attempts.wait(closed)
