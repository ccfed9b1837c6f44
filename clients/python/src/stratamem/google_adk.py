"""Sessions and memory of Google's Agent Development Kit in Strata: pip install "stratamem[google-adk]"."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, unquote

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from google.genai import types
from google.protobuf import json_format, struct_pb2
from pydantic_core import to_jsonable_python

from stratamem import messages, v1
from stratamem._adapter import Address, PerLoop
from stratamem.client import AsyncClient
from stratamem.errors import AlreadyExists, FailedPrecondition, NotFound

EVENT = "google.adk.event/v1"  #: the format of an event as it stands in a message's original

_MARK = "$adk"  # the key of a session's state by which a session is there before its first event
_NO_SESSION = "events"  # where events are kept that come without a session
_NOT_A_SESSION = "adk.search"  # in which a search is made, so that all sessions are others
_FOUND = 10  # the most facts, and the most messages, of one search


def _user(app_name: str, user_id: str) -> str:
    """The user of Strata: each app has its own memory of a user, as ADK wants it. The name of the app can be told from it."""
    return f"{quote(app_name, safe='')}:{user_id}"


def _app(app_name: str) -> str:
    """The user of Strata whose state is that of the app."""
    return f"{quote(app_name, safe='')}:"


class StrataSessionService(BaseSessionService):
    """Keeps sessions with their events as they are, and their state; that of a user and of the app in the state of users. client is a
    client or the address of a server; without one STRATA_SERVER and STRATA_KEY say where it is."""

    def __init__(self, client: Address = None) -> None:
        self._loops = PerLoop(client)

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        client = self._loops.client()
        id = (session_id or "").strip() or str(uuid.uuid4())
        user = _user(app_name, user_id)
        app, users, own = _split(state or {})
        patch = {_MARK: {"app_name": app_name, "user_id": user_id}, **own}
        if await _session(client, user, id) is not None:
            raise AlreadyExistsError(f"Session with id {id} already exists.")
        try:
            await client.record(user, id, state_patch=_encoded(patch), expected_last_seq=0)
        except FailedPrecondition:  # somebody made it since, and wrote to it
            raise AlreadyExistsError(f"Session with id {id} already exists.") from None
        await _patch_user(client, _app(app_name), app)
        await _patch_user(client, user, users)
        created = await self.get_session(app_name=app_name, user_id=user_id, session_id=id)
        assert created is not None
        return created

    async def get_session(self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None) -> Session | None:
        client = self._loops.client()
        id, user = session_id.strip(), _user(app_name, user_id)
        stored = await _session(client, user, id)
        if stored is None:
            return None
        out = _found(stored, app_name, user_id)
        out.events = await _events(client, user, id, config or GetSessionConfig())
        out.state = {
            **_decoded(stored.state),
            **{State.APP_PREFIX + k: v for k, v in (await _user_state(client, _app(app_name))).items()},
            **{State.USER_PREFIX + k: v for k, v in (await _user_state(client, user)).items()},
        }
        return out

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        client = self._loops.client()
        users = [user_id]
        if user_id is None:
            pages = client.pages(client.users.ListUsers, v1.ListUsersRequest(page_size=500), "users")
            users = [u.user_id.removeprefix(_app(app_name)) async for u in pages if u.user_id.startswith(_app(app_name))]
        out: list[Session] = []
        for name in users:
            if name is None or (user_id is None and not name):
                continue  # the state of the app
            try:
                out += [_found(s, app_name, name) async for s in client.sessions(_user(app_name, name), page_size=500)]
            except NotFound:
                continue
        return ListSessionsResponse(sessions=sorted(out, key=lambda s: (s.last_update_time, s.user_id, s.id)))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        request = v1.DeleteSessionRequest(user_id=_user(app_name, user_id), session_id=session_id.strip())
        try:
            await self._loops.client().memory.DeleteSession(request)
        except NotFound:
            return

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await _user_state(self._loops.client(), _user(app_name, user_id))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Records an event with its change of state as one turn. The same event again changes nothing."""
        if event.partial:
            return event
        client = self._loops.client()
        user = _user(session.app_name, session.user_id)
        if await _session(client, user, session.id) is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        app, users, own = _split(event.actions.state_delta if event.actions else {})
        if await _append(client, user, session.id, event, _encoded(own)):
            return event
        await _patch_user(client, _app(session.app_name), app)
        await _patch_user(client, user, users)
        self._commit_event_to_session(session, event)
        session.last_update_time = event.timestamp
        return event

    async def close(self) -> None:
        """Closes the connection."""
        await self._loops.close()


