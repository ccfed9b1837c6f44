"""Messages of providers in and out: OpenAI's chat completions and Responses, Anthropic's messages, and LangChain's.

What a provider's item says becomes the parts of a Message, by which the service finds, counts and summarises it; the item itself
stands beside them as its original, and is what comes back: equal JSON. An item that the service has from elsewhere, without an
original, comes back made of its parts.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from stratamem import v1

OPENAI_CHAT = "openai.chat/v1"  #: messages of OpenAI's chat completions, and of what is compatible with them
OPENAI_RESPONSES = "openai.responses/v1"  #: items of OpenAI's Responses, as the OpenAI Agents SDK has them
ANTHROPIC = "anthropic.messages/v1"  #: messages of Anthropic
LANGCHAIN = "langchain.messages/v1"  #: what message_to_dict of LangChain returns

# A provider's message that became two has its original at the first; the second says so by this format.
_CONTINUED = "continued/v1"

_MESSAGE_BYTES = (1 << 20) - 4096  # the limit of a message, less what the service adds
_LABEL_BYTES = 255

_T = TypeVar("_T")

_ROLES = {
    "system": v1.ROLE_SYSTEM,
    "developer": v1.ROLE_DEVELOPER,
    "user": v1.ROLE_USER,
    "human": v1.ROLE_USER,
    "assistant": v1.ROLE_ASSISTANT,
    "ai": v1.ROLE_ASSISTANT,
    "AIMessageChunk": v1.ROLE_ASSISTANT,
    "model": v1.ROLE_ASSISTANT,
    "tool": v1.ROLE_TOOL,
    "function": v1.ROLE_TOOL,
}
_ROLE_NAMES = {
    v1.ROLE_SYSTEM: "system",
    v1.ROLE_DEVELOPER: "developer",
    v1.ROLE_USER: "user",
    v1.ROLE_ASSISTANT: "assistant",
    v1.ROLE_TOOL: "tool",
}


def read(item: Any, format: str = "", *, id: str = "", origin: v1.Origin | int = 0) -> list[v1.Message]:
    """The messages of one item of a provider: one as a rule, two where a message of Anthropic's holds results of tools beside
    what a person says. An item is a mapping, or an object of the provider's SDK. Without a format it is known by its fields.
    A v1.Message is returned as it is."""
    if isinstance(item, v1.Message):
        return [item]
    item = plain(item)
    format = format or format_of(item)
    speaks = "role" in item or ("type" not in item and ("content" in item or "text" in item))
    if format == OPENAI_CHAT and speaks and str(item.get("role")) not in _ROLES:
        raise ValueError("role: it must be one of user, assistant, system, developer and tool")  # a misspelt user's would teach nothing
    if format == OPENAI_CHAT and item.get("role") in ("user", "system", "developer") and "content" not in item and "text" not in item:
        raise ValueError(f"content: what {item['role']} says must be in it; the message has only {', '.join(map(str, item))}")
    body = {**item["data"], "type": item["type"]} if format == LANGCHAIN and "data" in item else item
    drafts = _read_item(body) if _is_item(body, format) else _read_message(body)
    data = json.dumps(item, separators=(",", ":"), default=_json).encode()
    return pack(drafts, format, data, id=id, origin=origin)


def pack(drafts: list[v1.Message], format: str, data: bytes, *, id: str = "", origin: v1.Origin | int = 0) -> list[v1.Message]:
    """Makes one item's messages whole: the first has the original, and each says something. For adapters of formats of their own,
    which have read an item into messages with role, name and parts."""
    for n, m in enumerate(drafts):
        m.original.format, m.original.data = (_CONTINUED, b"") if n else (format, data)
        m.origin = origin  # type: ignore[assignment]
        if id:
            m.id = f"{id}:{n}" if n else id
        if not m.parts and m.role != v1.ROLE_ASSISTANT:
            m.parts.append(opaque("empty"))  # the service wants something to be said
        _fit(m)
    return drafts


def read_all(items: Iterable[Any], format: str = "") -> list[v1.Message]:
    """The messages of a provider's list."""
    if isinstance(items, str | Mapping | v1.Message):
        raise TypeError(f"messages are a list, also of a single one, and not {type(items).__name__}")
    return [m for item in items for m in read(item, format)]


