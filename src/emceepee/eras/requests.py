"""The requests which both eras carry, and the shape their params must have.

Not here: requests that are answered by us and never carried (`initialize`, `ping`, subscriptions, log levels). The one
rule: only what we route by is checked, because the rest is the backend's to judge.
"""

from __future__ import annotations

from dataclasses import dataclass

from emceepee.eras.peek import is_null, is_object, is_text
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Request, RequestId
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields

CARRIED = frozenset(
    (
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    )
)

_TEXTS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_OBJECTS = {"completion/complete": ("ref", "argument")}
_OPTIONAL_OBJECTS = {"tools/call": "arguments", "prompts/get": "arguments", "completion/complete": "context"}
_LISTS = frozenset(method for method in CARRIED if method.endswith("/list"))

_OURS_TO_DROP = frozenset(("task", "inputResponses"))
"""Words of features that we do not take part in yet; the revisions say that such a receiver ignores them."""


@dataclass(slots=True, frozen=True)
class ReadCall:
    """A call, and the progress token which its client waits under, in its own type."""

    call: Call
    token: RequestId | None


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
    if _OURS_TO_DROP.isdisjoint(params):
        return params
    return {key: value for key, value in params.items() if key not in _OURS_TO_DROP}


def _check(method: str, params: Fields) -> None:
    key = _TEXTS.get(method)
    if key is not None and ((value := params.get(key)) is None or not is_text(value)):
        raise _wrong(method, key, "a string")
    for key in _OBJECTS.get(method, ()):
        if (value := params.get(key)) is None or not is_object(value):
            raise _wrong(method, key, "an object")
    key = _OPTIONAL_OBJECTS.get(method)
    if key is not None and (value := params.get(key)) is not None and not (is_object(value) or is_null(value)):
        raise _wrong(method, key, "an object")
    if method in _LISTS and (value := params.get("cursor")) is not None and not (is_text(value) or is_null(value)):
        raise _wrong(method, "cursor", "a string")


def _wrong(method: str, key: str, what: str) -> ClientFault:
    return ClientFault(INVALID_PARAMS, f"{method}: params.{key} must be {what}")
