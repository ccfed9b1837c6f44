"""Memory in an agent of Pydantic AI, with its function model."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from stratamem import AsyncClient, messages, v1
from stratamem.pydantic_ai import StrataMemory


@pytest.fixture
async def memory(aclient: AsyncClient, user: str) -> StrataMemory:
    return StrataMemory(user, "friday", aclient)


async def told(client: AsyncClient, user: str) -> None:
    await client.record(
        user, "monday", [{"role": "user", "content": "I am vegan, and I live in Porto."}, {"role": "assistant", "content": "Noted!"}]
    )
    await client.wait(user, "monday", v1.WATERMARK_EXTRACTED, timeout=60)


class Scripted:
    """Answers with what it is given, call by call, and keeps what it was asked."""

    def __init__(self, *turns: Any) -> None:
        self.turns = list(turns)
        self.asked: list[list[ModelMessage]] = []
        self.model = FunctionModel(self.answer)

    def answer(self, said: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(list(said))
        turn = self.turns.pop(0)
        return ModelResponse(parts=[TextPart(turn) if isinstance(turn, str) else turn])


EVERYTHING: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart(["look", ImageUrl("https://example.org/a.png"), BinaryContent(b"\x89PNG", media_type="image/png")])]),
    ModelResponse(parts=[ThinkingPart("hm", signature="s"), TextPart("so"), ToolCallPart("f", '{"a":', "c1"), ToolCallPart("f", {"a": 1}, "c2")]),
    ModelRequest(parts=[ToolReturnPart("f", {"x": [1, None]}, "c1"), ToolReturnPart("f", "ok", "c2"), UserPromptPart("and now?")]),
    ModelResponse(parts=[TextPart("done")]),
    ModelRequest(parts=[UserPromptPart("")]),
    ModelResponse(parts=[]),
]  # fmt: skip


def same(a: list[ModelMessage], b: list[ModelMessage]) -> bool:
    """Whether they are equal JSON: Pydantic AI reads an image as another class than it was made of."""
    return ModelMessagesTypeAdapter.dump_python(a, mode="json") == ModelMessagesTypeAdapter.dump_python(b, mode="json")


async def test_messages_come_back_as_they_were_recorded(memory: StrataMemory) -> None:
    assert await memory.history() == []
    await memory.record(EVERYTHING)
    await memory.record([])
    assert same(await memory.history(), EVERYTHING)


async def test_a_limited_history_does_not_begin_with_a_result(memory: StrataMemory) -> None:
    await memory.record(EVERYTHING[:4])
    assert same(await memory.history(4), EVERYTHING[:4])
    assert await memory.history(2) == []
    assert await memory.history(0) == []


async def test_a_request_is_stored_by_its_roles(memory: StrataMemory, aclient: AsyncClient, user: str) -> None:
    await memory.record(EVERYTHING[:4])
    roles = [m.role async for m in aclient.messages(user, "friday")]
    assert roles == [v1.ROLE_SYSTEM, v1.ROLE_USER, v1.ROLE_ASSISTANT, v1.ROLE_TOOL, v1.ROLE_USER, v1.ROLE_ASSISTANT]


async def test_memory_is_brought_in_for_the_call_alone_and_the_run_recorded(memory: StrataMemory, aclient: AsyncClient, user: str) -> None:
    await told(aclient, user)
    script = Scripted("A chickpea curry.")
    result = await Agent(script.model, capabilities=[memory]).run("What can I cook for dinner?")
    block, question = script.asked[0][0].parts
    assert "vegan" in str(block.content)
    assert question.content == "What can I cook for dinner?"
    assert "<strata-" not in str(result.all_messages())
    assert [messages.text_of(m) async for m in aclient.messages(user, "friday")] == ["What can I cook for dinner?", "A chickpea curry."]


async def test_tools_are_recorded_and_the_next_run_goes_on(memory: StrataMemory, aclient: AsyncClient, user: str) -> None:
    script = Scripted(ToolCallPart("weather", {"city": "Porto"}, "c"), "Sunny.", "You asked for the weather.")
    agent = Agent(script.model, capabilities=[memory])

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather."""
        return f"sunny in {city}"

    await agent.run("How is the weather in Porto?")
    await agent.run("What did I ask?", message_history=await memory.history())
    assert len(script.asked[-1]) == 5
    assert len(await memory.history()) == 6


async def test_as_a_history_processor_it_takes_the_earlier_block_away(memory: StrataMemory, aclient: AsyncClient, user: str) -> None:
    await told(aclient, user)
    script = Scripted("A chickpea curry.", "With rice.")
    agent = Agent(script.model, capabilities=[ProcessHistory(memory.process)])
    first = await agent.run("What can I cook for dinner?")
    await memory.record(first.new_messages())
    await agent.run("And what with it?", message_history=first.all_messages())
    assert [str(asked).count("<strata-memory-") for asked in script.asked] == [1, 1]
    assert [messages.text_of(m) async for m in aclient.messages(user, "friday")] == ["What can I cook for dinner?", "A chickpea curry."]


async def test_what_others_recorded_is_there_too(memory: StrataMemory, aclient: AsyncClient, user: str) -> None:
    call = {
        "role": "assistant",
        "content": "hm",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    await aclient.record(user, "friday", [{"role": "user", "content": "hi"}, call, {"role": "tool", "tool_call_id": "c", "content": "ok"}])
    kinds = [[p.part_kind for p in m.parts] for m in await memory.history()]
    assert kinds == [["user-prompt"], ["text", "tool-call"], ["tool-return"]]
