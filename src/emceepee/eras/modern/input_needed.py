"""What a server needs before it goes on, as a client of this era is told of it, and what the client brings when it
comes back.

Not here: who may be asked what, and what a state means. The one rule: what a former revision wrote into an ask and this
one has no place for is taken out; what is left is as the server wrote it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.eras.meta import SERVER_INFO
from emceepee.eras.peek import is_object, may_mention
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS
from emceepee.vocabulary.outcomes import InputNeeded
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, to_raw, write

STATE, ANSWERS = "requestState", "inputResponses"

_FORMER = ("elicitationId", "task", "_meta")
_SIGNS = tuple(f'"{key}"'.encode() for key in _FORMER)
_ELICITATION = "elicitation/create"


def write_input_needed(needed: InputNeeded, server_info: Raw) -> bytes:
    """The result that sends a client away with what is asked, and with the state to come back with."""
    said: dict[str, Any] = {"resultType": "input_required", "_meta": {SERVER_INFO: server_info}}
    if needed.requests:
        said["inputRequests"] = input_requests(needed.requests)
    if needed.state is not None:
        said[STATE] = needed.state
    return write(said)


def input_requests(requests: Fields) -> Fields:
    """In the words of this era, by the same keys."""
    return {key: _request(raw) for key, raw in requests.items()}


def _request(raw: Raw) -> Raw:
    fields = read_fields(raw) if is_object(raw) else {}
    params = fields.get("params")
    if params is None or not is_object(params):
        return raw
    asked = read_fields(params)
    adds_mode = read_text(fields.get("method")) == _ELICITATION and "mode" not in asked
    if not adds_mode and not any(may_mention(bytes(params), sign) for sign in _SIGNS):
        return raw
    kept: dict[str, Any] = {key: value for key, value in asked.items() if key not in _FORMER}
    return to_raw({**fields, "params": ({"mode": "form"} if adds_mode else {}) | kept})


def take_answers(method: str, params: Fields) -> tuple[Fields | None, Raw | None]:
    """What a client brings, taken out of the params of its call: answers by key, and the state. Raises
    `ClientFault`."""
    state, answers = params.pop(STATE, None), params.pop(ANSWERS, None)
    if state is not None and read_text(state) is None:
        raise ClientFault(INVALID_PARAMS, f"{method}: params.{STATE} must be a string")
    if answers is None:
        return None, state
    try:
        return read_fields(answers), state
    except NotThatShape:
        raise ClientFault(INVALID_PARAMS, f"{method}: params.{ANSWERS} must be an object") from None