def write(messages: Iterable[v1.Message], format: str) -> list[dict[str, Any]]:
    """The provider's items of messages: the original where it is of this format, else one that is made of the parts. What no
    item can be made of is left out."""
    return list(unpack(messages, format, json.loads, _WRITERS[format]))


def unpack(
    messages: Iterable[v1.Message], format: str, load: Callable[[bytes], _T], make: Callable[[v1.Message], list[_T]]
) -> Iterator[_T]:
    """The items of messages: what load makes of an original of the format, and make of a message that has none."""
    for m in messages:
        if m.original.format == format:
            yield load(m.original.data)
        elif m.original.format != _CONTINUED:
            yield from make(m)


def plain(item: Any) -> dict[str, Any]:
    """The item as a mapping: objects of pydantic, as SDKs have them, by what was set in them."""
    if isinstance(item, Mapping):
        return dict(item)
    if hasattr(item, "model_dump"):
        dumped: dict[str, Any] = item.model_dump(mode="json", exclude_unset=True)
        return dumped
    raise TypeError(f"a message must be a mapping, an object of an SDK or a stratamem.v1.Message, and not {type(item).__name__}")


def format_of(item: Mapping[str, Any]) -> str:
    """The format that the fields of an item speak for."""
    if isinstance(item.get("data"), Mapping) and "type" in item:
        return LANGCHAIN
    kind = item.get("type")
    if (kind and "role" not in item) or kind == "message":
        return OPENAI_RESPONSES
    kinds = {b.get("type") for b in _blocks(item.get("content")) if isinstance(b, Mapping)}
    if kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}:
        return ANTHROPIC
    if kinds & {"input_text", "output_text", "input_image", "input_file"}:
        return OPENAI_RESPONSES
    return OPENAI_CHAT


def rendered(context: v1.BuildContextResponse) -> list[dict[str, Any]]:
    """The messages of a context that was rendered for OpenAI or Anthropic, or the items for OpenAI's Responses."""
    body: dict[str, list[dict[str, Any]]] = json.loads(context.rendering) if context.rendering else {}
    return body.get("input") or body.get("messages") or []


def _is_item(body: Mapping[str, Any], format: str) -> bool:
    return format == OPENAI_RESPONSES and body.get("type", "message") != "message"


# --- in ---------------------------------------------------------------------------------------------------------------------


def _read_message(body: Mapping[str, Any]) -> list[v1.Message]:
    said = body.get("role") or body.get("type") or ""
    role = _ROLES.get(str(said), v1.ROLE_ASSISTANT)
    m = v1.Message(role=role)
    name = body.get("name") if said in _ROLES else said
    if isinstance(name, str) and is_label(name) and role != v1.ROLE_TOOL:
        m.name = name
    for key in ("reasoning_content", "reasoning"):
        if isinstance(body.get(key), str) and body[key]:
            m.parts.append(v1.Part(reasoning=v1.Reasoning(text=clean(body[key]))))
            break
    m.parts.extend(_parts(body.get("content", body.get("text"))))  # text is the service's own short form
    m.parts.extend(texts(body.get("refusal")))
    if body.get("function_call"):  # OpenAI's older form, which has no id that a result could name
        m.parts.append(opaque("openai.function_call"))
    known = {p.tool_call.id for p in m.parts if p.HasField("tool_call")}
    for call in [*(body.get("tool_calls") or ()), *(body.get("invalid_tool_calls") or ())]:
        if call.get("id") not in known:  # LangChain names the calls of Anthropic twice
            m.parts.append(chat_call(call))
    if role == v1.ROLE_TOOL:
        _answer(m, body)
    return _apart(m)


def _answer(m: v1.Message, body: Mapping[str, Any]) -> None:
    """Makes a tool's message of what it says: a result of its call."""
    call_id = body.get("tool_call_id")
    if not is_label(call_id):
        if not m.parts:
            m.parts.append(opaque("tool"))
        return  # the older form, without an id
    parts = result_parts(m.parts)
    del m.parts[:]
    m.parts.append(v1.Part(tool_result=v1.ToolResult(call_id=call_id, parts=parts, is_error=body.get("status") == "error")))


def _apart(m: v1.Message) -> list[v1.Message]:
    """Puts the results of tools in a user's message into a message of the tool, before what the person says."""
    results = [p for p in m.parts if p.HasField("tool_result")]
    if m.role != v1.ROLE_USER or not results:
        return [m]
    rest = [p for p in m.parts if not p.HasField("tool_result")]
    tool = v1.Message(role=v1.ROLE_TOOL, parts=results)
    return [tool, v1.Message(role=m.role, name=m.name, parts=rest)] if rest else [tool]


