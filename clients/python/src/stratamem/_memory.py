"""What memory knows, as one text for agents that hold their own messages. Pure: the clients make the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stratamem import messages, v1
from stratamem._requests import made

# What the agent's own messages say is not recalled. Only their words count for that, and the latest matter most.
_BESIDE_MESSAGES = 50
_BESIDE_BYTES = 16 << 10
_QUERY_BYTES = 60 << 10

_CONTEXT = re.compile(r"<strata-context-([0-9a-f]{16})>\n(.*?)</strata-context-\1>", re.DOTALL)
_FENCED = re.compile(r"<(strata-(?:memory|state)-[0-9a-f]{16})>\n.*?</\1>", re.DOTALL)


def request(user_id: str, session_id: str, query: str, beside: Iterable[Any], summary: bool, **fields: Any) -> v1.BuildContextRequest:
    """Asks for all but the session's own messages."""
    pending = _words(messages.read_all(beside))
    off = [v1.SECTION_KIND_RECENT] if summary else [v1.SECTION_KIND_RECENT, v1.SECTION_KIND_SUMMARY]
    overrides = v1.ContextOverrides(sections=[v1.SectionSwitch(section=s, enabled=False) for s in off])
    given = fields.pop("overrides", None) or {}
    overrides.MergeFrom(made(v1.ContextOverrides, **given) if isinstance(given, Mapping) else given)
    return made(
        v1.BuildContextRequest,
        user_id=user_id,
        session_id=session_id,
        query=cut(query, _QUERY_BYTES),
        pending=pending,
        render=v1.RENDER_TEXT,
        overrides=overrides,
        **fields,
    )


def block(reply: v1.BuildContextResponse) -> str:
    """What stands within the fences of memory and state; "" where nothing is known. Content cannot close a fence, and what stands
    after the context, which are the agent's own messages, is none of it whatever it says."""
    context = _CONTEXT.match(reply.rendering)
    if context is None:
        return ""
    return "\n".join(m.group(0) for m in _FENCED.finditer(context.group(2)) if m.group(1).endswith(context.group(1)))


def is_ours(text: Any) -> bool:
    """Whether a text is a block that memory put into a prompt, and nothing else."""
    return isinstance(text, str) and text.startswith("<strata-") and not _FENCED.sub("", text).strip()


def cut(text: str, size: int) -> str:
    """The text up to so many bytes."""
    return text if len(text.encode("utf-8", "replace")) <= size else text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _words(said: list[v1.Message]) -> list[v1.Message]:
    """The latest messages by their words alone, without ids: they may be recorded already."""
    out: list[v1.Message] = []
    room = _BESIDE_BYTES
    for m in reversed(said[-_BESIDE_MESSAGES:]):
        text = messages.text_of(m)
        room -= len(text.encode())
        if room < 0:
            break
        if text and m.role in (v1.ROLE_USER, v1.ROLE_ASSISTANT) and not is_ours(text):
            out.append(v1.Message(role=m.role, name=m.name, text=text))
    return out[::-1]
