"""The contract of LlamaIndex's memory, and its chat engine with a scripted model."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ImageBlock,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM
from llama_index.core.memory.types import BaseMemory

from stratamem import AsyncClient, Client, messages, v1
from stratamem.llama_index import StrataMemory


@pytest.fixture
def memory(client: Client, aclient: AsyncClient, user: str) -> StrataMemory:
    return StrataMemory(user, "s", client, aclient)


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.ASSISTANT if n % 2 else MessageRole.USER, content=t) for n, t in enumerate(texts)]


EVERYTHING = [
    ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
    ChatMessage(role=MessageRole.USER, blocks=[TextBlock(text="look"), ImageBlock(image=base64.b64encode(b"\x89PNG"), image_mimetype="image/png")]),
    ChatMessage(role=MessageRole.USER, blocks=[ImageBlock(url="https://example.org/a.png")]),
    ChatMessage(role=MessageRole.ASSISTANT, blocks=[ThinkingBlock(content="hm"), TextBlock(text="so"), ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={"a": 1})]),
    ChatMessage(role=MessageRole.TOOL, content="12°", additional_kwargs={"tool_call_id": "c"}),
    ChatMessage(role=MessageRole.ASSISTANT, content=None, additional_kwargs={"tool_calls": [{"id": "d", "type": "function", "function": {"name": "f", "arguments": "{"}}]}),
    ChatMessage(role=MessageRole.TOOL, content="", additional_kwargs={"tool_call_id": "d", "name": "f"}),
    ChatMessage(role=MessageRole.ASSISTANT, content="done"),
]  # fmt: skip


def test_it_is_a_memory(memory: StrataMemory, client: Client, user: str) -> None:
    assert isinstance(memory, BaseMemory)
    assert isinstance(StrataMemory.from_defaults(user_id=user, session_id="s", client=client), StrataMemory)


def test_messages_come_back_as_they_were_put(memory: StrataMemory) -> None:
    for m in EVERYTHING:
        memory.put(m)
    assert memory.get_all() == EVERYTHING
    assert memory.get() == EVERYTHING


async def test_the_same_with_asyncio(memory: StrataMemory) -> None:
    assert await memory.aget_all() == []
    await memory.aput(EVERYTHING[0])
    await memory.aput_messages(EVERYTHING[1:])
    assert await memory.aget_all() == EVERYTHING
    assert await memory.aget() == EVERYTHING
    await memory.aset(said("a", "b"))
    assert await memory.aget_all() == said("a", "b")
    await memory.areset()
    assert await memory.aget_all() == []


def test_setting_takes_the_place_of_all_and_resetting_leaves_nothing(memory: StrataMemory) -> None:
    memory.reset()
    memory.put_messages(said("a", "b"))
    memory.set(said("c"))
    assert memory.get_all() == said("c")
    memory.reset()
    assert memory.get_all() == memory.get() == []
    memory.set([])
    assert memory.get_all() == []


def test_setting_keeps_what_both_begin_with_and_what_was_learnt_of_it(memory: StrataMemory, client: Client, user: str) -> None:
    memory.put_messages(said("I am vegan.", "Noted!", "What can I cook?", "A curry."))
    client.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    facts = [(f.fact_id, f.text) for f in client.known_facts(user)]
    ids = [m.id for m in client.messages(user, "s")]
    memory.set(said("I am vegan.", "Noted!", "And for dessert?"))
    assert memory.get_all() == said("I am vegan.", "Noted!", "And for dessert?")
    assert [m.id for m in client.messages(user, "s")][:2] == ids[:2]
    client.wait(user, "s", v1.WATERMARK_EXTRACTED, timeout=60)
    assert "vegan" in str(facts)
    assert [(f.fact_id, f.text) for f in client.known_facts(user)] == facts


async def test_of_lists_set_at_once_one_is_there(memory: StrataMemory) -> None:
    lists = [said(f"{n}a", f"{n}b") for n in range(4)]
    await asyncio.gather(*(memory.aset(listed) for listed in lists))
    assert await memory.aget_all() in lists


def test_hidden_messages_are_not_among_all_and_setting_leaves_them(memory: StrataMemory, client: Client, user: str) -> None:
    client.record(user, "s", [v1.Message(role=v1.ROLE_USER, text="secret", hidden=True), v1.Message(role=v1.ROLE_USER, text="a")])
    assert [m.content for m in memory.get_all()] == ["a"]
    memory.set(said("b"))
    assert memory.get_all() == said("b")
    assert [messages.text_of(m) for m in client.messages(user, "s")] == ["secret", "b"]


def test_what_is_known_stands_before_the_last_words_and_is_not_recorded(memory: StrataMemory, client: Client, user: str) -> None:
    client.record(
        user, "monday", [{"role": "user", "content": "I am vegan, and I live in Porto."}, {"role": "assistant", "content": "Noted!"}]
    )
    client.wait(user, "monday", v1.WATERMARK_EXTRACTED, timeout=60)
    memory.put(said("What can I cook for dinner?")[0])
    block, question = memory.get()
    assert "vegan" in str(block.content)
    assert question.content == "What can I cook for dinner?"
    memory.put_messages([block])
    assert memory.get_all() == said("What can I cook for dinner?")


def test_a_long_session_is_cut_to_its_budget(memory: StrataMemory) -> None:
    for n in range(40):
        memory.put_messages(said(f"question {n} " + "word " * 200, f"answer {n} " + "word " * 200))
    got = [m for m in memory.get() if "<strata-" not in str(m.content)]
    assert 4 < len(got) < 80
    assert got == memory.get_all()[-len(got) :]


def test_a_call_that_nobody_answered_does_not_come_back_from_get(memory: StrataMemory) -> None:
    call = ChatMessage(
        role=MessageRole.ASSISTANT, blocks=[TextBlock(text="I look"), ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={})]
    )
    memory.put_messages([*said("a"), call, *said("never mind")])
    assert [m.content for m in memory.get()] == ["a", "I look", "never mind"]
    assert not any(isinstance(b, ToolCallBlock) for m in memory.get() for b in m.blocks)
    assert memory.get_all()[1] == call


def test_what_others_recorded_is_there_too(memory: StrataMemory, client: Client, user: str) -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    client.record(user, "s", [{"role": "user", "content": "hi"}, call, {"role": "tool", "tool_call_id": "c", "content": "ok"}])
    hi, called, result = memory.get_all()
    assert hi.content == "hi"
    assert called.blocks == [ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={"a": 1})]
    assert (result.content, result.additional_kwargs) == ("ok", {"tool_call_id": "c"})


class Scripted(CustomLLM):
    """Answers with what it is given, call by call, and keeps what it was asked."""

    turns: list[str]
    asked: list[Any] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.asked.append(list(messages))
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=self.turns.pop(0)))

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_chat_engine_remembers_the_user_from_another_session(client: Client, user: str) -> None:
    llm = Scripted(turns=["Noted!", "A chickpea curry."])
    for session, words in (("monday", "I am vegan, and I live in Porto."), ("friday", "What can I cook for dinner?")):
        memory = StrataMemory(user, session, client)
        SimpleChatEngine(llm=llm, memory=memory, prefix_messages=[]).chat(words)
        client.wait(user, session, v1.WATERMARK_EXTRACTED, timeout=60)
    assert "vegan" in str(llm.asked[-1][0].content)
    assert [messages.text_of(m) for m in client.messages(user, "friday")] == ["What can I cook for dinner?", "A chickpea curry."]
