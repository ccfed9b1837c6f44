"""Memory for agents of LangChain v1, and a chat history: pip install "stratamem[langchain]"."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, HumanMessage, message_to_dict, messages_from_dict
from langgraph.config import get_config
from langgraph.runtime import Runtime
from typing_extensions import NotRequired

from stratamem import messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import AsyncClient, Client
from stratamem.errors import AlreadyExists, NotFound

_TURN_MESSAGES = 500  # of one Record; it takes 1,000 of 2 MiB in all
_TURN_BYTES = 1 << 20


class _State(AgentState[Any]):
    strata_recorded: NotRequired[Annotated[str, PrivateStateAttr]]  # the id of the last message that is recorded


@dataclass(frozen=True)
class _Scope:
    user_id: str
    session_id: str


class StrataMemory(AgentMiddleware[_State, Any, Any]):
    """Puts what Strata knows about the user before their last words, for the call of the model alone, and records the turn when the
    agent is done.

    user_id and session_id are those of every run; what is not given comes from the run's context, as its attribute or key of
    that name, or from config["configurable"], where session_id is called thread_id. client is for runs that wait, aclient for
    asyncio; without them STRATA_SERVER and STRATA_KEY say where the server is.
    """

    state_schema = _State

    def __init__(
        self,
        user_id: str | None = None,
        session_id: str | None = None,
        *,
        client: Client | str | None = None,
        aclient: Address = None,
        summary: bool = False,
    ) -> None:
        super().__init__()
        self._user_id, self._session_id = user_id, session_id
        self._client = client
        self._loops = PerLoop(aclient if aclient is not None or not isinstance(client, str) else client)
        self._summary = summary

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> ModelResponse[Any]:
        at, query = _question(request.messages)
        scope = self._scope(request.runtime)
        block = self._sync().recall(scope.user_id, scope.session_id, query, beside=_read_all(request.messages), summary=self._summary)
        return handler(_with(request, at, block))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        at, query = _question(request.messages)
        scope = self._scope(request.runtime)
        block = await self._loops.client().recall(
            scope.user_id, scope.session_id, query, beside=_read_all(request.messages), summary=self._summary
        )
        return await handler(_with(request, at, block))

    def after_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        new = _unrecorded(state)
        scope = self._scope(runtime)
        for turn in _turns(new):
            _record(lambda said: self._sync().record(scope.user_id, scope.session_id, said), turn)
        return {"strata_recorded": new[-1].id} if new else None

    async def aafter_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        new = _unrecorded(state)
        scope = self._scope(runtime)
        client = self._loops.client()
        for turn in _turns(new):
            await _arecord(client, scope, turn)
        return {"strata_recorded": new[-1].id} if new else None

    def _sync(self) -> Client:
        if not isinstance(self._client, Client):
            self._client = Client(self._client)
        return self._client

    def _scope(self, runtime: Runtime[Any] | None) -> _Scope:
        context = getattr(runtime, "context", None)
        try:
            configurable = get_config().get("configurable", {})
        except RuntimeError:  # outside of a graph
            configurable = {}
        user_id = self._user_id or _of(context, "user_id") or configurable.get("user_id")
        session_id = self._session_id or _of(context, "session_id") or configurable.get("session_id") or configurable.get("thread_id")
        if not user_id or not session_id:
            raise ValueError(
                "memory needs a user and a session: give user_id and session_id to StrataMemory, or user_id and thread_id in "
                'config={"configurable": {…}}, or both in the context of the run'
            )
        return _Scope(str(user_id), str(session_id))


class StrataChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, as they were added. client is a client or the address of a server; without one STRATA_SERVER and
    STRATA_KEY say where it is."""

    def __init__(self, session_id: str, user_id: str, client: Client | str | None = None, *, aclient: Address = None) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self._client = client
        self._loops = PerLoop(aclient if aclient is not None or not isinstance(client, str) else client)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, in their order."""
        try:
            stored = list(self._sync().messages(self.user_id, self.session_id, include_original=True))
        except NotFound:
            return []
        return _written(stored)

    async def aget_messages(self) -> list[BaseMessage]:
        try:
            stored = [m async for m in self._loops.client().messages(self.user_id, self.session_id, include_original=True)]
        except NotFound:
            return []
        return _written(stored)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Records the messages as one turn: all of them, or none."""
        if messages:
            self._sync().record(self.user_id, self.session_id, _read_all(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        if messages:
            await self._loops.client().record(self.user_id, self.session_id, _read_all(messages))

    def clear(self) -> None:
        """Erases all messages, and the facts that only they taught."""
        with contextlib.suppress(NotFound):
            self._sync().memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=self.user_id, session_id=self.session_id, all=True))

    async def aclear(self) -> None:
        client = self._loops.client()
        with contextlib.suppress(NotFound):
            await client.memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=self.user_id, session_id=self.session_id, all=True))

    def _sync(self) -> Client:
        if not isinstance(self._client, Client):
            self._client = Client(self._client)
        return self._client


