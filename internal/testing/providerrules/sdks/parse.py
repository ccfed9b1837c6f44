"""Gives renderings to the parsers of the two SDKs and of LangChain, as a client would.

Reads a JSON object for each line, {"name", "form": "openai", "responses" or "anthropic", "rendering": the rendering as a text}, and
writes one for each, {"name", "error": "" or what a parser said}. No request leaves the machine: both SDKs send to a
transport of this file, which looks at what they would have sent.
"""

import json
import sys
from typing import get_type_hints

import anthropic
import httpx
import httpx2
import openai
from anthropic.types.message_create_params import MessageCreateParamsBase
from langchain_anthropic.chat_models import _format_messages
from langchain_core.messages import convert_to_messages
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_openai.chat_models.base import _convert_message_to_dict
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from pydantic import TypeAdapter
from typing_extensions import TypedDict


def adapter(params, fields):
    hints = get_type_hints(params, include_extras=True)
    return TypeAdapter(TypedDict("Body", {field: hints[field] for field in fields}))


OPENAI = adapter(CompletionCreateParamsBase, ["messages"])
RESPONSES = adapter(ResponseCreateParamsBase, ["input"])
ANTHROPIC = adapter(MessageCreateParamsBase, ["messages"])


def exhausted(value):
    """Reads what pydantic looks at only when it is read."""
    if isinstance(value, dict):
        return {k: exhausted(v) for k, v in value.items()}
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return value
    return [exhausted(v) for v in value]


def sent_by(http, send, answer):
    """Returns the body that an SDK sends by its own HTTP library."""
    bodies = []

    def handle(request):
        bodies.append(json.loads(request.content))
        return http.Response(200, json=answer)

    send(http.Client(transport=http.MockTransport(handle)))
    return bodies[0]


def through_openai(body):
    exhausted(OPENAI.validate_python(body))
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
    sent = sent_by(httpx, lambda client: openai.OpenAI(api_key="x", base_url="http://x", http_client=client).chat.completions.create(model="m", **body), answer)
    assert sent["messages"] == body["messages"], "the SDK sends other messages than it was given"


def through_responses(body):
    exhausted(RESPONSES.validate_python(body))
    answer = {"id": "x", "object": "response", "created_at": 1, "model": "m", "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    sent = sent_by(httpx, lambda client: openai.OpenAI(api_key="x", base_url="http://x", http_client=client).responses.create(model="m", **body), answer)
    assert sent["input"] == body["input"], "the SDK sends other items than it was given"


def through_anthropic(body):
    exhausted(ANTHROPIC.validate_python({"messages": body["messages"]}))
    answer = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    sent = sent_by(httpx2, lambda client: anthropic.Anthropic(api_key="x", base_url="http://x", http_client=client).messages.create(model="m", max_tokens=1, **body), answer)
    assert sent["messages"] == body["messages"], "the SDK sends other messages than it was given"


def through_langchain(body):
    messages = convert_to_messages(body["messages"])
    assert len(messages) == len(body["messages"]), "LangChain made more or fewer messages"
    again = [_convert_message_to_dict(m) for m in messages]
    for before, after in zip(body["messages"], again):
        for key in ("role", "tool_call_id"):
            assert before.get(key) == after.get(key), f"LangChain changes {key}"
        calls = lambda m: [(c["id"], c["function"]["name"]) for c in m.get("tool_calls") or []]
        assert calls(before) == calls(after), "LangChain loses tool calls"
    convert_to_openai_messages(messages)


def langchain_anthropic(body):
    messages = convert_to_messages(([{"role": "system", "content": body["system"]}] if "system" in body else []) + body["messages"])
    _format_messages(messages, model="claude-sonnet-4-5")


PARSERS = {"openai": (through_openai, through_langchain), "responses": (through_responses,), "anthropic": (through_anthropic, langchain_anthropic)}


def main():
    for line in sys.stdin:
        case, error = json.loads(line), ""
        try:
            body = json.loads(case["rendering"])
            for parse in PARSERS[case["form"]]:
                parse(body)
        except Exception as e:  # whatever a parser says is the result
            error = f"{type(e).__name__}: {e}"
        print(json.dumps({"name": case["name"], "error": error}), flush=True)


if __name__ == "__main__":
    main()
