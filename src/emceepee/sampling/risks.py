"""What somebody who approves a request should look at twice, as sentences. Pure.

It judges form, not meaning: who reads the sentences decides. The one rule: each risk is said in words that a person who
does not know the protocol understands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from emceepee.sampling.model import needs_of

_MANY_TOKENS = 4000
_LONG_TEXT = 20_000
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:sk|pk|ghp|gho|xox[bp])[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\b(?:password|passwd|api[_-]?key|secret|token)\s*[:=]\s*\S{6,}",
    re.IGNORECASE,
)
_OVERRIDE = re.compile(
    r"(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+)?(?:previous|prior|above|your)", re.IGNORECASE
)


def risks_of(params: Mapping[str, Any]) -> tuple[str, ...]:
    """Of params that `validation` has passed."""
    return tuple(_risks(params))


def _risks(params: Mapping[str, Any]) -> Iterator[str]:
    texts = list(_texts(params))
    if params.get("systemPrompt"):
        yield "the server sets the instructions of the model (system prompt)"
    if params.get("includeContext") not in (None, "none"):
        whose = "this server" if params["includeContext"] == "thisServer" else "all connected servers"
        yield f"context of {whose} is asked for"
    needs = needs_of(params)
    for kind, said in (("image", "images leave"), ("audio", "recordings leave")):
        if kind in needs:
            yield f"{said} this machine for the model"
    if "tools" in needs:
        yield "the model may ask the server to use tools"
    if params["maxTokens"] > _MANY_TOKENS:
        yield f"the answer may be long: up to {params['maxTokens']} tokens"
    if sum(map(len, texts)) > _LONG_TEXT:
        yield f"much text is sent: {sum(map(len, texts))} characters"
    if any(_SECRET.search(text) for text in texts):
        yield "the text seems to hold a password or key"
    if any(_OVERRIDE.search(text) for text in texts):
        yield "the text tells the model to ignore its instructions"
    hidden = sum(unicodedata.category(char) == "Cf" for text in texts for char in text)
    if hidden:
        yield f"the text holds {hidden} invisible characters"


def _texts(params: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(params.get("systemPrompt"), str):
        yield params["systemPrompt"]
    for message in params["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            if block["type"] == "text":
                yield block["text"]
