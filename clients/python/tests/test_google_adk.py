"""The contracts of ADK's session and memory service, and its Runner with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.tools.load_memory_tool import load_memory_tool
from google.genai import types

from stratamem import AsyncClient
from stratamem.google_adk import StrataMemoryService, StrataSessionService


@pytest.fixture
def sessions(aclient: AsyncClient) -> StrataSessionService:
    return StrataSessionService(aclient)


@pytest.fixture
def memory(aclient: AsyncClient) -> StrataMemoryService:
    return StrataMemoryService(aclient)


def event(text: str = "", author: str = "user", state: dict[str, Any] | None = None, **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)]) if text else None
    return Event(author=author, content=content, invocation_id="i", actions=EventActions(state_delta=state or {}), **fields)


async def read(sessions: StrataSessionService, s: Session, **config: Any) -> Session:
    got = await sessions.get_session(app_name=s.app_name, user_id=s.user_id, session_id=s.id, config=GetSessionConfig(**config))
    assert got is not None
    return got


async def test_a_session_is_made_and_read(sessions: StrataSessionService, user: str) -> None:
    state = {"a": 1, "b": 1.5, "c": None, "d": [1, {"e": None}], "big": 12345678901234567890, "notes": "n", "$x": {"$json": 1}}
    made = await sessions.create_session(app_name="app", user_id=user, session_id=" s ", state=state)
    assert (made.id, made.app_name, made.user_id, made.events) == ("s", "app", user, [])
    assert made.state == state
    assert (await read(sessions, made)).state == state
    assert (await sessions.create_session(app_name="app", user_id=user)).id != "s"


async def test_a_session_that_is_there_is_not_made_again(sessions: StrataSessionService, user: str) -> None:
    await sessions.create_session(app_name="app", user_id=user, session_id="s")
    with pytest.raises(AlreadyExistsError):
        await sessions.create_session(app_name="app", user_id=user, session_id="s")


async def test_one_that_is_not_there_is_none(sessions: StrataSessionService, user: str) -> None:
    assert await sessions.get_session(app_name="app", user_id=user, session_id="s") is None
    await sessions.delete_session(app_name="app", user_id=user, session_id="s")
    assert (await sessions.list_sessions(app_name="app", user_id=user)).sessions == []
    assert await sessions.get_user_state(app_name="app", user_id=user) == {}


async def test_events_come_back_as_they_were_appended(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    call = types.Part(function_call=types.FunctionCall(id="c", name="f", args={"city": "Porto", "n": 2}))
    answer = types.Part(function_response=types.FunctionResponse(id="c", name="f", response={"result": [1, None]}))
    picture = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG"))
    thought = types.Part(text="hm", thought=True, thought_signature=b"\x00\xff")
    events = [
        event("hello"),
        Event(author="user", content=types.Content(role="user", parts=[types.Part(text="look"), picture])),
        Event(author="agent", content=types.Content(role="model", parts=[thought, types.Part(text="so"), call, call]), branch="a.b"),
        Event(author="agent", content=types.Content(role="user", parts=[answer]), long_running_tool_ids={"c"}),
        Event(author="agent", error_code="E", error_message="failed", turn_complete=True),
    ]
    for e in events:
        await sessions.append_event(s, e)
    assert (await read(sessions, s)).events == events
    assert s.events == events


async def test_partial_events_are_not_kept(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    await sessions.append_event(s, event("hel", "agent", partial=True))
    assert (await read(sessions, s)).events == s.events == []


async def test_the_same_event_again_changes_nothing(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    e = event("hello")
    for _ in range(3):
        await sessions.append_event(s, e.model_copy(deep=True))
    assert (await read(sessions, s)).events == s.events == [e]


async def test_other_events_of_the_same_id_are_kept(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    events = [event("one", id="x"), event("two", id="x")]
    for e in events:
        await sessions.append_event(s, e)
    assert (await read(sessions, s)).events == events


async def test_appending_to_a_session_that_is_not_there_is_an_error(sessions: StrataSessionService, user: str) -> None:
    with pytest.raises(SessionNotFoundError):
        await sessions.append_event(Session(id="none", app_name="app", user_id=user), event("hello"))
    assert await sessions.get_session(app_name="app", user_id=user, session_id="none") is None


async def test_state_is_of_the_session_the_user_or_the_app_and_what_is_temporary_of_none(sessions: StrataSessionService, user: str) -> None:
    app = f"app/{user}"
    s = await sessions.create_session(app_name=app, user_id=user, state={"mine": 1, "user:u": 1, "app:a": 1, "temp:t": 1})
    assert s.state == {"mine": 1, "user:u": 1, "app:a": 1}
    await sessions.append_event(s, event("x", state={"mine": 2, "user:u": None, "app:a": [3], "temp:t": 2}))
    assert s.state["temp:t"] == 2, "within the invocation it is there"
    assert (await read(sessions, s)).state == {"mine": 2, "user:u": None, "app:a": [3]}
    assert "temp:t" not in (await read(sessions, s)).events[0].actions.state_delta
    other = await sessions.create_session(app_name=app, user_id=user)
    assert other.state == {"user:u": None, "app:a": [3]}
    stranger = await sessions.create_session(app_name=app, user_id=user + "-stranger")
    assert stranger.state == {"app:a": [3]}
    assert (await sessions.create_session(app_name="other", user_id=user)).state == {}
    assert await sessions.get_user_state(app_name=app, user_id=user) == {"u": None}


async def test_the_latest_events_and_those_after_a_time(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    for n in range(1, 6):
        await sessions.append_event(s, event(str(n), timestamp=float(n)))

    async def of(**config: Any) -> list[float]:
        return [e.timestamp for e in (await read(sessions, s, **config)).events]

    assert await of(num_recent_events=2) == [4, 5]
    assert await of(num_recent_events=0) == []
    assert await of(after_timestamp=4.0) == [4, 5]
    assert await of(num_recent_events=1, after_timestamp=4.0) == [5]
    assert await of(after_timestamp=9.0) == []
    assert (await read(sessions, s)).last_update_time == 5.0


async def test_sessions_are_listed_the_last_one_last(sessions: StrataSessionService, user: str) -> None:
    app = f"app/{user}"
    made = [await sessions.create_session(app_name=app, user_id=user, session_id=str(n)) for n in range(3)]
    for n in (2, 0, 1):
        await sessions.append_event(made[n], event("x", timestamp=100.0 + n if n else 200.0))
    listed = (await sessions.list_sessions(app_name=app, user_id=user)).sessions
    assert [s.id for s in listed] == ["1", "2", "0"]
    assert all(s.events == [] for s in listed)
    await sessions.create_session(app_name=app, user_id=user + "-b", session_id="b", state={"app:x": 1})
    await sessions.create_session(app_name=app + "x", user_id=user, session_id="other app")
    everybody = (await sessions.list_sessions(app_name=app)).sessions
    assert {(s.user_id, s.id) for s in everybody} == {(user, "0"), (user, "1"), (user, "2"), (user + "-b", "b")}


async def test_a_deleted_session_is_gone(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user, session_id="s", state={"a": 1})
    await sessions.append_event(s, event("hello"))
    await sessions.delete_session(app_name="app", user_id=user, session_id="s")
    assert await sessions.get_session(app_name="app", user_id=user, session_id="s") is None
    again = await sessions.create_session(app_name="app", user_id=user, session_id="s")
    assert (again.state, again.events) == ({}, [])


async def test_events_that_come_at_once_are_all_kept(sessions: StrataSessionService, user: str) -> None:
    s = await sessions.create_session(app_name="app", user_id=user)
    await asyncio.gather(*(sessions.append_event(s, event(str(n), state={f"k{n}": n})) for n in range(20)))
    got = await read(sessions, s)
    assert len(got.events) == 20
    assert got.state == {f"k{n}": n for n in range(20)}


# --- memory


def found(reply: Any) -> list[str]:
    return [p.text for m in reply.memories for p in m.content.parts]


async def test_what_was_said_is_found_and_only_by_its_user(memory: StrataMemoryService, user: str) -> None:
    s = Session(id="s", app_name="app", user_id=user, events=[event("the zeppelin lands at noon"), event("Noted!", "agent")])
    await memory.add_session_to_memory(s)
    reply = await memory.search_memory(app_name="app", user_id=user, query="zeppelin")
    assert "the zeppelin lands at noon" in found(reply)
    assert {"user", "agent"} >= {m.author for m in reply.memories}
    assert reply.memories[0].timestamp
    for app, who in (("other", user), ("app", user + "-b")):
        assert found(await memory.search_memory(app_name=app, user_id=who, query="zeppelin")) == []
    assert found(await memory.search_memory(app_name="app", user_id=user, query=" ")) == []


async def test_a_session_that_is_added_again_and_again_is_kept_once(memory: StrataMemoryService, aclient: AsyncClient, user: str) -> None:
    s = Session(id="s", app_name="app", user_id=user, events=[event("one")])
    await memory.add_session_to_memory(s)
    s.events.append(event("two", "agent"))
    await memory.add_session_to_memory(s)
    await memory.add_events_to_memory(app_name="app", user_id=user, events=[s.events[1], event("three")], session_id="s")
    assert [m.seq async for m in aclient.messages(f"app:{user}", "s")] == [1, 2, 3]


async def test_beside_the_session_service_nothing_is_kept_twice(
    memory: StrataMemoryService, sessions: StrataSessionService, aclient: AsyncClient, user: str
) -> None:
    s = await sessions.create_session(app_name="app", user_id=user, session_id="s")
    await sessions.append_event(s, event("one"))
    await memory.add_session_to_memory(s)
    assert [m.seq async for m in aclient.messages(f"app:{user}", "s")] == [1]


async def test_memories_are_added_found_and_deleted(memory: StrataMemoryService, user: str) -> None:
    entry = MemoryEntry(id="m1", content=types.Content(parts=[types.Part(text="Ada plays the cello")]), timestamp="2026-01-02T03:04:05Z")
    for _ in range(2):
        await memory.add_memory(app_name="app", user_id=user, memories=[entry])
    reply = await memory.search_memory(app_name="app", user_id=user, query="cello")
    assert found(reply) == ["Ada plays the cello"]
    assert reply.memories[0].timestamp == "2026-01-02T03:04:05+00:00"
    await memory.delete_memory(app_name="app", user_id=user, memory_id=reply.memories[0].id)
    assert found(await memory.search_memory(app_name="app", user_id=user, query="cello")) == []


async def test_a_message_is_deleted_by_the_id_that_search_gave_and_does_not_come_back(memory: StrataMemoryService, user: str) -> None:
    s = Session(id="a/b", app_name="app", user_id=user, events=[event("the zeppelin lands"), event("so it does", "agent")])
    await memory.add_session_to_memory(s)
    (entry,) = [
        m for m in (await memory.search_memory(app_name="app", user_id=user, query="zeppelin")).memories if "zeppelin" in str(m.content)
    ]
    for _ in range(2):  # what is not there any more is no error
        await memory.delete_memory(app_name="app", user_id=user, memory_id=entry.id)
    await memory.add_session_to_memory(s)
    assert "zeppelin" not in str(found(await memory.search_memory(app_name="app", user_id=user, query="zeppelin")))
    for missing in (None, "", "nonsense", "fact/none"):
        await memory.delete_memory(app_name="app", user_id=user, memory_id=missing)


class Scripted(BaseLlm):
    """Answers with what it is given, call by call, and keeps what it was asked."""

    model: str = "scripted"
    turns: list[types.Part]
    asked: list[LlmRequest] = []  # noqa: RUF012

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request.model_copy(deep=True))
        yield LlmResponse(content=types.Content(role="model", parts=[self.turns.pop(0)]))


async def test_an_agent_loads_what_another_session_said(
    memory: StrataMemoryService, sessions: StrataSessionService, aclient: AsyncClient, user: str
) -> None:
    async def say(runner: Runner, session: str, text: str) -> None:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id=user, session_id=session, new_message=content):
            pass

    load = types.Part(function_call=types.FunctionCall(id="l", name="load_memory", args={"query": "What can I cook for dinner?"}))
    model = Scripted(turns=[types.Part(text="Noted!"), load, types.Part(text="A chickpea curry.")])
    agent = LlmAgent(name="cook", model=model, tools=[load_memory_tool])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    for session in ("monday", "friday"):
        await sessions.create_session(app_name="app", user_id=user, session_id=session)
    await say(runner, "monday", "I am vegan, and I live in Porto.")
    await say(runner, "friday", "What can I cook for dinner?")
    (loaded,) = model.asked[-1].contents[-1].parts or ()
    assert loaded.function_response is not None
    assert "vegan" in repr(loaded.function_response.response)
    got = await sessions.get_session(app_name="app", user_id=user, session_id="friday")
    assert got is not None
    assert len(got.events) == 4
