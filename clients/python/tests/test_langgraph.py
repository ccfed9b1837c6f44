"""The contract of LangGraph's BaseStore, as the framework's stores keep it, with and without asyncio; and a graph that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timezone
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from test_langchain import model

import stratamem
from stratamem import AsyncClient, Client
from stratamem.langgraph import StrataStore

DOCS = ("memories", "docs")


class Asked:
    """A store by its calls that wait, or by those for asyncio, so that each promise is tried with both."""

    def __init__(self, store: StrataStore, asyncio: bool) -> None:
        self.store, self.asyncio = store, asyncio

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.asyncio:
                return await getattr(self.store, f"a{name}")(*args, **kwargs)
            return getattr(self.store, name)(*args, **kwargs)

        return call


Opened = Callable[..., Asked]


@pytest.fixture(params=["waiting", "asyncio"])
def opened(request: pytest.FixtureRequest, client: Client, aclient: AsyncClient, user: str) -> Opened:
    """Opens stores of the test's user."""

    def open(ttl_config: TTLConfig | None = None, of: Any = user) -> Asked:
        return Asked(StrataStore(of, client=client, aclient=aclient, ttl_config=ttl_config), request.param == "asyncio")

    return open


@pytest.fixture
def store(opened: Opened) -> Asked:
    return opened()


def keys(items: list[SearchItem]) -> list[str]:
    return [i.key for i in items]


async def test_an_item_comes_back_as_it_was_put(store: Asked) -> None:
    value = {"title": "된장찌개 🥘", "n": 2**60 + 1, "share": 0.1, "none": None, "list": [1, [True, {"deep": []}]]}
    await store.put(DOCS, "soup", value)
    item = await store.get(DOCS, "soup")
    assert isinstance(item, Item)
    assert (item.namespace, item.key, item.value) == (DOCS, "soup", value)
    assert item.created_at == item.updated_at
    assert item.created_at.tzinfo == timezone.utc


async def test_a_put_over_an_item_keeps_when_it_was_created(store: Asked) -> None:
    await store.put(DOCS, "soup", {"n": 1})
    first = await store.get(DOCS, "soup")
    await store.put(DOCS, "soup", {"n": 2})
    second = await store.get(DOCS, "soup")
    assert second.value == {"n": 2}
    assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at


async def test_an_item_is_found_under_its_own_namespace_and_key_alone(store: Asked) -> None:
    await store.put(DOCS, "soup", {})
    assert await store.get(("memories",), "soup") is None
    assert await store.get((*DOCS, "more"), "soup") is None
    assert await store.get(DOCS, "stew") is None


async def test_a_deleted_item_is_gone_and_may_be_deleted_again(store: Asked) -> None:
    await store.put(DOCS, "soup", {})
    await store.delete(DOCS, "soup")
    assert await store.get(DOCS, "soup") is None
    assert await store.list_namespaces() == []
    await store.delete(DOCS, "soup")