class StrataMemoryService(BaseMemoryService):
    """Remembers what was said in sessions and what was learnt from it. An event is kept once, however often its session is added, and
    beside StrataSessionService none is kept twice. client is as that of StrataSessionService."""

    def __init__(self, client: Address = None) -> None:
        self._loops = PerLoop(client)

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        client = self._loops.client()
        for event in events:
            if event.content and event.content.parts and not event.partial:
                await _append(client, _user(app_name, user_id), session_id or _NO_SESSION, event, {})

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keeps each as a fact of the user; a text of more than 1,000 bytes is refused. One with an id that was added before is
        not added again."""
        client = self._loops.client()
        for entry in memories:
            text = " ".join(" ".join(p.text for p in entry.content.parts or () if p.text).split())
            if not text:
                continue
            fact = v1.Fact(user_id=_user(app_name, user_id), text=text)
            if entry.timestamp:
                fact.valid_from.FromDatetime(_time(entry.timestamp))
            request_id = f"adk-memory:{entry.id}" if entry.id else ""
            await client.facts.CreateFact(v1.CreateFactRequest(fact=fact, request_id=request_id, author=entry.author or ""))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What a context for the query would hold of the user: facts, those that matter always among them, then messages. Each has the
        id by which delete_memory takes it."""
        if not query.strip():
            return SearchMemoryResponse()
        off = (v1.SECTION_KIND_PERIODS, v1.SECTION_KIND_PREVIOUS_SESSIONS)
        sections = [v1.SectionSwitch(section=s, enabled=False) for s in off]
        overrides = v1.ContextOverrides(top_k=_FOUND, max_facts=_FOUND, sections=sections)
        context = await self._loops.client().build_context(_user(app_name, user_id), _NOT_A_SESSION, query, overrides=overrides)
        out: list[MemoryEntry] = []
        for section in context.sections:
            for i in section.items:
                if section.kind == v1.SECTION_KIND_FACTS:
                    out.append(_entry(f"fact/{i.fact.fact_id}", i.fact.text, "user", i.fact.valid_from))
                elif section.kind == v1.SECTION_KIND_RECALLED:
                    author = "user" if i.role == v1.ROLE_USER else i.name or "model"
                    out.append(_entry(f"message/{quote(i.session_id, safe='')}/{i.message_id}", i.text, author, i.create_time))
        return SearchMemoryResponse(memories=out)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes a fact, or a message with what was made of it; one that is not there is no error."""
        client, user = self._loops.client(), _user(app_name, user_id)
        kind, _, rest = (memory_id or "").partition("/")
        try:
            if kind == "fact":
                await client.facts.DeleteFact(v1.DeleteFactRequest(user_id=user, fact_id=rest))
            elif kind == "message":
                session, _, id = rest.partition("/")
                await client.memory.DeleteMessages(v1.DeleteMessagesRequest(user_id=user, session_id=unquote(session), message_ids=[id]))
        except NotFound:
            return

    async def close(self) -> None:
        """Closes the connection."""
        await self._loops.close()


# --- events


async def _append(client: AsyncClient, user: str, session_id: str, event: Event, patch: dict[str, Any]) -> bool:
    """Records an event; whether it was recorded before."""
    said = _read(event)
    try:
        reply = await client.record(user, session_id, said, state_patch=patch)
        return len(reply.deduplicated_ids) == len(said)
    except AlreadyExists as error:
        if error.reason != "MESSAGE_ID_REUSED":
            raise
        for m in said:  # another event under the same id: both are kept
            m.id = ""
        await client.record(user, session_id, said, state_patch=patch)
        return False


def _read(event: Event) -> list[v1.Message]:
    role = v1.ROLE_USER if event.author == "user" else v1.ROLE_ASSISTANT
    parts = [_part(p) for p in (event.content.parts or () if event.content else ())]
    results = [p for p in parts if p.HasField("tool_result")]
    drafts = [v1.Message(role=v1.ROLE_TOOL, parts=results)] if results else []
    rest = [p for p in parts if not p.HasField("tool_result")]
    if rest or not results:
        drafts.append(v1.Message(role=role if rest or role == v1.ROLE_USER else v1.ROLE_ASSISTANT, parts=rest))
    for m in drafts:
        if role == v1.ROLE_ASSISTANT and messages.is_label(event.author) and m.role == role:
            m.name = event.author
        m.create_time.FromNanoseconds(max(0, int(event.timestamp * 1e9)))
    data = event.model_dump_json(exclude_none=True).encode()
    return messages.pack(drafts, EVENT, data, id=event.id if messages.is_label(event.id) else "")


def _part(p: types.Part) -> v1.Part:
    if p.text is not None and p.thought:
        return v1.Part(reasoning=v1.Reasoning(text=messages.clean(p.text)))
    if p.text:
        return messages.texts(p.text)[0]
    if p.function_call:
        return messages.call_part(p.function_call.id, p.function_call.name, to_jsonable_python(p.function_call.args or {}))
    if p.function_response:
        content = json.dumps(to_jsonable_python(p.function_response.response or {}), ensure_ascii=False)
        return messages.result_part(p.function_response.id, messages.texts(messages.clean(content)))
    found = None
    if p.inline_data and p.inline_data.data:
        found = messages.inline(p.inline_data.mime_type or "", base64.b64encode(p.inline_data.data).decode())
    elif p.file_data and p.file_data.file_uri:
        found = messages.at(p.file_data.file_uri)
    return found or messages.opaque("google.genai.part")


def _made(m: v1.Message) -> list[Event]:
    """The event of a message that another client recorded."""
    parts = [types.Part(text=messages.text_of(m))] if messages.text_of(m) else []
    parts += [
        types.Part(function_call=types.FunctionCall(id=p.tool_call.id, name=p.tool_call.name, args=messages.arguments_of(p.tool_call)))
        for p in m.parts
        if p.HasField("tool_call")
    ]
    role = "user" if m.role in (v1.ROLE_USER, v1.ROLE_TOOL) else "model"
    author = "user" if m.role == v1.ROLE_USER else m.name or "model"
    content = types.Content(role=role, parts=parts)
    return [Event(id=m.id, author=author, content=content, timestamp=m.create_time.ToNanoseconds() / 1e9)] if parts else []


async def _events(client: AsyncClient, user: str, session_id: str, config: GetSessionConfig) -> list[Event]:
    most, after = config.num_recent_events, config.after_timestamp
    if most == 0:
        return []
    newest_first: list[Event] = []
    page_size = min(most or 1000, 1000)
    async for m in client.messages(user, session_id, page_size=page_size, newest_first=True, include_original=True):
        for event in messages.unpack([m], EVENT, Event.model_validate_json, _made):
            if after is not None and event.timestamp < after:
                return newest_first[::-1]
            newest_first.append(event)
        if most is not None and len(newest_first) >= most:
            break
    return newest_first[:most][::-1]


# --- sessions and their state


async def _session(client: AsyncClient, user: str, session_id: str) -> v1.Session | None:
    try:
        return (await client.memory.GetSession(v1.GetSessionRequest(user_id=user, session_id=session_id))).session
    except NotFound:
        return None


def _found(s: v1.Session, app_name: str, user_id: str) -> Session:
    at = s.last_message_time if s.HasField("last_message_time") else s.update_time
    return Session(id=s.session_id, app_name=app_name, user_id=user_id, last_update_time=at.ToNanoseconds() / 1e9)


def _split(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The state of the app, of the user and of the session. What is temporary is none of them."""
    app = {k.removeprefix(State.APP_PREFIX): v for k, v in state.items() if k.startswith(State.APP_PREFIX)}
    user = {k.removeprefix(State.USER_PREFIX): v for k, v in state.items() if k.startswith(State.USER_PREFIX)}
    prefixes = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)
    return app, user, {k: v for k, v in state.items() if not k.startswith(prefixes)}


