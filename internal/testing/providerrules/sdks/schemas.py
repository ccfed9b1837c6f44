"""Writes the JSON schemas of what the SDKs of OpenAI and Anthropic send, from their own request types.

    python schemas.py FOLDER

Each file names the SDK and its version. A field that the SDK does not know is refused: its provider refuses it too.
"""

import json
import pathlib
import sys
from importlib.metadata import version
from typing import get_type_hints

from anthropic.types.message_create_params import MessageCreateParamsBase
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from pydantic import TypeAdapter
from typing_extensions import TypedDict


def closed(node):
    """Returns the schema with every object refusing fields that it does not name."""
    if isinstance(node, dict):
        node = {key: closed(value) for key, value in node.items()}
        if node.get("type") == "object" and "properties" in node:
            node.setdefault("additionalProperties", False)
        return {key: value for key, value in node.items() if key not in ("title", "description") or not isinstance(value, str)}
    if isinstance(node, list):
        return [closed(value) for value in node]
    return node


def schema(sdk, params, fields):
    """Returns the schema of those fields of a request."""
    hints = get_type_hints(params, include_extras=True)
    body = TypedDict("Body", {field: hints[field] for field in fields}, total=False)
    out = closed(TypeAdapter(body).json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": f"{sdk} {version(sdk)}, {params.__name__}", **out}


def main(folder):
    for name, sdk, params, fields in (
        ("openai", "openai", CompletionCreateParamsBase, ["messages"]),
        ("responses", "openai", ResponseCreateParamsBase, ["input"]),
        ("anthropic", "anthropic", MessageCreateParamsBase, ["messages", "system"]),
    ):
        text = json.dumps(schema(sdk, params, fields), indent=1, sort_keys=True)
        pathlib.Path(folder, f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
