"""A sampling request in the words of the Anthropic Messages API, and its answer in ours. Pure: objects in, objects out.

The one rule: nothing but what MCP's request says is sent; `metadata` of a server never becomes an option of ours.
"""

from __future__ import annotations

from typing import Any

from emceepee.sampling.content import Json, written
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from emceepee.sampling.providers.mapping import as_content, blocks_of, cannot, count, result_text, standard_base64
from emceepee.sampling.providers.stops import cut, split
from emceepee.sampling.response import CONTENT_FILTER, END_TURN, MAX_TOKENS, STOP_SEQUENCE, TOOL_USE

_STOPPED = {
    "end_turn": END_TURN,
    "max_tokens": MAX_TOKENS,
    "model_context_window_exceeded": MAX_TOKENS,
    "stop_sequence": STOP_SEQUENCE,
    "tool_use": TOOL_USE,
    "refusal": CONTENT_FILTER,
}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def _takes(stop: str) -> bool:
    return bool(stop.strip())


def request_body(model: Model, params: Json) -> Json:
    """Raises `ProviderFailed` for what its wire does not have."""
    stops, _ = split(params.get("stopSequences"), _takes, 100)
    choice = params.get("toolChoice")
    known = {
        "model": model.name,
        "max_tokens": params["maxTokens"],
        "system": params.get("systemPrompt") or None,
        "messages": [_message(message) for message in params["messages"]],
        "temperature": params.get("temperature") if "temperature" not in model.lacks else None,
        "stop_sequences": stops or None,
        "tools": [_tool(tool) for tool in params.get("tools") or ()] or None,
        "tool_choice": {"type": _CHOICES[choice.get("mode") or "auto"]} if choice and params.get("tools") else None,
    }
    return written(known, {})


def _message(message: Json) -> Json:
    return {"role": message["role"], "content": [_block(block) for block in blocks_of(message["content"])]}


def _block(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "image":
            return _image(block)
        case "tool_use":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"]}
        case "tool_result":
            return _result(block)
        case kind:
            raise cannot(f"content of type {kind}")


def _image(block: Json) -> Json:
    source = {"type": "base64", "media_type": block["mimeType"], "data": standard_base64(block["data"])}
    return {"type": "image", "source": source}


def _result(block: Json) -> Json:
    parts = block.get("content") or ()
    if parts and all(part["type"] in ("text", "image") for part in parts):
        said = [_block(part) for part in parts if part.get("text") != ""]
    else:
        text = result_text(block)
        said = [{"type": "text", "text": text}] if text else []
    known = {"type": "tool_result", "tool_use_id": block["toolUseId"], "is_error": block.get("isError")}
    return written(known, {"content": said} if said else {})


def _tool(tool: Json) -> Json:
    known = {"name": tool["name"], "description": tool.get("description"), "input_schema": tool["inputSchema"]}
    return written(known, {})


def read_answer(given: Any, params: Json) -> ProviderAnswer:
    """Raises `ProviderFailed`."""
    match given:
        case {"type": "message", "content": [*blocks], "model": str(model)}:
            said = [read for block in blocks if (read := _read_block(block)) is not None]
        case _:
            raise ProviderFailed("malformed", "no message")
    stopped = given.get("stop_reason")
    answer: Json = {"role": "assistant", "content": as_content(said), "model": model}
    if isinstance(stopped, str):
        answer["stopReason"] = _STOPPED.get(stopped, stopped)
    _, ours = split(params.get("stopSequences"), _takes, 100)
    usage = given.get("usage")
    read_tokens = count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return ProviderAnswer(cut(answer, ours), read_tokens, count(usage, "output_tokens"))


def _read_block(block: Any) -> Json | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "tool_use", "id": str(name), "name": str(tool), "input": dict(given)}:
            return {"type": "tool_use", "id": name, "name": tool, "input": given}
        case {"type": "text" | "tool_use"}:
            raise ProviderFailed("malformed", "a block without its fields")
        case {"type": str()}:
            # What it thought on the way is its own.
            return None
    raise ProviderFailed("malformed", "a block of no type")
