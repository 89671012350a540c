"""A request or an answer as plain text for whoever decides, and their words as a verdict. Pure.

The one rule: what is shown is cut, never left out: each message, the system prompt, the limits and the risks have their
line, and control characters, which could repaint a terminal, are shown as what they are.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from emceepee.sampling.approval import AnswerDialog, RequestDialog

_MOST_CHARACTERS = 2000
_SETTINGS = ("maxTokens", "temperature", "includeContext", "stopSequences", "modelPreferences", "toolChoice")


def request_words(dialog: RequestDialog) -> str:
    params = dialog.params
    lines = [f"The server '{dialog.server}' wants to ask a language model."]
    if params.get("systemPrompt"):
        lines.append(f"System prompt: {plain(params['systemPrompt'])}")
    lines += (f"{message['role']}: {said}" for message in params["messages"] for said in _blocks(message["content"]))
    lines += (f"{key}: {plain(str(params[key]))}" for key in _SETTINGS if params.get(key) is not None)
    if params.get("tools"):
        lines.append("tools: " + ", ".join(plain(tool["name"]) for tool in params["tools"]))
    if dialog.show_risks:
        lines += (f"Mind: {risk}." for risk in dialog.risks)
    return "\n".join(lines)


def answer_words(dialog: AnswerDialog) -> str:
    lines = [f"The model {plain(dialog.answer['model'])} answers the server '{dialog.server}':"]
    lines += _blocks(dialog.answer["content"])
    if dialog.answer.get("stopReason") not in (None, "endTurn"):
        lines.append(f"It stopped because of: {plain(dialog.answer['stopReason'])}")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Without what a terminal would obey, and not longer than can be read."""
    shown = "".join(char if char in "\n\t" or unicodedata.category(char)[0] != "C" else "�" for char in text)
    if len(shown) <= _MOST_CHARACTERS:
        return shown
    return f"{shown[:_MOST_CHARACTERS]}… ({len(shown) - _MOST_CHARACTERS} more characters)"


def _blocks(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else [content]:
        yield _block(block)


def _block(block: Mapping[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return plain(text)
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime_type)}:
            return f"[{kind}, {plain(mime_type)}, about {len(data) * 3 // 4} bytes]"
        case {"type": "tool_use", "name": str(name)}:
            return f"[use of the tool {plain(name)}]"
        case _:
            return f"[{plain(str(block.get('type')))}]"


def with_text(answer: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The answer with this text in place of its content."""
    return {**answer, "content": {"type": "text", "text": text}}


def with_last_text(params: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The request with this text as the last message's."""
    *before, last = params["messages"]
    return {**params, "messages": [*before, {**last, "content": {"type": "text", "text": text}}]}