def chat_call(call: Mapping[str, Any]) -> v1.Part:
    """The part of a call as OpenAI or LangChain writes it."""
    inner = _mapping(call.get("function")) or _mapping(call.get("custom")) or call
    arguments = next((inner[k] for k in ("arguments", "input", "args") if inner.get(k) is not None), "")
    return call_part(call.get("id"), inner.get("name"), arguments)


def result_part(call_id: Any, content: Iterable[v1.Part], *, failed: bool = False) -> v1.Part:
    """The part of a call's result."""
    if not is_label(call_id):
        return opaque("tool_result")
    return v1.Part(tool_result=v1.ToolResult(call_id=call_id, parts=result_parts(content), is_error=failed))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def call_part(id: Any, name: Any, arguments: Any) -> v1.Part:
    """The part of a call, whose arguments are the model's own text or a value."""
    if not is_label(id) or not is_label(name):
        return opaque("tool_call")  # nothing could name it
    words = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=_json)
    return v1.Part(tool_call=v1.ToolCall(id=id, name=name, arguments=clean(words)))


def _read_item(item: Mapping[str, Any]) -> list[v1.Message]:
    """Reads what stands beside messages among the items of OpenAI's Responses."""
    kind = str(item.get("type"))
    call_id = item.get("call_id") or item.get("id")
    if kind == "reasoning":
        return [v1.Message(role=v1.ROLE_ASSISTANT, parts=[_reasoning_item(item)])]
    if kind.endswith("_call_output") and is_label(call_id):
        parts = result_parts(_parts(item.get("output")))
        return [v1.Message(role=v1.ROLE_TOOL, parts=[v1.Part(tool_result=v1.ToolResult(call_id=call_id, parts=parts))])]
    if kind.endswith("_call") and item.get("call_id"):  # those without one answer themselves, as a search in the web
        arguments = next((item[k] for k in ("arguments", "input", "action", "operation") if item.get(k) is not None), "")
        return [v1.Message(role=v1.ROLE_ASSISTANT, parts=[call_part(call_id, item.get("name") or kind.removesuffix("_call"), arguments)])]
    return [v1.Message(role=v1.ROLE_ASSISTANT, parts=[opaque(f"openai.{kind}")])]


def _reasoning_item(item: Mapping[str, Any]) -> v1.Part:
    said = [str(s.get("text", "")) for key in ("summary", "content") for s in item.get(key) or ()]
    hidden = item.get("encrypted_content") or ""
    return v1.Part(reasoning=v1.Reasoning(text=clean("\n\n".join(said)), encrypted=_bytes(hidden)))


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _parts(content: Any) -> list[v1.Part]:
    return [p for block in _blocks(content) for p in _block(block)]


def texts(text: Any) -> list[v1.Part]:
    """The part of a text; none of an empty one."""
    return [v1.Part(text=v1.Text(text=clean(text)))] if isinstance(text, str) and text else []


def _block(block: Any) -> list[v1.Part]:
    """The parts of one piece of a content; none where it is empty. A kind that has no form of its own is kept as it is."""
    if isinstance(block, str):
        return texts(block)
    if not isinstance(block, Mapping):
        return [opaque("content", dumped(block))]
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text", "summary_text", "text-plain"):
        return texts(block.get("text"))
    if kind == "refusal":
        return texts(block.get("refusal"))
    if kind in ("thinking", "reasoning"):
        text = block.get("thinking") or block.get("reasoning") or ""
        if isinstance(text, str):
            return [v1.Part(reasoning=v1.Reasoning(text=clean(text), signature=clean(str(block.get("signature") or ""))))]
    if kind == "redacted_thinking":
        return [v1.Part(reasoning=v1.Reasoning(encrypted=str(block.get("data", "")).encode()))]
    if kind in ("tool_use", "tool_call"):
        return [call_part(block.get("id"), block.get("name"), block.get("input", block.get("args", {})))]
    if kind == "tool_result" and is_label(block.get("tool_use_id")):
        parts = result_parts(_parts(block.get("content")))
        result = v1.ToolResult(call_id=block["tool_use_id"], parts=parts, is_error=bool(block.get("is_error")))
        return [v1.Part(tool_result=result)]
    if kind in ("image_url", "input_image", "image", "document", "computer_screenshot"):
        found = _located(block)
        if found is not None:
            return [found]
    return [opaque(str(kind or "content"), dumped(block))]


