"""The requests which both eras carry, and the shape their params must have.

Not here: requests that are answered by us and never carried (`initialize`, `ping`, subscriptions, log levels). The one
rule: only what we route by is checked, because the rest is the backend's to judge.
"""

from __future__ import annotations

import msgspec

from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Request, RequestId
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields

_TEXT, _OBJECT, _NULL = b'"{n'
_PAGED = (("cursor", _TEXT, False),)
_SHAPES: dict[str, tuple[tuple[str, int, bool], ...]] = {
    "tools/list": _PAGED,
    "tools/call": (("name", _TEXT, True), ("arguments", _OBJECT, False)),
    "prompts/list": _PAGED,
    "prompts/get": (("name", _TEXT, True), ("arguments", _OBJECT, False)),
    "resources/list": _PAGED,
    "resources/templates/list": _PAGED,
    "resources/read": (("uri", _TEXT, True),),
    "completion/complete": (("ref", _OBJECT, True), ("argument", _OBJECT, True), ("context", _OBJECT, False)),
}
"""Of each method: a param, the first byte of its JSON, and whether it must be there. One that need not may be null."""

CARRIED = frozenset(_SHAPES)

_SAID = {_TEXT: "a string", _OBJECT: "an object"}


class ReadCall(msgspec.Struct, frozen=True):
    """A call, and the progress token which its client waits under, in its own type."""

    call: Call
    token: RequestId | None
    workspace: str | None = None
    """The handle that it names, which nobody has checked yet."""


def carried_params(request: Request) -> Fields:
    """The params of a request that is carried. Raises `ClientFault` for an unknown method and for a wrong shape."""
    if request.method not in CARRIED:
        raise ClientFault(METHOD_NOT_FOUND, f"Method not found: {request.method}")
    if request.params is None:
        params: Fields = {}
    else:
        try:
            params = read_fields(request.params)
        except NotThatShape:
            raise ClientFault(INVALID_PARAMS, f"{request.method}: params must be an object") from None
    _check(request.method, params)
    return params


def _check(method: str, params: Fields) -> None:
    for key, kind, required in _SHAPES[method]:
        value = params.get(key)
        found = 0 if value is None else memoryview(value)[0]
        if found == kind or (not required and found in (0, _NULL)):
            continue
        raise ClientFault(INVALID_PARAMS, f"{method}: params.{key} must be {_SAID[kind]}")
