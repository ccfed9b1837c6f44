"""Memory in an agent of LangChain v1, and the contract of its chat history, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from histories import Draw, langchain
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from stratamem import AsyncClient, Client, messages, v1
from stratamem.langchain import StrataChatMessageHistory, StrataMemory


class Scripted(BaseChatModel):
    """Answers with what it is given, call by call, and keeps what it was asked."""

    turns: list[AIMessage]
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.turns.pop(0))])

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


def model(*turns: AIMessage | str) -> Scripted:
    return Scripted(turns=[AIMessage(content=t) if isinstance(t, str) else t for t in turns])


def told(client: Client, user: str) -> None:
    client.record(
        user, "monday", [{"role": "user", "content": "I am vegan, and I live in Porto."}, {"role": "assistant", "content": "Noted!"}]
    )
    client.wait(user, "monday", v1.WATERMARK_EXTRACTED, timeout=60)


def here(user: str, thread: str = "friday") -> dict[str, Any]:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def test_memory_is_brought_in_for_the_call_alone(client: Client, user: str) -> None:
    told(client, user)
    m = model("A chickpea curry.")
    agent = create_agent(m, middleware=[StrataMemory(client=client)], system_prompt="Be brief.")
    out = agent.invoke({"messages": [HumanMessage("What can I cook for dinner?")]}, here(user))
    system, block, question = m.asked[0]
    assert isinstance(system, SystemMessage)
    assert "vegan" in str(block.content)
    assert isinstance(block, HumanMessage)
    assert question.content == "What can I cook for dinner?"
    assert [x.content for x in out["messages"]] == ["What can I cook for dinner?", "A chickpea curry."]


def test_the_turn_is_recorded_after_it_and_no_memory_with_it(client: Client, user: str) -> None:
    told(client, user)
    agent = create_agent(model("A chickpea curry."), middleware=[StrataMemory(client=client)])
    out = agent.invoke({"messages": [HumanMessage("What can I cook for dinner?")]}, here(user))
    stored = list(client.messages(user, "friday", include_original=True))
    assert messages_from_dict(messages.write(stored, messages.LANGCHAIN)) == out["messages"]
    assert "<strata-" not in str(stored)


async def test_the_same_with_asyncio(client: Client, aclient: AsyncClient, user: str) -> None:
    told(client, user)
    m = model("A chickpea curry.")
    agent = create_agent(m, middleware=[StrataMemory(aclient=aclient)])
    await agent.ainvoke({"messages": [HumanMessage("What can I cook for dinner?")]}, here(user))
    assert "vegan" in str(m.asked[0][0].content)
    assert [messages.text_of(x) for x in client.messages(user, "friday")] == ["What can I cook for dinner?", "A chickpea curry."]


def test_calls_of_tools_are_recorded_with_their_results(client: Client, user: str) -> None:
    def weather(city: str) -> str:
        """The weather."""
        return f"sunny in {city}"

    calls = [{"name": "weather", "args": {"city": c}, "id": f"c{c}", "type": "tool_call"} for c in ("Porto", "Seoul")]
    m = model(AIMessage(content="", tool_calls=calls), "Sunny in both.")
    agent = create_agent(m, tools=[weather], middleware=[StrataMemory(client=client)])
    agent.invoke({"messages": [HumanMessage("The weather in Porto and Seoul?")]}, here(user))
    stored = list(client.messages(user, "friday"))
    assert [x.role for x in stored] == [v1.ROLE_USER, v1.ROLE_ASSISTANT, v1.ROLE_TOOL, v1.ROLE_TOOL, v1.ROLE_ASSISTANT]
    assert {p.tool_result.call_id for x in stored for p in x.parts if p.HasField("tool_result")} == {"cPorto", "cSeoul"}


def test_a_history_that_comes_again_is_recorded_once(client: Client, user: str) -> None:
    for saver in (InMemorySaver(), None):  # with a checkpointer it is the agent's, without the caller's
        thread = f"thread-{saver is None}"
        agent = create_agent(model(*"abc"), middleware=[StrataMemory(client=client)], checkpointer=saver)
        said: list[BaseMessage] = []
        for n in range(3):
            question = HumanMessage(f"question {n}", id=f"q{n}")
            out = agent.invoke({"messages": [question] if saver else [*said, question]}, here(user, thread))
            said = out["messages"]
        texts = [messages.text_of(x) for x in client.messages(user, thread)]
        assert texts == ["question 0", "a", "question 1", "b", "question 2", "c"]


def test_what_a_summary_took_the_place_of_stays_and_the_summary_teaches_nothing(client: Client, user: str) -> None:
    summarise = SummarizationMiddleware(model(*["I live on the moon."] * 5), trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model(*"abc"), middleware=[summarise, StrataMemory(client=client)], checkpointer=InMemorySaver())
    for n in range(3):
        agent.invoke({"messages": [HumanMessage(f"question {n}")]}, here(user))
    stored = list(client.messages(user, "friday"))
    texts = [messages.text_of(x) for x in stored]
    assert [t for t in texts if "moon" not in t] == ["question 0", "a", "question 1", "b", "question 2", "c"]
    assert {x.origin for x in stored if "moon" in messages.text_of(x)} <= {v1.ORIGIN_RECALLED}


def test_a_message_that_was_changed_since_stays_as_it_was_first(client: Client, user: str) -> None:
    agent = create_agent(model(*"ab"), middleware=[StrataMemory(client=client)])
    agent.invoke({"messages": [HumanMessage("my number is 1", id="q")]}, here(user))
    agent.invoke({"messages": [HumanMessage("my number is [masked]", id="q"), HumanMessage("and now?", id="r")]}, here(user))
    assert [messages.text_of(x) for x in client.messages(user, "friday")] == ["my number is 1", "a", "and now?", "b"]


def test_a_run_without_a_user_says_what_to_give(client: Client, user: str) -> None:
    agent = create_agent(model("a"), middleware=[StrataMemory(client=client)])
    with pytest.raises(ValueError, match="give user_id and session_id to StrataMemory"):
        agent.invoke({"messages": [HumanMessage("hi")]})


def test_the_user_may_come_from_the_context_of_the_run(client: Client, user: str) -> None:
    @dataclass
    class Context:
        user_id: str
        session_id: str

    agent = create_agent(model("a"), middleware=[StrataMemory(client=client)], context_schema=Context)
    agent.invoke({"messages": [HumanMessage("hi")]}, context=Context(user, "of the context"))
    assert [s.session_id for s in client.sessions(user)] == ["of the context"]


def test_other_users_stay_apart(client: Client, user: str) -> None:
    told(client, user)
    m = model("a")
    agent = create_agent(m, middleware=[StrataMemory(client=client)])
    agent.invoke({"messages": [HumanMessage("What can I cook?")]}, here(user + "-other"))
    assert "vegan" not in str(m.asked)


# --- the chat history


@pytest.fixture
def history(client: Client, aclient: AsyncClient, user: str) -> StrataChatMessageHistory:
    return StrataChatMessageHistory("s", user, client, aclient=aclient)


def test_messages_come_back_as_they_were_added(history: StrataChatMessageHistory) -> None:
    added: list[BaseMessage] = []
    for seed in range(20):
        some = messages_from_dict(langchain(Draw(seed)))
        history.add_messages(some)
        added += some
    assert history.messages == added


def test_one_at_a_time_and_in_their_short_forms(history: StrataChatMessageHistory) -> None:
    history.add_message(HumanMessage("a"))
    history.add_user_message("b")
    history.add_ai_message("c")
    assert [(m.type, m.content) for m in history.messages] == [("human", "a"), ("human", "b"), ("ai", "c")]
    assert str(history) == "Human: a\nHuman: b\nAI: c"


def test_adding_is_appending_also_of_equal_messages(history: StrataChatMessageHistory) -> None:
    same = HumanMessage("a", id="1")
    history.add_messages([same, same])
    history.add_messages([same])
    assert history.messages == [same] * 3


def test_a_history_that_nobody_wrote_to_is_empty(history: StrataChatMessageHistory, client: Client, user: str) -> None:
    assert history.messages == []
    history.add_messages([])
    history.clear()
    assert history.messages == []


def test_clearing_erases_all_and_the_history_goes_on(history: StrataChatMessageHistory) -> None:
    history.add_user_message("a")
    history.clear()
    assert history.messages == []
    history.add_user_message("b")
    assert [m.content for m in history.messages] == ["b"]


async def test_the_history_with_asyncio(history: StrataChatMessageHistory) -> None:
    assert await history.aget_messages() == []
    said: list[BaseMessage] = [HumanMessage("a"), AIMessage("b"), ToolMessage("c", tool_call_id="x", artifact={"n": 1}, status="error")]
    await history.aadd_messages(said)
    assert await history.aget_messages() == said
    await asyncio.gather(*(history.aadd_messages([HumanMessage(str(n))]) for n in range(8)))
    assert len(await history.aget_messages()) == 11
    await history.aclear()
    assert await history.aget_messages() == []


def test_a_chain_goes_on_in_its_history(client: Client, user: str) -> None:
    m = model("first", "second")
    chain = RunnableWithMessageHistory(
        RunnableLambda(lambda said: m.invoke(said)), lambda session_id: StrataChatMessageHistory(session_id, user, client)
    )
    config = {"configurable": {"session_id": "s"}}
    chain.invoke([HumanMessage("a")], config)
    chain.invoke([HumanMessage("b")], config)
    assert [x.content for x in m.asked[1]] == ["a", "first", "b"]