@pytest.mark.parametrize("namespace", [(), ("the", "thing.about"), ("some", ""), ("langgraph", "foo"), ("a", 1)])
async def test_a_namespace_that_langgraph_forbids_is_refused(store: Asked, namespace: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        await store.put(namespace, "soup", {})


async def test_langgraph_may_stand_below_the_root(store: Asked) -> None:
    await store.put(("foo", "langgraph", "foo"), "bar", {"n": 1})
    assert (await store.search(("foo", "langgraph", "foo")))[0].value == {"n": 1}


async def test_a_search_without_a_query_returns_what_is_below_the_prefix(store: Asked) -> None:
    await store.put(DOCS, "one", {"author": "Alice"})
    await store.put(DOCS, "two", {"author": "Bob"})
    await store.put(("memories", "docsets"), "three", {"author": "Alice"})
    await store.put(("plans",), "four", {"author": "Alice"})
    found = await store.search(("memories",))
    assert sorted(keys(found)) == ["one", "three", "two"]
    assert all(isinstance(i, SearchItem) and i.score is None for i in found)
    assert sorted(keys(await store.search(DOCS))) == ["one", "two"], "a prefix ends with a label"
    assert len(await store.search(())) == 4
    assert sorted(keys(await store.search(("memories",), filter={"author": "Alice"}))) == ["one", "three"]
    assert await store.search(("none",)) == []


@pytest.mark.parametrize(
    ("filter", "admitted"),
    [
        ({"n": 2}, ["b"]),
        ({"n": {"$eq": 2}}, ["b"]),
        ({"n": {"$ne": 2}}, ["a", "c", "d"]),
        ({"n": {"$gt": 1}}, ["b", "c"]),
        ({"n": {"$gte": 2}}, ["b", "c"]),
        ({"n": {"$lt": 3}}, ["a", "b"]),
        ({"n": {"$lte": 2.0}}, ["a", "b"]),
        ({"n": {"$gt": 1, "$lt": 3}}, ["b"]),
        ({"n": {"$gte": 2}, "color": "red"}, ["c"]),
        ({"color": {"$gt": "green"}}, ["a", "c"]),
        ({"done": True}, ["d"]),
        ({"n": None}, ["d"]),
    ],
)
async def test_a_filter_admits_by_its_operators(store: Asked, filter: dict[str, Any], admitted: list[str]) -> None:
    await store.put(DOCS, "a", {"n": 1, "color": "red"})
    await store.put(DOCS, "b", {"n": 2, "color": "blue"})
    await store.put(DOCS, "c", {"n": 3.5, "color": "red"})
    await store.put(DOCS, "d", {"n": None, "done": True})
    assert sorted(keys(await store.search(DOCS, filter=filter))) == admitted


async def test_a_filter_that_means_nothing_is_an_error(store: Asked) -> None:
    await store.put(DOCS, "a", {"n": 1})
    for filter in ({"n": {"$near": 1}}, {"n": {"deep": 1}}, {"n": [1]}):
        with pytest.raises(stratamem.InvalidArgument) as wrong:
            await store.search(DOCS, filter=filter)
        assert wrong.value.field == "filter.n"


async def test_a_query_finds_the_nearest_first_with_a_score(store: Asked) -> None:
    await store.put(DOCS, "breakfast", {"note": "Oat porridge with blueberries"})
    await store.put(DOCS, "trip", {"note": "The train to Evora leaves at nine"})
    found = await store.search(DOCS, query="when does the train leave?")
    assert found[0].key == "trip"
    assert all(i.score is not None and 0 <= i.score <= 1 for i in found)
    assert [i.score for i in found] == sorted((i.score for i in found), reverse=True)
    assert keys(await store.search(DOCS, query="porridge", filter={"note": {"$ne": "other"}}, limit=1)) == ["breakfast"]


async def test_a_query_ranks_and_leaves_nothing_out(store: Asked) -> None:
    for n in range(12):
        await store.put(DOCS, f"k{n:02}", {"note": f"The train to Evora leaves from platform {n}"})
    await store.put(DOCS, "pet", {"note": "My dog is called Rex"})
    found = await store.search(DOCS, query="the name of the dog", limit=100)
    assert len(found) == 13
    assert found[0].key == "pet"
    pages = [await store.search(DOCS, query="the name of the dog", limit=5, offset=offset) for offset in (0, 5, 10, 15)]
    assert [i.key for p in pages for i in p] == keys(found)


async def test_a_query_finds_what_the_item_says_now(store: Asked) -> None:
    await store.put(DOCS, "pet", {"note": "a zeppelin"})
    await store.put(DOCS, "pet", {"note": "a gramophone"})
    assert keys(await store.search(DOCS, query="gramophone", limit=1)) == ["pet"]
    assert [i.value for i in await store.search(DOCS, query="zeppelin")] == [{"note": "a gramophone"}]


async def test_index_says_which_parts_a_query_finds(store: Asked) -> None:
    value = {"title": "gramophone", "meta": {"topic": "zeppelin"}, "notes": [{"text": "marzipan"}, {"text": "tuba"}]}
    for key, index in {
        "none": False,
        "empty": [],
        "title": ["title"],
        "nested": ["meta.topic"],
        "each": ["notes[*].text"],
        "first": ["notes[0].text"],
        "last": ["notes[-1].text"],
        "whole": ["$", "title"],
        "default": None,
    }.items():
        await store.put(DOCS, key, value, index=index)
        assert (await store.get(DOCS, key)).value == value, "whatever is found of it"

    async def found(word: str) -> set[str]:
        best = await store.search(DOCS, query=word, limit=20)
        return {i.key for i in best if i.score > 0.2}

    assert await found("gramophone") == {"title", "whole", "default"}
    assert await found("zeppelin") == {"nested", "whole", "default"}
    assert await found("marzipan") == {"each", "first", "whole", "default"}
    assert await found("tuba") == {"each", "last", "whole", "default"}
    assert not {"none", "empty"} & set(keys(await store.search(DOCS, query="gramophone", limit=20)))
    assert {"none", "empty"} <= set(keys(await store.search(DOCS, limit=20))), "without a query all are found"


async def test_limit_and_offset_pass_through_all_items_once(store: Asked) -> None:
    await store.batch([PutOp(DOCS, f"k{n:02}", {"n": n}) for n in range(95)])
    assert len(await store.search(DOCS)) == 10
    pages = [await store.search(DOCS, limit=45, offset=offset) for offset in (0, 45, 90, 135)]
    assert [len(p) for p in pages] == [45, 45, 5, 0]
    assert {i.key for p in pages for i in p} == {f"k{n:02}" for n in range(95)}
    assert len(await store.search(DOCS, limit=1000)) == 95
    assert await store.search(DOCS, limit=0) == []


async def test_the_largest_items_are_all_found(store: Asked) -> None:
    value = {"text": "x" * (64 * 1024 - 11)}
    await store.batch([PutOp(DOCS, f"{n:03}" + "k" * 252, value, [f"{p:03}" + "p" * 252 for p in range(16)]) for n in range(90)])
    found = await store.search(DOCS, limit=1000)
    assert len({i.key for i in found}) == 90
    with pytest.raises(stratamem.InvalidArgument, match="65536"):
        await store.put(DOCS, "more", {"text": value["text"] + "x"})


async def test_time_to_live_is_in_minutes(store: Asked, client: Client, user: str) -> None:
    await store.put(DOCS, "soup", {}, ttl=1.5)
    stored = client.document(user, DOCS, "soup", keep_ttl=True)
    assert stored is not None
    assert stored.ttl.ToSeconds() == 90
    await store.put(DOCS, "soup", {})
    stored = client.document(user, DOCS, "soup")
    assert stored is not None
    assert not stored.HasField("expire_time"), "a put without one takes it away"


async def test_a_read_renews_the_time_to_live_unless_it_is_told_not_to(store: Asked, client: Client, user: str) -> None:
    await store.put(DOCS, "soup", {}, ttl=60)

    def expires() -> int:
        stored = client.document(user, DOCS, "soup", keep_ttl=True)
        assert stored is not None
        return stored.expire_time.ToNanoseconds()

    at = expires()
    await store.get(DOCS, "soup", refresh_ttl=False)
    await store.search(DOCS, refresh_ttl=False)
    await store.search(DOCS, query="soup", refresh_ttl=False)
    assert expires() == at
    await store.get(DOCS, "soup")
    assert expires() > at
    at = expires()
    await store.search(DOCS)
    assert expires() > at


async def test_the_defaults_of_times_to_live_are_those_of_the_store(opened: Opened, client: Client, user: str) -> None:
    store = opened({"default_ttl": 2, "refresh_on_read": False})
    await store.put(DOCS, "soup", {})
    put = client.document(user, DOCS, "soup", keep_ttl=True)
    assert put is not None
    assert put.ttl.seconds == 120
    await store.get(DOCS, "soup")
    kept = client.document(user, DOCS, "soup", keep_ttl=True)
    assert kept is not None
    assert kept.expire_time == put.expire_time
    await store.put(DOCS, "stew", {}, ttl=None)
    for_good = client.document(user, DOCS, "stew")
    assert for_good is not None
    assert not for_good.HasField("ttl")


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "123"),
]


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ({}, NAMESPACES),
        ({"prefix": ("a", "b")}, NAMESPACES[:4]),
        ({"suffix": ("f",)}, NAMESPACES[3:6]),
        ({"prefix": ("a",), "suffix": ("f",)}, NAMESPACES[3:5]),
        ({"prefix": ("a", "*", "f")}, NAMESPACES[3:5]),
        ({"suffix": ("*", "f")}, NAMESPACES[3:6]),
        ({"suffix": ("*", "*", "*", "*")}, NAMESPACES[1:3]),
        ({"prefix": ("a", "b"), "max_depth": 3}, [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]),
        ({"max_depth": 1}, [("a",), ("b",), ("users",)]),
        ({"max_depth": 99}, NAMESPACES),
        ({"prefix": ("a", "b"), "limit": 2}, NAMESPACES[:2]),
        ({"prefix": ("a", "b"), "offset": 2}, NAMESPACES[2:4]),
        ({"prefix": ("a", "b"), "offset": 1, "limit": 2}, NAMESPACES[1:3]),
        ({"prefix": ("none",)}, []),
    ],
)
async def test_namespaces_are_listed_by_conditions_and_depth(store: Asked, asked: dict[str, Any], listed: list[tuple[str, ...]]) -> None:
    await store.batch([PutOp(n, "k", {}) for n in NAMESPACES])
    assert await store.list_namespaces(**asked) == listed


