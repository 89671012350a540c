"""A conversation with all that a request can hold, for the tests of each provider's words."""

from __future__ import annotations

from typing import Any

from tests.sampling.samples import PNG, WAV, assistant, request, text, user

IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
SOUND = {"type": "audio", "data": WAV, "mimeType": "audio/x-wav"}
CALL = {"type": "tool_use", "id": "call_1", "name": "tempo", "input": {"clip": "c1"}}
RESULT = {"type": "tool_result", "toolUseId": "call_1", "content": [text("120 bpm")]}
TOOL = {"name": "tempo", "description": "How fast a clip is", "inputSchema": {"type": "object"}, "title": "Tempo"}


def with_tools(**changes: Any) -> dict[str, Any]:
    messages = [user("How fast is it?"), assistant([text("I look."), CALL]), user([RESULT])]
    return request(messages=messages, tools=[TOOL], toolChoice={"mode": "required"}, **changes)
