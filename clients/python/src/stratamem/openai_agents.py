"""A Session of the OpenAI Agents SDK that Strata holds: pip install "stratamem[openai-agents]"."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Literal, TypeVar, cast

from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings
from agents.run import CallModelData, ModelInputData

from stratamem import messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import AsyncClient
from stratamem.errors import NotFound

_T = TypeVar("_T")

_PAGE = 200


class StrataSession(SessionABC):
    """Keeps the items of a session as they are, and brings what Strata knows about the user into each call of the model.

    client is a client or the address of a server; without one STRATA_SERVER and STRATA_KEY say where it is. clear says what
    clear_session does: erase deletes the items, and the facts that only they taught; hide keeps transcript and facts and starts
    the session anew, as is right where OpenAIResponsesCompactionSession replaces the items by what it made of them.
    """

    def __init__(
        self,
        session_id: str,
        user_id: str,
        client: Address = None,
        *,
        session_settings: SessionSettings | None = None,
        clear: Literal["erase", "hide"] = "erase",
        profile: str = "",
    ) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self.session_settings = session_settings or SessionSettings()
        self._clear = clear
        self._profile = profile
        self._loops = PerLoop(client)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, as many as limit, in their order; all without a limit."""
        limit = self.session_settings.limit if limit is None and self.session_settings else limit
        if limit is not None and limit <= 0:
            return []
        client = self._loops.client()
        start = await self._start(client)
        if start is None:
            return []
        newest_first: list[TResponseInputItem] = []
        page_size = _PAGE if limit is None else min(limit, _PAGE)
        pages = client.messages(self.user_id, self.session_id, page_size=page_size, newest_first=True, include_original=True)
        async for m in pages:
            if m.seq < start or (limit is not None and len(newest_first) >= limit):
                break
            if not m.hidden:
                newest_first.extend(reversed(_items(m)))
        return newest_first[:limit][::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Records the items as one turn: all of them, or none."""
        if items:
            said = messages.read_all(items, messages.OPENAI_RESPONSES)
            await _done(self._loops.client().record(self.user_id, self.session_id, said, profile=self._profile))

    async def pop_item(self) -> TResponseInputItem | None:
        """Erases the latest item and returns it, also where a call loses its result by it."""
        return await _done(self._pop(self._loops.client()))

    async def clear_session(self) -> None:
        """Erases or hides all items; see clear."""
        await _done(self._cleared(self._loops.client()))

    async def with_memory(self, data: CallModelData[Any]) -> ModelInputData:
        """Puts what is known about the user before their last words, for this call alone: give it to RunConfig as
        call_model_input_filter. No item of the session holds it."""
        given = list(data.model_data.input)
        said = [_user_text(item) for item in given]
        at = max((n for n, text in enumerate(said) if text), default=None)
        query = said[at] if at is not None else ""
        block = await self._loops.client().recall(self.user_id, self.session_id, query, beside=_readable(given))
        if block:
            given.insert(at or 0, {"role": "user", "content": block})
        return ModelInputData(input=given, instructions=data.model_data.instructions)

    async def close(self) -> None:
        """Closes the connection; a session that is used after it raises RuntimeError."""
        await self._loops.close()

    async def _start(self, client: AsyncClient) -> int | None:
        """The seq from which the session shows its items; None where there is no session."""
        try:
            reply = await client.memory.GetSession(v1.GetSessionRequest(user_id=self.user_id, session_id=self.session_id))
        except NotFound:
            return None
        return reply.session.context_start_seq

    async def _pop(self, client: AsyncClient) -> TResponseInputItem | None:
        start = await self._start(client)
        while start is not None:
            latest = client.messages(self.user_id, self.session_id, page_size=1, newest_first=True, include_original=True)
            m = await anext(latest, None)
            if m is None or m.seq < start:
                return None
            request = v1.PopMessagesRequest(user_id=self.user_id, session_id=self.session_id, count=1, include_original=True)
            reply = await client.memory.PopMessages(request)
            if not reply.messages and not reply.replayed:
                return None
            taken = _items(reply.messages[0] if reply.messages else m)  # the reply of a repeated call holds none
            if len(taken) > 1:  # a message of another provider: the SDK wants its last item alone
                await client.record(self.user_id, self.session_id, messages.read_all(taken[:-1], messages.OPENAI_RESPONSES))
            if taken:
                return taken[-1]
        return None

    async def _cleared(self, client: AsyncClient) -> None:
        try:
            if self._clear == "hide":
                got = await client.memory.GetSession(v1.GetSessionRequest(user_id=self.user_id, session_id=self.session_id))
                session = v1.Session(user_id=self.user_id, session_id=self.session_id, context_start_seq=got.session.last_seq + 1)
                update = v1.UpdateSessionRequest(session=session)
                update.update_mask.paths.append("context_start_seq")
                await client.memory.UpdateSession(update)
            else:
                await client.memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=self.user_id, session_id=self.session_id, all=True))
        except NotFound:
            pass  # there is nothing to clear


def _items(m: v1.Message) -> list[TResponseInputItem]:
    """The items of a message; none of one whose original cannot be read."""
    try:
        return cast("list[TResponseInputItem]", messages.write([m], messages.OPENAI_RESPONSES))
    except ValueError:
        return []


def _readable(items: list[TResponseInputItem]) -> list[v1.Message]:
    return messages.read_all(items, messages.OPENAI_RESPONSES)


def _user_text(item: TResponseInputItem) -> str:
    """What a person says in an item; "" where it is none of theirs."""
    (m, *_) = messages.read(item, messages.OPENAI_RESPONSES)
    return messages.text_of(m) if m.role == v1.ROLE_USER else ""


async def _done(change: Awaitable[_T]) -> _T:
    """Waits until the change is made also where the caller is cancelled meanwhile: the SDK wants to know what became of it."""
    task = asyncio.ensure_future(change)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()