def _located(block: Mapping[str, Any]) -> v1.Part | None:
    """An image or a document, inline or at an address; None for one in a provider's own file."""
    source = block.get("source")
    if isinstance(source, Mapping):  # Anthropic's
        if source.get("type") == "text":
            return next(iter(texts(source.get("data"))), None)
        if source.get("type") == "url":
            return at(str(source.get("url", "")), None)
        return inline(str(source.get("media_type", "")), source.get("data"))
    if isinstance(block.get("base64"), str):  # LangChain's
        return inline(str(block.get("mime_type", "")), block["base64"])
    where = block.get("image_url", block.get("url"))
    detail = _mapping(where).get("detail", block.get("detail"))
    where = _mapping(where).get("url", where)
    if not isinstance(where, str):
        return None
    size = {"low": v1.IMAGE_DETAIL_LOW, "high": v1.IMAGE_DETAIL_HIGH}.get(str(detail))
    return at(where, v1.ImageSize(detail=size) if size else None)


def at(url: str, image: v1.ImageSize | None = None) -> v1.Part | None:
    """The part of what lies at an address, or in a data URL; None where it is neither."""
    if url.startswith("data:"):  # RFC 2397
        head, _, body = url[len("data:") :].partition(",")
        return inline(head.removesuffix(";base64"), body, image) if head.endswith(";base64") else None
    if not url or len(url.encode("utf-8", "replace")) > 8192 or not url.isprintable():
        return None
    return v1.Part(uri=v1.Uri(uri=url, image=image))


def inline(mime: str, data: Any, image: v1.ImageSize | None = None) -> v1.Part | None:
    """The part of bytes in base64; None where they are not, or have no media type."""
    try:
        raw = base64.b64decode(str(data or ""), validate=True)
    except (binascii.Error, ValueError):
        return None
    return v1.Part(blob=v1.Blob(mime_type=mime, data=raw, image=image)) if raw and is_label(mime) else None


def result_parts(parts: Iterable[v1.Part]) -> list[v1.Part]:
    """What a result can hold: calls, results and reasoning within it are kept as they are in the original alone."""
    kinds = ("tool_call", "tool_result", "reasoning")
    return [opaque(kind) if (kind := str(p.WhichOneof("kind"))) in kinds else p for p in parts]


def opaque(kind: str, item: str = "") -> v1.Part:
    """The part of what has no form of its own here. The original holds it whole; item is what of it has to stand in the part too."""
    return v1.Part(opaque=v1.Opaque(type=kind if is_label(kind) else "content", json=item))


def _fit(m: v1.Message) -> None:
    """Leaves bytes of images to the original where both are more than a message may hold."""
    if m.ByteSize() <= _MESSAGE_BYTES:
        return
    for p in [*m.parts, *(inner for outer in m.parts for inner in outer.tool_result.parts)]:
        if p.HasField("blob"):
            p.opaque.type, p.opaque.json = p.blob.mime_type, ""


def is_label(s: Any) -> bool:
    """Whether the service takes this as an id or a name."""
    if not isinstance(s, str) or not s or not s.isprintable():
        return False
    try:
        return len(s.encode()) <= _LABEL_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def clean(s: str) -> str:
    """The text as UTF-8 can have it: half of a surrogate pair, as cut JSON leaves it, becomes a question mark."""
    return s.encode("utf-8", "replace").decode()


def _bytes(s: str) -> bytes:
    try:
        return base64.b64decode(s, validate=True)
    except (binascii.Error, ValueError):
        return s.encode("utf-8", "replace")


def dumped(value: Any) -> str:
    """The value as JSON, what JSON has no form for as pydantic or as text writes it."""
    return json.dumps(value, separators=(",", ":"), default=_json)