def _written(stored: list[v1.Message]) -> list[BaseMessage]:
    return messages_from_dict(messages.write(stored, messages.LANGCHAIN))


def _of(context: Any, name: str) -> Any:
    return context.get(name) if isinstance(context, dict) else getattr(context, name, None)


def _question(said: Sequence[BaseMessage]) -> tuple[int, str]:
    """Where the user's last words stand, and what they are."""
    for n in range(len(said) - 1, -1, -1):
        if isinstance(said[n], HumanMessage):
            return n, str(said[n].text)
    return 0, ""


def _with(request: ModelRequest[Any], at: int, block: str) -> ModelRequest[Any]:
    """The request with memory before the user's last words. It is a copy: the agent's state never has the block."""
    if not block:
        return request
    return request.override(messages=[*request.messages[:at], HumanMessage(content=block), *request.messages[at:]])


def _read(m: BaseMessage, id: str = "") -> list[v1.Message]:
    # What a middleware wrote in the user's place, such as a summary, teaches nothing about them.
    recalled = isinstance(m, HumanMessage) and m.additional_kwargs.get("lc_source")
    return messages.read(message_to_dict(m), messages.LANGCHAIN, id=id, origin=v1.ORIGIN_RECALLED if recalled else 0)


def _read_all(said: Sequence[BaseMessage]) -> list[v1.Message]:
    return [m for s in said for m in _read(s)]


def _unrecorded(state: _State) -> list[BaseMessage]:
    """The messages after the last one that is recorded; all where that is none of them any more, as after a summary. Those that the
    service has already it knows by their ids."""
    said: list[BaseMessage] = list(state["messages"])
    last = state.get("strata_recorded")
    for n in range(len(said) - 1, -1, -1):
        if said[n].id is not None and said[n].id == last:
            return said[n + 1 :]
    return said


def _turns(new: Sequence[BaseMessage]) -> list[list[v1.Message]]:
    """What is to be recorded, in calls that the service takes. As a rule it is one."""
    out: list[list[v1.Message]] = []
    size = 0
    for m in (m for s in new for m in _read(s, s.id or "")):
        if not out or len(out[-1]) >= _TURN_MESSAGES or size + m.ByteSize() > _TURN_BYTES:
            out.append([])
            size = 0
        out[-1].append(m)
        size += m.ByteSize()
    return out


def _record(record: Callable[[list[v1.Message]], Any], turn: list[v1.Message]) -> None:
    """Records a turn. A message that is recorded with other words stays as it was first: a middleware has changed it since."""
    while turn:
        try:
            record(turn)
            return
        except AlreadyExists as error:
            turn = _without(turn, error)


async def _arecord(client: AsyncClient, scope: _Scope, turn: list[v1.Message]) -> None:
    while turn:
        try:
            await client.record(scope.user_id, scope.session_id, turn)
            return
        except AlreadyExists as error:
            turn = _without(turn, error)


def _without(turn: list[v1.Message], error: AlreadyExists) -> list[v1.Message]:
    id = error.metadata.get("message_id", "")
    if error.reason != "MESSAGE_ID_REUSED" or all(m.id != id for m in turn):
        raise error
    return [m for m in turn if m.id != id]
