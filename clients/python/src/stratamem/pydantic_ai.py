"""Memory for agents of Pydantic AI: pip install "stratamem[pydantic-ai]"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import AgentRunResult, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext

from stratamem import _memory, messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.errors import NotFound

MESSAGE = "pydantic_ai.message/v1"  #: the format of a ModelMessage as it stands in a message's original


class StrataMemory(AbstractCapability[Any]):
    """Puts what Strata knows about the user before their last words, for the call of the model alone, and records the messages of each
    run when it is done: Agent(…, capabilities=[memory]). history has the session's messages for message_history.

    client is a client or the address of a server; without one STRATA_SERVER and STRATA_KEY say where it is.
    """

    def __init__(self, user_id: str, session_id: str, client: Address = None) -> None:
        self.user_id, self.session_id = user_id, session_id
        self._loops = PerLoop(client)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        request_context.messages = await self.process(list(request_context.messages))
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        await self.record(result.new_messages())
        return result

    async def process(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """The messages with memory before the last words of the user: a history processor, for agents that take no capabilities or
        record by themselves. What an earlier call put there it takes away, since Pydantic AI keeps what a processor returns."""
        out = _without(messages)
        place = _last_words(out)
        if place is None:
            return out
        at, part, query = place
        block = await self._loops.client().recall(self.user_id, self.session_id, query, beside=_write_all(out))
        if block:
            request = out[at]
            assert isinstance(request, ModelRequest)
            parts = [*request.parts[:part], UserPromptPart(content=block), *request.parts[part:]]
            out[at] = replace(request, parts=parts)
        return out

    async def record(self, messages: Sequence[ModelMessage]) -> None:
        """Records messages as one turn, such as those of result.new_messages(), without memory that is among them."""
        said = _write_all(_without(messages))
        if said:
            await self._loops.client().record(self.user_id, self.session_id, said)

    async def history(self, limit: int | None = None) -> list[ModelMessage]:
        """The latest messages of the session, as they were recorded; all without a limit. The first is never a result without its
        call."""
        stored: list[v1.Message] = []
        try:
            async for m in self._loops.client().messages(self.user_id, self.session_id, newest_first=True, include_original=True):
                if not m.hidden:
                    stored.append(m)
        except NotFound:
            return []
        out = list(_read_all(stored[::-1]))
        if limit is None:
            return out
        out = out[max(0, len(out) - limit) :] if limit > 0 else []
        while out and not _begins(out[0]):
            out.pop(0)
        return out

    async def close(self) -> None:
        """Closes the connection."""
        await self._loops.close()


def _begins(m: ModelMessage) -> bool:
    """Whether a history may begin with the message: one of the user's that answers no call."""
    return isinstance(m, ModelRequest) and not any(
        isinstance(p, ToolReturnPart) or getattr(p, "part_kind", "") == "retry-prompt" for p in m.parts
    )


def _without(said: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without blocks that memory put among them."""
    out: list[ModelMessage] = []
    for m in said:
        if isinstance(m, ModelRequest):
            parts = [p for p in m.parts if not (isinstance(p, UserPromptPart) and _memory.is_ours(p.content))]
            if not parts and m.parts:
                continue
            m = m if len(parts) == len(m.parts) else replace(m, parts=parts)
        out.append(m)
    return out


def _last_words(said: Sequence[ModelMessage]) -> tuple[int, int, str] | None:
    """Where the user's last words stand, by message and part, and what they are."""
    for at in range(len(said) - 1, -1, -1):
        m = said[at]
        for part in range(len(m.parts) - 1, -1, -1) if isinstance(m, ModelRequest) else ():
            p = m.parts[part]
            if isinstance(p, UserPromptPart):
                content = [p.content] if isinstance(p.content, str) else p.content
                return at, part, "\n\n".join(c for c in content if isinstance(c, str))
    return None


def _read_all(stored: Sequence[v1.Message]) -> list[ModelMessage]:
    return list(messages.unpack(stored, MESSAGE, _load, _made))


def _load(data: bytes) -> ModelMessage:
    (m,) = ModelMessagesTypeAdapter.validate_json(b"[" + data + b"]")
    return m


def _made(m: v1.Message) -> list[ModelMessage]:
    """The messages of one that another client recorded."""
    text = messages.text_of(m)
    if m.role == v1.ROLE_ASSISTANT:
        parts: list[Any] = [TextPart(content=text)] if text else []
        calls = (p.tool_call for p in m.parts if p.HasField("tool_call"))
        parts += [ToolCallPart(tool_name=c.name, args=c.arguments, tool_call_id=c.id) for c in calls]
        return [ModelResponse(parts=parts)] if parts else []
    results = (p.tool_result for p in m.parts if p.HasField("tool_result"))
    request: list[Any] = [ToolReturnPart(tool_name="", content=messages.result_text(r), tool_call_id=r.call_id) for r in results]
    if text:
        request.append(SystemPromptPart(content=text) if m.role in (v1.ROLE_SYSTEM, v1.ROLE_DEVELOPER) else UserPromptPart(content=text))
    return [ModelRequest(parts=request)] if request else []


def _write_all(said: Sequence[ModelMessage]) -> list[v1.Message]:
    return [m for s in said for m in _write(s)]


def _write(said: ModelMessage) -> list[v1.Message]:
    """One message, or one for each role in it: a request has results, instructions and what the user says side by side."""
    (dumped,) = json.loads(ModelMessagesTypeAdapter.dump_json([said]))
    drafts: list[v1.Message] = []
    for part in dumped["parts"]:
        role = v1.ROLE_ASSISTANT if dumped["kind"] == "response" else _role(part)
        if not drafts or drafts[-1].role != role:
            drafts.append(v1.Message(role=role))
        drafts[-1].parts.extend(_parts(part))
    return messages.pack(drafts or [v1.Message(role=v1.ROLE_ASSISTANT)], MESSAGE, messages.dumped(dumped).encode())


def _role(part: dict[str, Any]) -> v1.Role:
    kind = part["part_kind"]
    if kind == "user-prompt":
        return v1.ROLE_USER
    if "tool_call_id" in part and part.get("tool_name"):
        return v1.ROLE_TOOL
    return v1.ROLE_SYSTEM  # instructions, and what the framework tells the model


def _parts(part: dict[str, Any]) -> list[v1.Part]:
    kind, content = part["part_kind"], part.get("content")
    if kind == "thinking":
        return [v1.Part(reasoning=v1.Reasoning(text=messages.clean(content or ""), signature=messages.clean(part.get("signature") or "")))]
    if kind.endswith("tool-call"):
        return [messages.call_part(part.get("tool_call_id"), part.get("tool_name"), part.get("args") or "")]
    if kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
        text = content if isinstance(content, str) else messages.dumped(content)
        return [messages.result_part(part.get("tool_call_id"), messages.texts(messages.clean(text)), failed=kind == "retry-prompt")]
    pieces = content if isinstance(content, list) else [content]
    return [p for piece in pieces for p in _piece(kind, piece)]


def _piece(kind: str, piece: Any) -> list[v1.Part]:
    if isinstance(piece, str):
        return messages.texts(messages.clean(piece))
    if isinstance(piece, dict):
        if isinstance(piece.get("content"), str) and "data" not in piece:
            return messages.texts(messages.clean(piece["content"]))
        found = messages.inline(piece.get("media_type") or "", piece["data"]) if piece.get("data") else None
        found = messages.at(str(piece["url"])) if piece.get("url") else found
        if found:
            return [found]
    return [messages.opaque(f"pydantic_ai.{kind}")]