def _json(value: Any) -> Any:
    """What JSON has no form for, such as an artifact of a tool: as pydantic writes it, else as text."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


# --- out --------------------------------------------------------------------------------------------------------------------


def text_of(m: v1.Message) -> str:
    """What the message says in words."""
    return m.text or "\n\n".join(p.text.text for p in m.parts if p.HasField("text"))


def arguments_of(call: v1.ToolCall) -> Any:
    """The arguments of a call as an object; an empty one where they are none."""
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def result_text(r: v1.ToolResult) -> str:
    """What a result says in words."""
    return "\n\n".join(p.text.text for p in r.parts if p.HasField("text"))


def url_of(p: v1.Part) -> str:
    """The address of an image, or a data URL of its bytes."""
    if p.HasField("uri"):
        return p.uri.uri
    return f"data:{p.blob.mime_type};base64,{base64.b64encode(p.blob.data).decode()}"


def is_image(p: v1.Part) -> bool:
    """Whether the part may be shown as an image."""
    return (p.HasField("blob") and p.blob.mime_type.startswith("image/")) or (
        p.HasField("uri") and not p.uri.mime_type.startswith("application/")
    )


def _calls(m: v1.Message) -> list[v1.ToolCall]:
    return [p.tool_call for p in m.parts if p.HasField("tool_call")]


def _results(m: v1.Message) -> list[v1.ToolResult]:
    return [p.tool_result for p in m.parts if p.HasField("tool_result")]


def _chat(m: v1.Message) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": "tool", "tool_call_id": r.call_id, "content": result_text(r)} for r in _results(m)]
    content: Any = text_of(m)
    images = [p for p in m.parts if is_image(p)] if m.role == v1.ROLE_USER else []
    if images:
        content = [{"type": "text", "text": content}] if content else []
        content += [{"type": "image_url", "image_url": {"url": url_of(p)}} for p in images]
    calls = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in _calls(m)]
    if content or calls:
        item: dict[str, Any] = {"role": _ROLE_NAMES.get(m.role, "user"), "content": content or None}
        if calls:
            item["tool_calls"] = calls
        if m.name:
            item["name"] = m.name
        out.append(item)
    return out


def _responses(m: v1.Message) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"type": "function_call_output", "call_id": r.call_id, "output": result_text(r)} for r in _results(m)]
    content: Any = text_of(m)
    images = [p for p in m.parts if is_image(p)] if m.role == v1.ROLE_USER else []
    if images:
        content = [{"type": "input_text", "text": content}] if content else []
        content += [{"type": "input_image", "image_url": url_of(p), "detail": "auto"} for p in images]
    if content:
        out.append({"role": _ROLE_NAMES.get(m.role, "user") if m.role != v1.ROLE_TOOL else "user", "content": content})
    out += [{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments} for c in _calls(m)]
    return out


def _anthropic(m: v1.Message) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for p in m.parts or [v1.Part(text=v1.Text(text=m.text))]:
        if p.HasField("text"):
            content.append({"type": "text", "text": p.text.text})
        elif p.HasField("reasoning") and p.reasoning.signature:
            content.append({"type": "thinking", "thinking": p.reasoning.text, "signature": p.reasoning.signature})
        elif p.HasField("tool_call"):
            content.append({"type": "tool_use", "id": p.tool_call.id, "name": p.tool_call.name, "input": arguments_of(p.tool_call)})
        elif p.HasField("tool_result"):
            r = p.tool_result
            content.append({"type": "tool_result", "tool_use_id": r.call_id, "content": result_text(r), "is_error": r.is_error})
        elif is_image(p):
            source = {"type": "url", "url": p.uri.uri}
            if p.HasField("blob"):
                source = {"type": "base64", "media_type": p.blob.mime_type, "data": base64.b64encode(p.blob.data).decode()}
            content.append({"type": "image", "source": source})
    return [{"role": "assistant" if m.role == v1.ROLE_ASSISTANT else "user", "content": content}] if content else []


def _langchain(m: v1.Message) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for r in _results(m):
        status = "error" if r.is_error else "success"
        out.append({"type": "tool", "data": {"type": "tool", "tool_call_id": r.call_id, "content": result_text(r), "status": status}})
    chat = [item for item in _chat(m) if item["role"] != "tool"]
    kinds = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}
    for item in chat:
        data: dict[str, Any] = {"type": kinds[item["role"]], "content": item["content"] or ""}
        if m.id:
            data["id"] = m.id
        if m.name:
            data["name"] = m.name
        if _calls(m):
            data["tool_calls"] = [{"name": c.name, "args": arguments_of(c), "id": c.id, "type": "tool_call"} for c in _calls(m)]
        out.append({"type": data["type"], "data": data})
    return out


_WRITERS = {OPENAI_CHAT: _chat, OPENAI_RESPONSES: _responses, ANTHROPIC: _anthropic, LANGCHAIN: _langchain}
