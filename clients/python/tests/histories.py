"""Generated histories of providers: what models and SDKs send, well formed and not. Equal seeds give equal histories."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from typing import Any

from stratamem import messages

_WORDS = [
    "plan",
    "Porto",
    "김치",
    "naïve",
    "x" * 300,
    'a "quoted" word',
    "line\nline",
    "\u2028",
    "🙂🏽",
    "</strata-memory>",
    "tab\t",
    "half \ud83d",
]
_ARGUMENTS = [
    '{"city": "Porto"}', '{"b":1,"a":2}', '{"n": 1e400}', '{"city": "Por', "", "null", "[1,2]", '{"id": 12345678901234567890}', "not json at all", '{"a":{"b":[null,true,1.0]}}',
]  # fmt: skip
_PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()


class Draw:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._ids = 0

    def id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}_{self._ids}"

    def text(self) -> str:
        return " ".join(self.random.choices(_WORDS, k=self.random.randint(1, 6)))

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def value(self) -> Any:
        return self.one(None, True, 0, -1, 1.5, 12345678901234567890, "", self.text(), [], {}, [1, {"a": None}], {"z": 1, "a": [2]})


def chat(d: Draw) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": d.one("system", "developer"), "content": d.text()}]
    for _ in range(d.random.randint(1, 4)):
        image = {
            "type": "image_url",
            "image_url": {
                "url": d.one(f"data:image/png;base64,{_PIXEL}", "https://example.org/a.png"),
                "detail": d.one("low", "high", "auto"),
            },
        }
        audio = {"type": "input_audio", "input_audio": {"data": _PIXEL, "format": "wav"}}
        file = {"type": "file", "file": {"file_id": "file-1"}}
        out.append(
            {
                "role": "user",
                "content": d.one(d.text(), "", [{"type": "text", "text": d.text()}, image], [image], [audio], [file]),
                **d.one({}, {"name": "Ada"}),
            }
        )
        calls = [
            {"id": d.id("call"), "type": "function", "function": {"name": d.one("search", "get_weather"), "arguments": d.one(*_ARGUMENTS)}}
            for _ in range(d.random.choice([0, 1, 3, 10]))
        ]
        if calls:
            out.append(
                {
                    "role": "assistant",
                    "content": d.one(None, d.text()),
                    "tool_calls": calls,
                    **d.one({}, {"refusal": None}, {"reasoning_content": d.text()}),
                }
            )
            out += [
                {"role": "tool", "tool_call_id": c["id"], "content": d.one(d.text(), "", [{"type": "text", "text": d.text()}])}
                for c in calls
            ]
        custom = [{"id": d.id("call"), "type": "custom", "custom": {"name": "shell", "input": d.text()}}]
        final = {
            "role": "assistant",
            "content": d.one(d.text(), "", None),
            **d.one(
                {},
                {"refusal": d.text()},
                {"annotations": []},
                {"audio": {"id": "a1"}},
                {"function_call": {"name": "old", "arguments": "{"}},
            ),
        }
        out.append(d.one(final, {"role": "assistant", "content": None, "tool_calls": custom}, {**final, "vendor_field": d.value()}))
    return out


def responses(d: Draw) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for _ in range(d.random.randint(1, 4)):
        image = {
            "type": "input_image",
            "image_url": d.one(f"data:image/png;base64,{_PIXEL}", "https://example.org/a.png"),
            "detail": "auto",
        }
        image_file = {"type": "input_image", "file_id": "file-1", "detail": "low"}
        out.append(
            {
                "role": "user",
                "content": d.one(
                    d.text(), "", [{"type": "input_text", "text": d.text()}, image], [image_file], [{"type": "input_file", "file_id": "f"}]
                ),
            }
        )
        out.append(
            {
                "type": "reasoning",
                "id": d.id("rs"),
                "summary": d.one([], [{"type": "summary_text", "text": d.text()}]),
                "encrypted_content": d.one(None, "gAAAA-not base64!", _PIXEL),
            }
        )
        calls = [
            {
                "type": "function_call",
                "id": d.one(d.id("fc"), "__fake_id__"),
                "call_id": d.id("call"),
                "name": "search",
                "arguments": d.one(*_ARGUMENTS),
                "status": "completed",
            }
            for _ in range(d.random.choice([0, 1, 5]))
        ]
        out += calls
        out += [
            {
                "type": "function_call_output",
                "call_id": c["call_id"],
                "output": d.one(d.text(), "", [{"type": "input_text", "text": d.text()}, image]),
            }
            for c in calls
        ]
        shell = d.id("call")
        out += d.one(
            [],
            [{"type": "compaction", "id": d.id("cmp"), "encrypted_content": _PIXEL}],
            [{"type": "item_reference", "id": "msg_1"}],
            [{"type": "web_search_call", "id": d.id("ws"), "status": "completed", "action": {"type": "search", "query": d.text()}}],
            [{"type": "mcp_list_tools", "id": d.id("mcp"), "server_label": "s", "tools": [{"name": "t", "input_schema": d.value()}]}],
            [{"type": "custom_tool_call", "call_id": shell, "name": "grep", "input": d.text()}, {"type": "custom_tool_call_output", "call_id": shell, "output": d.text()}],
            [{"type": "computer_call", "id": "cu", "call_id": shell, "action": {"type": "click", "x": 1, "y": 2}, "pending_safety_checks": [], "status": "completed"},
             {"type": "computer_call_output", "call_id": shell, "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{_PIXEL}"}}],
            [{"type": "type_of_next_year", "payload": d.value()}],
        )  # fmt: skip
        text = {"type": "output_text", "text": d.one(d.text(), ""), "annotations": [], "logprobs": []}
        out.append(
            {
                "type": "message",
                "id": d.id("msg"),
                "role": "assistant",
                "status": "completed",
                "content": d.one([text], [text, text], [{"type": "refusal", "refusal": d.text()}], []),
            }
        )
    return out


def anthropic(d: Draw) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for _ in range(d.random.randint(1, 4)):
        image = {
            "type": "image",
            "source": d.one(
                {"type": "base64", "media_type": "image/png", "data": _PIXEL},
                {"type": "url", "url": "https://example.org/a.png"},
                {"type": "file", "file_id": "f"},
            ),
        }
        document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": d.text()}, "title": d.text()}
        out.append(
            {
                "role": "user",
                "content": d.one(d.text(), [{"type": "text", "text": d.text(), "cache_control": {"type": "ephemeral"}}, image], [document]),
            }
        )
        thinking = d.one({"type": "thinking", "thinking": d.text(), "signature": _PIXEL}, {"type": "redacted_thinking", "data": _PIXEL})
        uses = [
            {
                "type": "tool_use",
                "id": d.id("toolu"),
                "name": "search",
                "input": d.one({}, {"q": d.text()}, {"n": 12345678901234567890, "f": 1.0}),
            }
            for _ in range(d.random.choice([0, 1, 4]))
        ]
        out.append({"role": "assistant", "content": [thinking, {"type": "text", "text": d.text()}, *uses]})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": u["id"],
                "content": d.one(d.text(), [{"type": "text", "text": d.text()}, image], []),
                "is_error": d.one(True, False),
            }
            for u in uses
        ]
        if results:
            out.append({"role": "user", "content": results + d.one([], [{"type": "text", "text": d.text()}])})
            out.append(
                {
                    "role": "assistant",
                    "content": d.one(
                        d.text(),
                        [
                            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                        ],
                    ),
                }
            )
    return out


def langchain(d: Draw) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []

    def add(kind: str, **data: Any) -> None:
        base = {"content": "", "additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, "id": d.one(None, d.id("run"))}
        out.append({"type": kind, "data": {**base, **data}})

    add("system", content=d.text())
    for _ in range(d.random.randint(1, 4)):
        image = d.one(
            {"type": "image", "base64": _PIXEL, "mime_type": "image/png"},
            {"type": "image", "url": "https://example.org/a.png"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        )
        add("human", content=d.one(d.text(), [{"type": "text", "text": d.text()}, image], [d.text(), image]), name=d.one(None, "Ada"))
        calls = [
            {"name": "search", "args": {"q": d.text(), "v": d.value()}, "id": d.id("call"), "type": "tool_call"}
            for _ in range(d.random.choice([0, 1, 10]))
        ]
        broken = (
            [{"name": "search", "args": '{"q": ', "id": d.id("call"), "error": d.one(None, "no JSON"), "type": "invalid_tool_call"}]
            if d.one(True, False)
            else []
        )
        usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        add(
            "ai",
            content=d.one(d.text(), "", [{"type": "reasoning", "reasoning": d.text()}, {"type": "text", "text": d.text()}]),
            tool_calls=calls,
            invalid_tool_calls=broken,
            usage_metadata=usage,
        )
        for c in calls:
            add(
                "tool",
                content=d.one(d.text(), "", [{"type": "text", "text": d.text()}]),
                tool_call_id=c["id"],
                artifact=d.value(),
                status=d.one("success", "error"),
            )
        add("ai", content=d.text(), tool_calls=[], invalid_tool_calls=[], additional_kwargs={"x": d.value()})
    return out


KINDS: dict[str, Callable[[Draw], list[dict[str, Any]]]] = {
    messages.OPENAI_CHAT: chat,
    messages.OPENAI_RESPONSES: responses,
    messages.ANTHROPIC: anthropic,
    messages.LANGCHAIN: langchain,
}