async def test_conditions_of_one_kind_must_all_hold(store: Asked) -> None:
    await store.batch([PutOp(n, "k", {}) for n in NAMESPACES])

    async def listed(*conditions: MatchCondition) -> Any:
        return (await store.batch([ListNamespacesOp(conditions)]))[0]

    assert await listed(MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "b", "d"))) == NAMESPACES[1:3]
    assert await listed(MatchCondition("suffix", ("d", "*")), MatchCondition("suffix", ("i",))) == NAMESPACES[2:3]
    assert await listed(MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",))) == []


async def test_a_batch_returns_its_results_in_their_order(store: Asked) -> None:
    await store.put(("test", "foo"), "key1", {"data": "value1"})
    await store.put(("test", "bar"), "key2", {"data": "value2"})
    got, put, found, namespaces, missing, deleted, gone = await store.batch(
        [
            GetOp(("test", "foo"), "key1"),
            PutOp(("test", "bar"), "key2", {"data": "value3"}),
            SearchOp(("test",), filter={"data": "value1"}),
            ListNamespacesOp(),
            GetOp(("test",), "key3"),
            PutOp(("test", "foo"), "key1", None),
            GetOp(("test", "foo"), "key1"),
        ]
    )
    assert got.value == {"data": "value1"}
    assert (put, missing, deleted, gone) == (None, None, None, None)
    assert keys(found) == ["key1"]
    assert namespaces == [("test", "bar"), ("test", "foo")]
    assert (await store.get(("test", "bar"), "key2")).value == {"data": "value3"}
    assert await store.batch([]) == []


async def test_users_are_apart(opened: Opened, user: str) -> None:
    await opened().put(DOCS, "soup", {"note": "leek"})
    other = opened(of=f"{user}-other")
    assert await other.get(DOCS, "soup") is None
    assert await other.search((), query="leek") == []
    assert await other.list_namespaces() == []


async def test_the_user_may_come_of_the_namespace(opened: Opened, user: str, client: Client) -> None:
    store = opened(of=lambda namespace: namespace[1])
    await store.put(("memories", user), "soup", {"note": "leek"})
    assert client.document(user, ("memories", user), "soup") is not None
    assert keys(await store.search(("memories", user), query="leek")) == ["soup"]
    assert await store.list_namespaces(prefix=("memories", user)) == [("memories", user)]
    await store.delete(("memories", user), "soup")
    assert client.document(user, ("memories", user), "soup") is None


async def test_without_a_user_nothing_is_done(opened: Opened) -> None:
    with pytest.raises(ValueError, match="user_id to StrataStore"):
        await opened(of=None).put(DOCS, "soup", {})


class State(MessagesState):
    found: list[str]


async def test_in_a_graph_the_user_is_that_of_the_run(opened: Opened, user: str) -> None:
    asked = opened(of=None)

    def note(state: State, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        found = [i.value["said"] for i in runtime.store.search(("notes",))]
        runtime.store.put(("notes",), str(len(found)), {"said": state["messages"][-1].text})
        return {"found": found}

    async def anote(state: State, runtime: Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        found = [i.value["said"] for i in await runtime.store.asearch(("notes",))]
        await runtime.store.aput(("notes",), str(len(found)), {"said": state["messages"][-1].text})
        return {"found": found}

    node = anote if asked.asyncio else note
    graph = StateGraph(State).add_node("note", node).set_entry_point("note").compile(store=asked.store)

    async def say(words: str, of: str) -> list[str]:
        call = ({"messages": [("user", words)]}, {"configurable": {"user_id": of}})
        return list((await graph.ainvoke(*call) if asked.asyncio else graph.invoke(*call))["found"])

    assert await say("I am vegan", user) == []
    assert await say("I live in Porto", user) == ["I am vegan"]
    assert await say("hello", f"{user}-other") == []


async def test_the_tools_of_an_agent_share_the_store_at_once(opened: Opened, user: str) -> None:
    asked = opened(of=None)

    @tool
    def remember(text: str, runtime: ToolRuntime) -> str:
        """Remembers a text."""
        runtime.store.put(("memories",), text, {"text": text})
        return "done"

    calls = [{"name": "remember", "args": {"text": f"text {n}"}, "id": f"c{n}", "type": "tool_call"} for n in range(5)]
    agent = create_agent(model(AIMessage(content="", tool_calls=calls), "Noted!"), tools=[remember], store=asked.store)
    run = ({"messages": [("user", "remember these")]}, {"configurable": {"user_id": user}})
    out = await agent.ainvoke(*run) if asked.asyncio else agent.invoke(*run)
    assert [m.content for m in out["messages"] if isinstance(m, ToolMessage)] == ["done"] * 5
    found = await Asked(StrataStore(user, client=asked.store._given, aclient=asked.store._loops.client()), True).search(("memories",))
    assert sorted(keys(found)) == [f"text {n}" for n in range(5)]


def test_threads_and_loops_use_a_store_that_has_only_an_address(client: Client, user: str) -> None:
    store = StrataStore(user, client=client.settings.address)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: store.put(DOCS, f"k{n}", {}), range(16)))

    async def search() -> int:
        try:
            return len(await store.asearch(DOCS, limit=100))
        finally:
            await store._loops.client().close()

    assert asyncio.run(search()) == 16
    assert asyncio.run(search()) == 16
    store.close()
    with pytest.raises(RuntimeError, match="closed"):
        store.get(DOCS, "k1")


async def test_closing_leaves_clients_open_that_were_given(client: Client, aclient: AsyncClient, user: str) -> None:
    store = StrataStore(user, client=client, aclient=aclient)
    store.close()
    await store.aclose()
    assert client.document(user, DOCS, "soup") is None
    assert await aclient.document(user, DOCS, "soup") is None
