"""A sampling request in the words of OpenAI's chat completions, which many others speak too, and its answer in ours.
Pure: objects in, objects out.

The one rule: as in `anthropic_words`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from emceepee.sampling.content import Json, written
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer, ProviderFailed
from emceepee.sampling.providers.mapping import as_content, blocks_of, cannot, count, result_text, standard_base64
from emceepee.sampling.providers.stops import cut, split
from emceepee.sampling.response import CONTENT_FILTER, END_TURN, MAX_TOKENS, STOP_SEQUENCE, TOOL_USE

_STOPPED = {
    "stop": END_TURN,
    "length": MAX_TOKENS,
    "tool_calls": TOOL_USE,
    "function_call": TOOL_USE,
    "content_filter": CONTENT_FILTER,
}
_MOST_STOPS = 4
_SOUNDS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def request_body(model: Model, params: Json, most_tokens: str = "max_tokens") -> Json:
    """`most_tokens` is how this server calls its limit. Raises `ProviderFailed` for what its wire does not have."""
    stops, _ = split(params.get("stopSequences"), bool, _MOST_STOPS)
    choice = params.get("toolChoice")
    known = {
        "model": model.name,
        most_tokens: params["maxTokens"],
        "messages": list(_messages(params)),
        "temperature": params.get("temperature") if "temperature" not in model.lacks else None,
        "stop": (stops or None) if "stop" not in model.lacks else None,
        "tools": [_tool(tool) for tool in params.get("tools") or ()] or None,
        "tool_choice": (choice.get("mode") or "auto") if choice and params.get("tools") else None,
    }
    return written(known, {})


def _messages(params: Json) -> Iterator[Json]:
    if params.get("systemPrompt"):
        yield {"role": "system", "content": params["systemPrompt"]}
    for message in params["messages"]:
        blocks = blocks_of(message["content"])
        if message["role"] == "assistant":
            yield _said(blocks)
        elif blocks[0]["type"] == "tool_result":
            yield from map(_result, blocks)
        else:
            yield {"role": "user", "content": _asked(blocks)}


def _asked(blocks: list[Json]) -> str | list[Json]:
    match blocks:
        case [{"type": "text", "text": str(text)}]:
            return text
    return [_part(block) for block in blocks]


def _part(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "image":
            url = f"data:{block['mimeType']};base64,{standard_base64(block['data'])}"
            return {"type": "image_url", "image_url": {"url": url}}
        case "audio":
            kind = block["mimeType"].lower().partition("/")[2].partition(";")[0]
            sound = {"data": standard_base64(block["data"]), "format": _SOUNDS.get(kind, kind)}
            return {"type": "input_audio", "input_audio": sound}
        case kind:
            raise cannot(f"content of type {kind}")


def _said(blocks: list[Json]) -> Json:
    texts, calls = [], []
    for block in blocks:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "tool_use":
                function = {"name": block["name"], "arguments": msgspec.json.encode(block["input"]).decode()}
                calls.append({"id": block["id"], "type": "function", "function": function})
            case kind:
                raise cannot(f"content of type {kind} said by the assistant")
    return written({"role": "assistant", "tool_calls": calls or None}, {"content": "".join(texts) or None})


def _result(block: Json) -> Json:
    text = result_text(block)
    return {
        "role": "tool",
        "tool_call_id": block["toolUseId"],
        "content": f"Error: {text}" if block.get("isError") else text,
    }


def _tool(tool: Json) -> Json:
    known = {"name": tool["name"], "description": tool.get("description"), "parameters": tool["inputSchema"]}
    return {"type": "function", "function": written(known, {})}


def read_answer(given: Any, model: Model, params: Json) -> ProviderAnswer:
    """Raises `ProviderFailed`."""
    match given:
        case {"choices": [{"message": dict(message)} as choice, *_]}:
            said = _read_message(message)
        case _:
            raise ProviderFailed("malformed", "no message")
    named = given.get("model")
    answer: Json = {
        "role": "assistant",
        "content": as_content(said),
        "model": named if isinstance(named, str) and named else model.name,
    }
    if stopped := _stopped(choice, message):
        answer["stopReason"] = stopped
    _, ours = split(params.get("stopSequences"), bool, 0 if "stop" in model.lacks else _MOST_STOPS)
    usage = given.get("usage")
    return ProviderAnswer(cut(answer, ours), count(usage, "prompt_tokens"), count(usage, "completion_tokens"))


def _stopped(choice: Json, message: Json) -> str | None:
    reason = choice.get("finish_reason")
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        return CONTENT_FILTER
    # vLLM says which sequence it was; the others call that a natural end.
    if reason == "stop" and isinstance(choice.get("stop_reason"), str):
        return STOP_SEQUENCE
    return _STOPPED.get(reason, reason) if isinstance(reason, str) else None


def _read_message(message: Json) -> list[Json]:
    text = message.get("content") or message.get("refusal") or ""
    calls = message.get("tool_calls") or []
    if not isinstance(text, str) or not isinstance(calls, list):
        raise ProviderFailed("malformed", "a message without its fields")
    said: list[Json] = [{"type": "text", "text": text}] if text or not calls else []
    return said + [_call(call) for call in calls]


def _call(call: Any) -> Json:
    match call:
        case {"id": str(name), "function": {"name": str(tool), "arguments": str(written_arguments)}}:
            try:
                given = msgspec.json.decode(written_arguments or "{}")
            except msgspec.DecodeError:
                given = None
            if isinstance(given, dict):
                return {"type": "tool_use", "id": name, "name": tool, "input": given}
    raise ProviderFailed("malformed", "a call of a tool that cannot be read")
