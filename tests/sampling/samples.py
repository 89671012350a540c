"""Requests as the tests use them, and strategies that make any number more, right and broken.

The one rule: what `requests` makes is right by our rules; what `broken_requests` makes differs from that in one place.
"""

from __future__ import annotations

import base64
import copy
from typing import Any

from hypothesis import strategies as st

PNG = "iVBORw0KGgoAAAANSUhEUgAA"
WAV = "UklGRiQEAABXQVZFZm10IBAA"


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": text(content) if isinstance(content, str) else content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text(content) if isinstance(content, str) else content}


def request(**changes: Any) -> dict[str, Any]:
    return {"messages": [user("Explain tides")], "maxTokens": 100, **changes}


# -- any number of them

_words = st.text(min_size=1, max_size=12).filter(lambda said: bool(said.strip()))
_units = st.floats(0, 1) | st.sampled_from([0, 1])
_base64 = st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())
_objects = st.dictionaries(
    st.text(max_size=4).map(lambda key: f"x-{key}"), st.integers() | _words | st.none(), max_size=2
)


def _with(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


_annotations = _with(
    {}, {"audience": st.lists(st.sampled_from(["user", "assistant"]), max_size=2), "priority": _units, "x-own": _words}
)
_shared = {"annotations": _annotations, "_meta": _objects, "x-unknown": _words}
_texts = _with({"type": st.just("text"), "text": _words}, _shared)
_images = _with(
    {"type": st.just("image"), "data": _base64, "mimeType": st.sampled_from(["image/png", "image/jpeg"])}, _shared
)
_sounds = _with(
    {"type": st.just("audio"), "data": _base64, "mimeType": st.sampled_from(["audio/wav", "audio/mpeg"])}, _shared
)
_blocks = _texts | _images | _sounds
_contents = _blocks | st.lists(_blocks, min_size=1, max_size=3)
_plain_messages = _with(
    {"role": st.sampled_from(["user", "assistant"]), "content": _contents}, {"_meta": _objects, "x-unknown": _words}
)


@st.composite
def _tool_turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A call of one or two tools, and their results."""
    ids = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=2, unique=True))
    uses = [{"type": "tool_use", "id": one, "name": draw(_words), "input": draw(_objects)} for one in ids]
    results = [
        {"type": "tool_result", "toolUseId": one, "content": draw(st.lists(_texts | _images, max_size=2))}
        for one in ids
    ]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]


_messages = st.lists(_plain_messages.map(lambda one: [one]) | _tool_turns(), min_size=1, max_size=3).map(
    lambda turns: [message for turn in turns for message in turn]
)
_preferences = _with(
    {},
    {
        "hints": st.lists(_with({}, {"name": _words, "x-family": _words}), max_size=3),
        "costPriority": _units,
        "speedPriority": _units,
        "intelligencePriority": _units,
    },
)
_tools = st.lists(
    _with({"name": _words, "inputSchema": st.just({"type": "object"})}, {"description": _words}), max_size=2
)

requests = _with(
    {"messages": _messages, "maxTokens": st.integers(1, 100_000)},
    {
        "modelPreferences": _preferences,
        "systemPrompt": st.text(max_size=12),
        "includeContext": st.sampled_from(["none", "thisServer", "allServers"]),
        "temperature": _units,
        "stopSequences": st.lists(st.sampled_from(["END", "\n\n\n", "---"]), max_size=2),
        "metadata": _objects,
        "tools": _tools,
        "toolChoice": _with({}, {"mode": st.sampled_from(["auto", "required", "none"])}),
        "_meta": _with({}, {"progressToken": st.integers() | _words, "x-trace": _words}),
        "x-unknown": _words,
    },
)

_odd = st.sampled_from(
    [None, True, False, 0, -1, 1.5, 2, "", " ", "5", "a b", "user", [], [1], {}, {"a": 1}, float("nan")]
)


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to each value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, one in inner for place in places(one, (*here, key)))]


def _changed(given: Any, place: tuple[str | int, ...], odd: Any, drop: bool) -> Any:
    if not place:
        return odd
    changed = copy.deepcopy(given)
    at = changed
    for key in place[:-1]:
        at = at[key]
    if drop:
        del at[place[-1]]
    else:
        at[place[-1]] = odd
    return changed


@st.composite
def broken_requests(draw: st.DrawFn) -> Any:
    """Right but for one value, which is missing or odd; by chance it may still be right."""
    given = draw(requests)
    return _changed(given, draw(st.sampled_from(places(given))), draw(_odd), draw(st.booleans()))