def _encoded(state: Mapping[str, Any]) -> dict[str, Any]:
    """State as a patch that gives it back: null would delete a key, a double holds no large number, and notes have a form of their
    own. What a struct holds as it is stands as it is, so that contexts can show it."""
    out: dict[str, Any] = {}
    for key, value in state.items():
        value = to_jsonable_python(value)
        name = f"${key}" if key != _MARK and (key.startswith("$") or key == "notes" or key.startswith("notes/")) else key
        out[name] = value if value is not None and _holds(value) else {"$json": json.dumps(value)}
    return out


def _holds(value: Any) -> bool:
    if isinstance(value, dict) and "$json" in value:
        return False
    held = struct_pb2.Value()
    try:
        json_format.ParseDict(value, held)
    except json_format.ParseError:
        return False
    return bool(_plain(held) == value)


def _plain(value: Any) -> Any:
    return _whole(json_format.MessageToDict(value))


def _whole(value: Any) -> Any:
    """Numbers without a fraction as the ints that they equal."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {k: _whole(v) for k, v in value.items()}
    return [_whole(v) for v in value] if isinstance(value, list) else value


def _decoded(state: struct_pb2.Struct) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in _plain(state).items():
        if key == _MARK:
            continue
        name = key.removeprefix("$") if key.startswith("$") else key
        out[name] = json.loads(value["$json"]) if isinstance(value, dict) and "$json" in value else value
    return out


async def _patch_user(client: AsyncClient, user: str, state: Mapping[str, Any]) -> None:
    if state:
        request = v1.UpdateUserRequest(user=v1.User(user_id=user))
        request.state_patch.update(_encoded(state))
        await client.users.UpdateUser(request)


async def _user_state(client: AsyncClient, user: str) -> dict[str, Any]:
    try:
        return _decoded((await client.users.GetUser(v1.GetUserRequest(user_id=user))).user.state)
    except NotFound:
        return {}


# --- memory


def _entry(id: str, text: str, author: str, at: Any) -> MemoryEntry:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    timestamp = at.ToDatetime(tzinfo=timezone.utc).isoformat() if at.seconds else None
    return MemoryEntry(id=id, content=content, author=author, timestamp=timestamp)


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return at if at.tzinfo else at.replace(tzinfo=timezone.utc)
