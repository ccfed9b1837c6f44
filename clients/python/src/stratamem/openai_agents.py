"""A Session of the OpenAI Agents SDK that Strata holds: pip install "stratamem[openai-agents]"."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import grpc
from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings
from agents.run import CallModelData, ModelInputData

from stratamem import messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import AsyncClient
from stratamem.errors import Conflict, FailedPrecondition, NotFound

_T = TypeVar("_T")

_PAGE = 200
_TRIES = 5  # of a replacement whose list others change between reading and writing it


@dataclass(frozen=True)
class _Snapshot:
    """What OpenAIResponsesCompactionSession asks its store for before it compacts; it looks at the attributes alone."""

    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


@dataclass(frozen=True)
class _List:
    """The latest messages that the session shows, as they were at one time."""

    messages: list[v1.Message]  # in their order
    complete: bool  # whether there are none before them
    etag: str  # of the whole list
    last_seq: int  # of the session, whose last message may be hidden


class StrataSession(SessionABC):
    """Keeps the items of a session as they are, and brings what Strata knows about the user into each call of the model.

    client is a client or the address of a server; without one STRATA_SERVER and STRATA_KEY say where it is. clear says what becomes
    of items that clear_session or replace_items takes away: erase deletes them, and the facts that only they taught; hide keeps
    transcript and facts, and the session no longer shows them.
    """

    def __init__(
        self,
        session_id: str,
        user_id: str,
        client: Address = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        clear: Literal["erase", "hide"] = "erase",
        profile: str = "",
    ) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self.session_settings = SessionSettings().resolve(session_settings)
        self._clear = clear
        self._profile = profile
        self._loops = PerLoop(client)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, as many as limit, in their order; all without a limit."""
        limit = self.session_settings.limit if limit is None and self.session_settings else limit
        if limit is not None and limit <= 0:
            return []
        pages = self._latest(self._loops.client(), _PAGE if limit is None else min(limit, _PAGE))
        newest_first: list[TResponseInputItem] = []
        try:
            async for m in pages:
                newest_first.extend(reversed(_items(m)))
                if limit is not None and len(newest_first) >= limit:
                    break
        except NotFound:
            return []  # there is no session yet
        return newest_first[:limit][::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Records the items as one turn: all of them, or none."""
        client = self._loops.client()
        if items:
            said = messages.read_all(items, messages.OPENAI_RESPONSES)
            await _done(client.record(self.user_id, self.session_id, said, profile=self._profile))

    async def pop_item(self) -> TResponseInputItem | None:
        """Erases the latest item and returns it, also where a call loses its result by it."""
        return await _done(self._pop(self._loops.client()))

    async def clear_session(self) -> None:
        """Erases or hides all items; see clear."""
        await _done(self._cleared(self._loops.client()))

    async def replace_items(self, items: list[TResponseInputItem], *, instead_of: list[TResponseInputItem] | None = None) -> None:
        """Puts items in the place of all that the session shows, as after compaction, in one step. What both begin with stays, and is
        not learnt from again; a user's message that says the same stays as it was recorded. instead_of are the items that get_items
        returned: where the session has others by now it stays as it is, and Conflict is raised. Without it whatever is there is
        replaced."""
        await _done(self._replaced(self._loops.client(), items, instead_of))

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

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        """Where the SDK looks for it, OpenAIResponsesCompactionSession calls this in the place of clear_session and add_items."""
        await self.replace_items(items)
        return True

    async def _get_compaction_snapshot(self, limit: int) -> _Snapshot | None:
        """The latest items for OpenAIResponsesCompactionSession, and how to replace the last of them where nobody wrote since."""
        client = self._loops.client()
        listed = await self._list(client, limit)
        owners = [n for n, m in enumerate(listed.messages) for _ in _items(m)]

        async def replace_suffix(start: int, items: list[TResponseInputItem]) -> bool:
            if start >= len(owners) or (start and owners[start - 1] == owners[start]):
                return False  # there is nothing to replace, or a half of one message
            if self._clear == "hide" and (owners[start] or not listed.complete):
                return False  # what stays before the items would be hidden, too
            try:
                await _done(self._put(client, listed, owners[start], items))
            except Conflict:
                return False
            return True

        return _Snapshot([i for m in listed.messages for i in _items(m)], listed.complete, replace_suffix)

    def _latest(self, client: AsyncClient, page_size: int) -> AsyncIterator[v1.Message]:
        """What the session shows, newest first. NotFound where there is no session."""
        return client.messages(
            self.user_id, self.session_id, page_size=page_size, newest_first=True, visible_only=True, include_original=True
        )

    async def _list(self, client: AsyncClient, limit: int | None) -> _List:
        """The latest messages: so many, or all."""
        request = v1.ListMessagesRequest(
            user_id=self.user_id, session_id=self.session_id, newest_first=True, visible_only=True, include_original=True
        )
        newest_first: list[v1.Message] = []
        etag = ""
        try:
            got = await client.memory.GetSession(v1.GetSessionRequest(user_id=self.user_id, session_id=self.session_id))
            while limit is None or len(newest_first) < limit:
                request.page_size = _PAGE if limit is None else min(limit - len(newest_first), _PAGE)
                page = await client.memory.ListMessages(request)
                etag = etag or page.etag
                newest_first.extend(page.messages)
                request.page_token = page.next_page_token
                if not page.next_page_token:
                    return _List(newest_first[::-1], True, etag, got.session.last_seq)
        except NotFound:
            return _List([], True, "", 0)
        return _List(newest_first[::-1], False, etag, got.session.last_seq)

    async def _replaced(self, client: AsyncClient, items: list[TResponseInputItem], instead_of: list[TResponseInputItem] | None) -> None:
        for n in range(_TRIES):
            listed = await self._list(client, None)
            if instead_of is not None and [i for m in listed.messages for i in _items(m)] != instead_of:
                raise Conflict("the session has other items by now: read them again", code=grpc.StatusCode.ABORTED, reason="ETAG_MISMATCH")
            try:
                return await self._put(client, listed, 0, items)
            except Conflict:
                if n == _TRIES - 1:
                    raise

    async def _put(self, client: AsyncClient, listed: _List, start: int, items: list[TResponseInputItem]) -> None:
        """Puts items in the place of those messages that the list has from start on, where it is still the session's."""
        old = listed.messages[start:]
        new = messages.read_all(items, messages.OPENAI_RESPONSES)
        if self._clear == "hide":
            return await self._put_behind(client, listed, old, new)
        if not listed.etag:
            await self._record_at(client, 0, new)
            return
        request = v1.ReplaceMessagesRequest(user_id=self.user_id, session_id=self.session_id, etag=listed.etag)
        if start or not listed.complete:
            request.after_seq = old[0].seq - 1
        request.messages.extend(_kept_as_recorded(old, new))
        await client.memory.ReplaceMessages(request)

    async def _put_behind(self, client: AsyncClient, listed: _List, old: list[v1.Message], new: list[v1.Message]) -> None:
        """Records new messages, and has the session begin with them. What the old ones said is not learnt again."""
        known = {_said(m) for m in old}
        for m in new:
            if _said(m) in known:
                m.extract = v1.EXTRACT_MODE_NONE
        first = await self._record_at(client, listed.last_seq, new)
        if old:
            await self._begin_at(client, first)

    async def _record_at(self, client: AsyncClient, last_seq: int, new: list[v1.Message]) -> int:
        """Records behind last_seq, or raises Conflict where that is not the session's last; the seq of the first."""
        if not new:
            return last_seq + 1
        request = v1.RecordRequest(user_id=self.user_id, session_id=self.session_id, messages=new, profile=self._profile)
        request.expected_last_seq = last_seq
        try:
            return (await client.memory.Record(request)).first_seq
        except FailedPrecondition as error:
            if error.reason != "LAST_SEQ_MISMATCH":
                raise
            raise Conflict(error.message, code=grpc.StatusCode.ABORTED, reason=error.reason, metadata=error.metadata) from error

    async def _begin_at(self, client: AsyncClient, seq: int) -> None:
        session = v1.Session(user_id=self.user_id, session_id=self.session_id, context_start_seq=seq)
        update = v1.UpdateSessionRequest(session=session)
        update.update_mask.paths.append("context_start_seq")
        await client.memory.UpdateSession(update)

    async def _pop(self, client: AsyncClient) -> TResponseInputItem | None:
        while True:
            listed = await self._list(client, 1)
            if not listed.messages:
                return None
            taken = _items(listed.messages[0])
            request = v1.ReplaceMessagesRequest(user_id=self.user_id, session_id=self.session_id, etag=listed.etag)
            request.after_seq = listed.messages[0].seq - 1
            request.messages.extend(messages.read_all(taken[:-1], messages.OPENAI_RESPONSES))  # others record several items in one message
            try:
                await client.memory.ReplaceMessages(request)
            except (Conflict, NotFound):
                continue  # somebody else was faster
            if taken:
                return taken[-1]

    async def _cleared(self, client: AsyncClient) -> None:
        try:
            if self._clear == "hide":
                got = await client.memory.GetSession(v1.GetSessionRequest(user_id=self.user_id, session_id=self.session_id))
                await self._begin_at(client, got.session.last_seq + 1)
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


def _said(m: v1.Message) -> bytes:
    """What a message says and who says it, for comparing."""
    return v1.Message(role=m.role, name=m.name, parts=m.parts).SerializeToString(deterministic=True)


def _kept_as_recorded(old: list[v1.Message], new: list[v1.Message]) -> list[v1.Message]:
    """The new messages, of which those that a user said before are without the original, so that ReplaceMessages keeps what was recorded
    and learnt of them: an SDK that compacts writes the same words in another form. It is the beginning that ReplaceMessages keeps."""
    at = 0
    for m in new:
        user = m.role == v1.ROLE_USER
        found = (n for n in range(at, len(old)) if _said(old[n]) == _said(m) and (user or old[n].original == m.original))
        at = next(found, -1) + 1
        if not at:
            break
        if user:
            m.ClearField("original")
    return new


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
