"""Memory for agents and chat engines of LlamaIndex: pip install "stratamem[llama-index]"."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory.types import BaseMemory

from stratamem import _memory, messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import Client
from stratamem.errors import NotFound

MESSAGE = "llama_index.chat_message/v1"  #: the format of a ChatMessage as it stands in a message's original

_ROLES = {
    MessageRole.SYSTEM: v1.ROLE_SYSTEM,
    MessageRole.DEVELOPER: v1.ROLE_DEVELOPER,
    MessageRole.USER: v1.ROLE_USER,
    MessageRole.TOOL: v1.ROLE_TOOL,
    MessageRole.FUNCTION: v1.ROLE_TOOL,
}
_NAMES = {
    v1.ROLE_SYSTEM: MessageRole.SYSTEM,
    v1.ROLE_DEVELOPER: MessageRole.DEVELOPER,
    v1.ROLE_USER: MessageRole.USER,
    v1.ROLE_TOOL: MessageRole.TOOL,
}


class StrataMemory(BaseMemory):
    """Keeps the messages of a session. get has those of them that the budget of the session's profile holds, and before the last
    words of the user what is known about them. client and aclient are clients, or the address of a server; without them STRATA_SERVER
    and STRATA_KEY say where it is."""

    user_id: str = Field(description="The user in Strata")
    session_id: str = Field(description="The session in Strata")
    _client: Client | str | None = PrivateAttr(default=None)
    _loops: PerLoop = PrivateAttr()

    def __init__(self, user_id: str, session_id: str, client: Client | str | None = None, aclient: Address = None) -> None:
        super().__init__(user_id=user_id, session_id=session_id)  # type: ignore[call-arg]
        self._client = client
        self._loops = PerLoop(aclient if aclient is not None or not isinstance(client, str) else client)

    @classmethod
    def class_name(cls) -> str:
        return "StrataMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> StrataMemory:
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The session's latest messages, with what helps with the input; with the user's last words where it is not given."""
        client = self._sync()
        said = _recent(client.build_context(self.user_id, self.session_id, input or "", include_original=True))
        return _with(client.recall(self.user_id, self.session_id, input or "", beside=said, summary=True), _read_all(said))

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        client = self._loops.client()
        said = _recent(await client.build_context(self.user_id, self.session_id, input or "", include_original=True))
        return _with(await client.recall(self.user_id, self.session_id, input or "", beside=said, summary=True), _read_all(said))

    def get_all(self) -> list[ChatMessage]:
        """All messages that the session shows, without what is known besides."""
        try:
            return _read_all(list(self._sync().messages(self.user_id, self.session_id, visible_only=True, include_original=True)))
        except NotFound:
            return []

    async def aget_all(self) -> list[ChatMessage]:
        try:
            stored = self._loops.client().messages(self.user_id, self.session_id, visible_only=True, include_original=True)
            return _read_all([m async for m in stored])
        except NotFound:
            return []

    def put(self, message: ChatMessage) -> None:
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Records the messages as one turn, without a block of memory that is among them."""
        said = _written(messages)
        if said:
            self._sync().record(self.user_id, self.session_id, said)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        said = _written(messages)
        if said:
            await self._loops.client().record(self.user_id, self.session_id, said)

    def set(self, messages: list[ChatMessage]) -> None:
        """Puts the messages in the place of what the session shows, in one step. Those that both begin with stay, and are not learnt
        from again."""
        with contextlib.suppress(NotFound):  # there is nothing to erase for an empty list
            self._sync().memory.ReplaceMessages(self._replacement(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        client = self._loops.client()
        with contextlib.suppress(NotFound):
            await client.memory.ReplaceMessages(self._replacement(messages))

    def reset(self) -> None:
        """Erases the messages of the session, and the facts that only they taught."""
        with contextlib.suppress(NotFound):
            self._sync().memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=self.user_id, session_id=self.session_id, all=True))

    async def areset(self) -> None:
        client = self._loops.client()
        with contextlib.suppress(NotFound):
            await client.memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=self.user_id, session_id=self.session_id, all=True))

    def _replacement(self, said: list[ChatMessage]) -> v1.ReplaceMessagesRequest:
        return v1.ReplaceMessagesRequest(user_id=self.user_id, session_id=self.session_id, messages=_written(said))

    def _sync(self) -> Client:
        if not isinstance(self._client, Client):
            self._client = Client(self._client)
        return self._client


def _recent(context: v1.BuildContextResponse) -> list[v1.Message]:
    """The messages that the context has verbatim. One that it has not as it was recorded has no original, and is made of its parts."""
    return [i.message for s in context.sections if s.kind == v1.SECTION_KIND_RECENT for i in s.items]


def _with(block: str, said: list[ChatMessage]) -> list[ChatMessage]:
    if not block:
        return said
    at = max((n for n, m in enumerate(said) if m.role == MessageRole.USER), default=0)
    return [*said[:at], ChatMessage(role=MessageRole.USER, content=block), *said[at:]]


def _read_all(stored: list[v1.Message]) -> list[ChatMessage]:
    return list(messages.unpack(stored, MESSAGE, ChatMessage.model_validate_json, _made))


def _made(m: v1.Message) -> list[ChatMessage]:
    """The messages of one that another client recorded."""
    out = [
        ChatMessage(role=MessageRole.TOOL, content=messages.result_text(r), additional_kwargs={"tool_call_id": r.call_id})
        for r in (p.tool_result for p in m.parts if p.HasField("tool_result"))
    ]
    calls = [
        ToolCallBlock(tool_call_id=c.id, tool_name=c.name, tool_kwargs=messages.arguments_of(c))
        for c in (p.tool_call for p in m.parts if p.HasField("tool_call"))
    ]
    text = [TextBlock(text=messages.text_of(m))] if messages.text_of(m) else []
    if text or calls:
        out.append(ChatMessage(role=_NAMES.get(m.role, MessageRole.ASSISTANT), blocks=[*text, *calls]))
    return out


def _written(said: list[ChatMessage]) -> list[v1.Message]:
    return [m for s in said if not _memory.is_ours(s.content) for m in _write(s)]


def _write(said: ChatMessage) -> list[v1.Message]:
    dumped = json.loads(messages.dumped(said.model_dump()))
    m = v1.Message(role=_ROLES.get(said.role, v1.ROLE_ASSISTANT))
    m.parts.extend(p for b in dumped["blocks"] for p in _parts(b))
    known = {p.tool_call.id for p in m.parts if p.HasField("tool_call")}
    for call in dumped["additional_kwargs"].get("tool_calls") or ():
        part = messages.chat_call(call) if isinstance(call, dict) else messages.opaque("tool_call")
        if not part.HasField("tool_call") or part.tool_call.id not in known:
            m.parts.append(part)
    call_id = dumped["additional_kwargs"].get("tool_call_id")
    if m.role == v1.ROLE_TOOL and messages.is_label(call_id):
        result = messages.result_part(call_id, list(m.parts))
        del m.parts[:]
        m.parts.append(result)
    return messages.pack([m], MESSAGE, messages.dumped(dumped).encode())


def _parts(block: dict[str, Any]) -> list[v1.Part]:
    kind = block.get("block_type")
    if kind == "text":
        return messages.texts(block.get("text"))
    if kind == "thinking":
        return [v1.Part(reasoning=v1.Reasoning(text=messages.clean(block.get("content") or "")))]
    if kind == "tool_call":
        return [messages.call_part(block.get("tool_call_id"), block.get("tool_name"), block.get("tool_kwargs") or {})]
    found = None
    if kind == "image" and block.get("image"):
        found = messages.inline(block.get("image_mimetype") or "image/png", block["image"])
    elif kind == "image" and block.get("url"):
        found = messages.at(str(block["url"]))
    return [found or messages.opaque(f"llama_index.{kind}")]
