"""The contract of the OpenAI Agents SDK's Session, with its Runner and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.memory import OpenAIResponsesCompactionSession, Session, SessionSettings
from agents.models.interface import Model
from histories import Draw, responses
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from stratamem import AsyncClient, Conflict, messages, v1
from stratamem.openai_agents import StrataSession
from stratamem.testing import Server

set_tracing_disabled(True)  # it would send to OpenAI


@pytest.fixture
async def session(aclient: AsyncClient, user: str) -> StrataSession:
    return StrataSession("s", user, aclient)


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": t} for t in texts]


def text(words: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(text=words, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=content)  # type: ignore[arg-type]


class Scripted(Model):
    """Answers with what it is given, call by call, and keeps what it was asked."""

    def __init__(self, *turns: list[Any]) -> None:
        self.turns = list(turns)
        self.asked: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        self.asked.append(list(input))
        return ModelResponse(output=self.turns.pop(0), usage=Usage(), response_id="resp_1")

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def test_it_is_a_session(session: StrataSession) -> None:
    assert isinstance(session, Session)


async def test_items_come_back_as_they_were_added(session: StrataSession) -> None:
    added = []
    for seed in range(20):
        items = responses(Draw(seed))
        await session.add_items(items)
        added += items
    assert await session.get_items() == added


async def test_a_limit_is_of_the_latest_in_their_order(session: StrataSession) -> None:
    await session.add_items(said(*"abcdef"))
    assert await session.get_items(2) == said("e", "f")
    assert await session.get_items(99) == said(*"abcdef")
    assert await session.get_items(0) == []
    assert await session.get_items(-3) == []


async def test_the_limit_of_the_settings_holds_where_the_call_has_none(aclient: AsyncClient, user: str) -> None:
    session = StrataSession("s", user, aclient, session_settings=SessionSettings(limit=2))
    await session.add_items(said(*"abc"))
    assert await session.get_items() == said("b", "c")
    assert await session.get_items(3) == said(*"abc")
    assert await StrataSession("s", user, aclient, session_settings={"limit": 1}).get_items() == said("c")
    with pytest.raises(TypeError):
        StrataSession("s", user, aclient, session_settings={"limits": 1})


async def test_a_session_of_many_pages_is_read_whole(session: StrataSession) -> None:
    items = said(*(str(n) for n in range(450)))
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(301) == items[-301:]


async def test_a_session_that_nobody_wrote_to_is_empty(session: StrataSession) -> None:
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.clear_session()


async def test_adding_nothing_makes_no_session(session: StrataSession, aclient: AsyncClient, user: str) -> None:
    await session.add_items([])
    assert [s async for s in _sessions(aclient, user)] == []


async def _sessions(client: AsyncClient, user: str) -> AsyncIterator[v1.Session]:
    try:
        async for s in client.sessions(user):
            yield s
    except Exception:
        return


async def test_items_are_added_together_or_not_at_all(session: StrataSession) -> None:
    await session.add_items(said("a"))
    with pytest.raises(Exception, match="messages"):
        await session.add_items([*said("b"), {"role": "user", "content": "x" * (2 << 20)}])
    assert await session.get_items() == said("a")


async def test_pop_takes_the_latest_also_from_its_call(session: StrataSession) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    await session.add_items([*said("a"), call, output])
    assert await session.pop_item() == output
    assert await session.get_items() == [*said("a"), call]
    assert await session.pop_item() == call
    assert await session.pop_item() == said("a")[0]
    assert await session.pop_item() is None


async def test_what_was_popped_may_be_added_again(session: StrataSession) -> None:
    await session.add_items(said("a", "b"))
    item = await session.pop_item()
    assert item is not None
    await session.add_items([item])
    assert await session.get_items() == said("a", "b")


async def test_equal_items_are_kept_apart(session: StrataSession) -> None:
    item = {"id": "__fake_id__", "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    await session.add_items([item, item])
    await session.add_items([item])
    assert await session.get_items() == [item] * 3


async def test_clearing_erases_all_and_the_session_goes_on(session: StrataSession, aclient: AsyncClient, user: str) -> None:
    await session.add_items(said("a", "b"))
    await session.clear_session()
    assert await session.get_items() == []
    assert [m async for m in aclient.messages(user, "s")] == []
    await session.add_items(said("c"))
    assert await session.get_items() == said("c")


async def test_hiding_keeps_the_transcript_and_the_facts(aclient: AsyncClient, user: str) -> None:
    session = StrataSession("s", user, aclient, clear="hide")
    await session.add_items([*said("I am vegan."), {"role": "assistant", "content": "Noted!"}])
    await aclient.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items(said("b"))
    assert await session.get_items() == said("b")
    assert len([m async for m in aclient.messages(user, "s")]) == 3
    assert "vegan" in str([f.text async for f in aclient.known_facts(user)])


async def test_sessions_and_users_are_apart(aclient: AsyncClient, user: str) -> None:
    mine, other, theirs = StrataSession("s", user, aclient), StrataSession("t", user, aclient), StrataSession("s", user + "x", aclient)
    await mine.add_items(said("a"))
    await other.add_items(said("b"))
    await theirs.add_items(said("c"))
    await mine.clear_session()
    assert [await s.get_items() for s in (mine, other, theirs)] == [[], said("b"), said("c")]


async def test_writers_at_once_lose_nothing(aclient: AsyncClient, user: str) -> None:
    sessions = [StrataSession("s", user, aclient) for _ in range(10)]
    await asyncio.gather(*(s.add_items(said(f"{n}a", f"{n}b")) for n, s in enumerate(sessions)))
    items = await sessions[0].get_items()
    assert len(items) == 20
    texts = [i["content"] for i in items]  # type: ignore[typeddict-item]
    assert all(texts[texts.index(f"{n}a") + 1] == f"{n}b" for n in range(10)), "those of one call stay together"


async def test_use_after_close_is_an_error(strata: Server, user: str) -> None:
    session = StrataSession("s", user, strata.address)
    await session.add_items(said("a"))
    await session.close()
    with pytest.raises(RuntimeError, match="closed"):
        await session.get_items()
    with pytest.raises(RuntimeError, match="closed"):
        await session.add_items([])


def test_it_serves_one_loop_after_the_other(strata: Server, user: str) -> None:
    session = StrataSession("s", user, strata.address)
    for n in range(3):
        asyncio.run(session.add_items(said(str(n))))
    assert asyncio.run(session.get_items()) == said("0", "1", "2")


async def test_a_cancelled_write_is_made_and_the_cancellation_comes_through(session: StrataSession) -> None:
    task = asyncio.create_task(session.add_items(said("a")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await session.get_items() == said("a")


async def test_what_others_recorded_is_there_as_items(session: StrataSession, aclient: AsyncClient, user: str) -> None:
    use = {"role": "assistant", "content": [{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    await aclient.record(user, "s", [v1.Message(role=v1.ROLE_USER, text="hello"), use])
    call = {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"}
    assert await session.get_items() == [*said("hello"), {"role": "assistant", "content": "I look"}, call]
    assert await session.get_items(1) == [call]
    assert await session.pop_item() == call
    assert await session.get_items() == [*said("hello"), {"role": "assistant", "content": "I look"}]


async def test_hidden_messages_and_damaged_originals_are_left_out_of_the_limit(
    session: StrataSession, aclient: AsyncClient, user: str
) -> None:
    await session.add_items(said("a", "b"))
    damaged = v1.Message(role=v1.ROLE_USER, text="?", original=v1.Original(format=messages.OPENAI_RESPONSES, data=b"{"))
    await aclient.record(user, "s", [damaged, v1.Message(role=v1.ROLE_USER, text="secret", hidden=True)])
    assert await session.get_items(2) == said("a", "b")


async def test_popping_passes_over_hidden_messages_and_leaves_them(session: StrataSession, aclient: AsyncClient, user: str) -> None:
    await session.add_items(said("a", "b"))
    await aclient.record(user, "s", [v1.Message(role=v1.ROLE_USER, text="secret", hidden=True)])
    assert await session.pop_item() == said("b")[0]
    assert await session.get_items() == said("a")
    assert [messages.text_of(m) async for m in aclient.messages(user, "s")] == ["a", "secret"]


async def test_of_pops_at_once_each_takes_another_item(aclient: AsyncClient, user: str) -> None:
    sessions = [StrataSession("s", user, aclient) for _ in range(5)]
    await sessions[0].add_items(said(*"abcdef"))
    popped = await asyncio.gather(*(s.pop_item() for s in sessions))
    assert sorted(i["content"] for i in popped if i) == list("bcdef")  # type: ignore[typeddict-item]
    assert await sessions[0].get_items() == said("a")


@pytest.mark.parametrize("clear", ["erase", "hide"])
async def test_items_are_replaced_by_others(aclient: AsyncClient, user: str, clear: Literal["erase", "hide"]) -> None:
    session = StrataSession("s", user, aclient, clear=clear)
    await session.replace_items([])
    await session.replace_items(said("a", "b"))
    assert await session.get_items() == said("a", "b")
    await session.replace_items(said("a", "c", "b"))
    assert await session.get_items() == said("a", "c", "b")
    await session.replace_items(said("d"), instead_of=said("a", "c", "b"))
    assert await session.get_items() == said("d")
    with pytest.raises(Conflict, match="other items"):
        await session.replace_items(said("e"), instead_of=said("a"))
    assert await session.get_items() == said("d")
    await session.replace_items([])
    assert await session.get_items() == []
    assert len([m async for m in aclient.messages(user, "s")]) == (0 if clear == "erase" else 6)


@pytest.mark.parametrize("clear", ["erase", "hide"])
async def test_of_replacements_at_once_one_list_is_there(aclient: AsyncClient, user: str, clear: Literal["erase", "hide"]) -> None:
    sessions = [StrataSession("s", user, aclient, clear=clear) for _ in range(4)]
    before = said("a", "b")
    await sessions[0].add_items(before)
    lists = [said(f"{n}a", f"{n}b") for n in range(4)]
    done = await asyncio.gather(*(s.replace_items(lists[n], instead_of=before) for n, s in enumerate(sessions)), return_exceptions=True)
    assert [type(e) for e in done if e is not None] == [Conflict] * 3
    assert await sessions[0].get_items() == lists[done.index(None)]


class Compacting:
    """The part of OpenAI's client that compacts: it leaves the user's messages, in a form of its own, and one item for all others."""

    def __init__(self) -> None:
        self.responses = self
        self.meanwhile: Any = None

    async def compact(self, *, input: list[Any], **_: Any) -> Any:
        if self.meanwhile:
            await self.meanwhile()
        users = [i for i in input if i.get("role") == "user"]
        kept = [
            {"id": f"msg_{n}", "type": "message", "role": "user", "content": [{"type": "input_text", "text": i["content"]}]}
            for n, i in enumerate(users)
        ]
        return SimpleNamespace(output=[*kept, {"id": "cmp_1", "type": "compaction", "encrypted_content": "…"}], usage=None)


TURNS = [
    *said("I am vegan."),
    {"role": "assistant", "content": "Noted!"},
    *said("What can I cook?"),
    {"role": "assistant", "content": "A curry."},
]
COMPACTION = {"id": "cmp_1", "type": "compaction", "encrypted_content": "…"}


async def test_compaction_neither_loses_nor_learns_again_what_the_user_said(aclient: AsyncClient, user: str) -> None:
    session = StrataSession("s", user, aclient)
    await session.add_items(TURNS)
    await aclient.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    facts = [(f.fact_id, f.text) async for f in aclient.known_facts(user)]
    ids = [m.id async for m in aclient.messages(user, "s")]
    compacting = OpenAIResponsesCompactionSession("s", session, client=Compacting(), compaction_mode="input")  # type: ignore[arg-type]
    await compacting.run_compaction({"force": True})
    assert await session.get_items() == [TURNS[0], TURNS[2], COMPACTION]
    assert [m.id async for m in aclient.messages(user, "s")][:2] == [ids[0], ids[2]]
    await aclient.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    assert "vegan" in str(facts)
    assert [(f.fact_id, f.text) async for f in aclient.known_facts(user)] == facts


async def test_compaction_may_keep_the_transcript(aclient: AsyncClient, user: str) -> None:
    session = StrataSession("s", user, aclient, clear="hide")
    await session.add_items(TURNS)
    await aclient.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    facts = [(f.fact_id, f.text) async for f in aclient.known_facts(user)]
    compacting = OpenAIResponsesCompactionSession("s", session, client=Compacting(), compaction_mode="input")  # type: ignore[arg-type]
    await compacting.run_compaction({"force": True})
    texts = [i.get("content") and i["content"][0]["text"] for i in await session.get_items()]  # type: ignore[typeddict-item, index]
    assert texts == ["I am vegan.", "What can I cook?", None]
    stored = [m async for m in aclient.messages(user, "s")]
    assert [messages.text_of(m) for m in stored[:4]] == ["I am vegan.", "Noted!", "What can I cook?", "A curry."]
    assert [m.extract for m in stored[4:6]] == [v1.EXTRACT_MODE_NONE] * 2
    await aclient.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    assert [(f.fact_id, f.text) async for f in aclient.known_facts(user)] == facts


async def test_a_runs_compaction_leaves_what_others_wrote_meanwhile(aclient: AsyncClient, user: str) -> None:
    session, other = StrataSession("s", user, aclient), StrataSession("s", user, aclient)
    client = Compacting()
    compacting = OpenAIResponsesCompactionSession(
        "s",
        session,
        client=client,  # type: ignore[arg-type]
        compaction_mode="input",
        should_trigger_compaction=lambda _: True,
    )
    agent = Agent(name="a", model=Scripted([text("one")], [text("two")]))
    client.meanwhile = lambda: other.add_items(said("meanwhile"))
    await Runner.run(agent, "first", session=compacting)
    assert [i.get("content") for i in await session.get_items() if i.get("role") == "user"] == ["first", "meanwhile"]
    client.meanwhile = None
    await Runner.run(agent, "second", session=compacting)
    assert await session.get_items() == [*said("first", "meanwhile", "second"), COMPACTION]


async def test_an_agent_goes_on_in_its_session(session: StrataSession) -> None:
    @function_tool
    def weather(city: str) -> str:
        return f"sunny in {city}"

    call = ResponseFunctionToolCall(call_id="c1", name="weather", arguments='{"city":"Porto"}', type="function_call")
    model = Scripted([call], [text("It is sunny.")], [text("You asked for the weather.")])
    agent = Agent(name="a", model=model, tools=[weather])
    await Runner.run(agent, "How is the weather in Porto?", session=session)
    await Runner.run(agent, "What did I ask?", session=session)
    kinds = [i.get("type") or i.get("role") for i in model.asked[-1]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert len(await session.get_items()) == 6


async def test_memory_is_brought_in_for_the_call_alone(aclient: AsyncClient, user: str) -> None:
    await aclient.record(
        user, "monday", [{"role": "user", "content": "I am vegan, and I live in Porto."}, {"role": "assistant", "content": "Noted!"}]
    )
    await aclient.wait(user, "monday", v1.WATERMARK_EXTRACTED, timeout=60)
    session = StrataSession("friday", user, aclient)
    model = Scripted([text("A chickpea curry.")], [text("With rice.")])
    agent = Agent(name="a", model=model, instructions="Be brief.")
    config = RunConfig(call_model_input_filter=session.with_memory)
    await Runner.run(agent, "What can I cook for dinner?", session=session, run_config=config)
    block, question = model.asked[0]
    assert "vegan" in block["content"]
    assert block["content"].startswith("<strata-memory-")
    assert question["content"] == "What can I cook for dinner?"
    await Runner.run(agent, "And what with it?", session=session, run_config=config)
    assert sum("<strata-memory-" in str(i) for i in model.asked[1]) == 1
    assert "<strata-memory-" not in str(await session.get_items())
