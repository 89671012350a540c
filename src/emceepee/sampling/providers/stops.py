"""Stop sequences that a provider does not take, kept all the same: the answer is cut where the first begins. Pure.

The one rule: what the server that asked sees is what it would see if its sequences had been taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emceepee.sampling.content import Json
from emceepee.sampling.response import STOP_SEQUENCE


def split(stops: Any, takes: Callable[[str], bool], most: int) -> tuple[list[str], list[str]]:
    """Those to send, and those that are ours to keep."""
    given = [stop for stop in stops or () if stop]
    sent = [stop for stop in given if takes(stop)][:most]
    return sent, [stop for stop in given if stop not in sent]


def cut(answer: Json, stops: Sequence[str]) -> Json:
    """The answer up to the first of these in its text, which may be one block or several."""
    content = answer["content"]
    blocks = content if isinstance(content, list) else [content]
    for index, block in enumerate(blocks):
        if block["type"] != "text":
            continue
        places = [place for place in map(block["text"].find, stops) if place >= 0]
        if places:
            kept = [*blocks[:index], {**block, "text": block["text"][: min(places)]}]
            return {**answer, "content": kept if len(kept) > 1 else kept[0], "stopReason": STOP_SEQUENCE}
    return answer
