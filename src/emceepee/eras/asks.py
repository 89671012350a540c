"""What servers ask of their clients, as far as it is the same in both eras: the methods, the words of the capabilities,
and which ask was promised to be heard.

Not here: when and where asks travel. The one rule: what was not declared is refused with the code that says so, and
what was declared passes as the server wrote it, unless it holds something that is valid on this connection only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Raw

from emceepee.eras.meta import crossing_only
from emceepee.eras.peek import is_object
from emceepee.eras.revisions import older
from emceepee.protocol.messages import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from emceepee.vocabulary.asks import Askable, AskKind, AskProfile
from emceepee.vocabulary.outcomes import Done, Failed, Outcome, Wanted
from emceepee.vocabulary.profiles import KIND_OF
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, Payload, read_fields, read_text, to_raw

ASKS: dict[str, AskKind] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
METHOD_OF: dict[AskKind, str] = {kind: method for method, kind in ASKS.items()}

_DECLINED = -1
"""What the revisions use for "the user rejected it"."""


def declare(profile: AskProfile, era: Literal["legacy", "modern"] = "legacy") -> dict[str, Any]:
    """A client's capabilities that promise exactly this."""
    said: dict[str, Any] = {}
    if modes := {mode: dict[str, Any]() for mode in ("form", "url") if mode in profile}:
        said["elicitation"] = modes
    if "sampling" in profile:
        said["sampling"] = {part: {} for part in ("context", "tools") if f"sampling_{part}" in profile}
    if "roots" in profile:
        said["roots"] = {"listChanged": True} if era == "legacy" and "roots_news" in profile else {}
    return said


def read_profile(capabilities: Fields, revision: str) -> AskProfile:
    """What a client's capabilities promise, in its revision. A family is there when its key is (X-PY-02)."""
    found: set[Askable] = set()
    if not older(revision, "2025-06-18") and (raw := capabilities.get("elicitation")) is not None:
        modes = set() if older(revision, "2025-11-25") else {"form", "url"} & _inside(raw).keys()
        found.update(("form", "url") if len(modes) == 2 else ("url",) if modes == {"url"} else ("form",))
    if (raw := capabilities.get("sampling")) is not None:
        found.add("sampling")
        parts = {} if older(revision, "2025-11-25") else _inside(raw)
        found.update(part for key, part in _SAMPLING_PARTS.items() if key in parts)
    if (raw := capabilities.get("roots")) is not None:
        found.add("roots")
        if _inside(raw).get("listChanged") == Raw(b"true"):
            found.add("roots_news")
    return frozenset(found)


_SAMPLING_PARTS: dict[str, Askable] = {"tools": "sampling_tools", "context": "sampling_context"}


def _inside(raw: Raw) -> Fields:
    return read_fields(raw) if is_object(raw) else {}


@dataclass(slots=True, frozen=True)
class ReadAsk:
    """The kind, what the profile calls it, and what may cross of the params, and all of its `_meta`."""

    kind: AskKind
    wanted: Askable
    params: Raw
    meta: Fields = field(default_factory=dict)


def read_ask(method: str, params: Raw | None, profile: AskProfile) -> ReadAsk | Failed:
    """The ask, or what the server is to be answered."""
    kind = ASKS.get(method)
    if kind is None or kind not in {KIND_OF[one] for one in profile}:
        return undeclared(method)
    try:
        fields = read_fields(params or EMPTY_OBJECT)
    except NotThatShape:
        return Failed(INVALID_PARAMS, f"{method}: params must be an object")
    wanted: Askable | None = _mode(fields) if kind == "elicitation" else kind
    if wanted is None or wanted not in profile:
        return Failed(INVALID_PARAMS, f"{method}: this mode was not declared by this client")
    if kind == "sampling" and "sampling_tools" not in profile and ("tools" in fields or "toolChoice" in fields):
        return Failed(INVALID_PARAMS, f"{method}: sampling.tools was not declared by this client")
    meta = fields.get("_meta")
    kept = crossing_only(fields)
    crossing = (params or EMPTY_OBJECT) if kept is None else to_raw(kept)
    return ReadAsk(kind, wanted, crossing, {} if meta is None else _inside(meta))


def read_wanted(requests: Fields, profile: AskProfile) -> dict[str, Wanted] | Failed:
    """What a modern server needs, by its keys, or what is wrong with the first that it may not ask."""
    wants: dict[str, Wanted] = {}
    for key, raw in requests.items():
        entry = _inside(raw)
        method, params = read_text(entry.get("method")), entry.get("params")
        if method is None:
            return Failed(INVALID_PARAMS, "an input request names no method")
        read = read_ask(method, params, profile)
        if isinstance(read, Failed):
            return read
        wants[key] = Wanted(read.kind, read.wanted, read.params)
    return wants


def _mode(fields: Fields) -> Askable | None:
    mode = read_text(fields["mode"]) if "mode" in fields else "form"
    return "form" if mode == "form" else "url" if mode == "url" else None


def undeclared(method: str) -> Failed:
    return Failed(METHOD_NOT_FOUND, f"{method} was not declared by this client")


def given_up(kind: AskKind, why: str = "The call that this request belongs to was cancelled") -> Outcome:
    """What a server hears whose question nobody will answer."""
    if kind == "elicitation":
        return Done(Payload.of({"action": "cancel"}))
    return Failed(_DECLINED if kind == "sampling" else INTERNAL_ERROR, why)
