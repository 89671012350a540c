"""Errors between the eras: what a backend's error means, and how an error of ours is told.

Not here: results, and the HTTP status of an error (`modern.towards_client`). The one rule: our own failures are -32603
with a stable `data.reason`, a backend's error crosses unless its code is valid on its own connection only.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.eras.refusal import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from emceepee.errors import BackendFault, ClientFault, LimitReached
from emceepee.protocol.messages import INTERNAL_ERROR, INVALID_PARAMS, ErrorObject
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, to_raw

RESOURCE_NOT_FOUND = -32002
URL_ELICITATION_REQUIRED = -32042


class Violation(ValueError):
    """A backend answered something that its revision does not allow; the text says what."""


class Incomplete(Violation):
    """A modern result that is no end: it wants input, names a task, or something we have never heard of."""

    def __init__(self, result_type: str, fields: Fields) -> None:
        super().__init__(f"result of type '{result_type}', which was not asked for")
        self.result_type = result_type
        self.fields = fields


def read_failed(method: str, error: ErrorObject) -> Failed:
    """What a backend's error means, whichever era it was said in."""
    missing = error.code == RESOURCE_NOT_FOUND or (
        error.code == INVALID_PARAMS and method == "resources/read" and _names_uri(error.data)
    )
    return Failed(error.code, error.message, error.data, "resource_not_found" if missing else "other")


def own_fault(error: BaseException) -> ErrorObject:
    """How a failure of ours is told, in either era."""
    match error:
        case ClientFault():
            return _error(error.code, error.message, error.data)
        case BackendFault():
            return _error(INTERNAL_ERROR, str(error), error.told())
        case LimitReached():
            return _error(INTERNAL_ERROR, str(error), {"reason": "limit", "what": error.what, "limit": error.limit})
        case _:
            return ErrorObject(INTERNAL_ERROR, "Internal error")


def means_missing_resource(error: BaseException | Failed, method: str) -> bool:
    """Whether this says "no such resource", for which the eras have different codes."""
    if isinstance(error, Failed):
        return error.kind == "resource_not_found"
    if not isinstance(error, ClientFault):
        return False
    if error.code == RESOURCE_NOT_FOUND:
        return True
    named = isinstance(error.data, dict) and "uri" in error.data
    return error.code == INVALID_PARAMS and method == "resources/read" and named


def missing_resource(error: BaseException | Failed, code: int) -> ErrorObject:
    """The same, under the code of an era."""
    if isinstance(error, Failed):
        return ErrorObject(code, error.message, error.data)
    own = own_fault(error)
    return ErrorObject(code, own.message, own.data)


def untellable(failed: Failed) -> ErrorObject | None:
    """What a client of any era gets for a code that never crosses, or None for one that may.

    These are about our own conversation with the backend: its headers, its revisions, and capabilities that we did not
    declare because nothing can be asked of a client yet."""
    match failed.code:
        case int() as code if code == MISSING_CAPABILITY:
            required = _member(failed.data, "requiredCapabilities")
            data = {"reason": "missing_client_capability", "upstream_code": code}
            return _error(INTERNAL_ERROR, failed.message, data if required is None else {**data, **required})
        case int() as code if code in (HEADER_MISMATCH, UNSUPPORTED_VERSION):
            return hidden(failed, "backend_violation")
        case _:
            return None


def truly_lacks(failed: Failed, declared: Fields) -> bool:
    """Whether a backend misses a capability which the client has not declared either, so that its complaint is true
    of the client and not only of us."""
    if failed.code != MISSING_CAPABILITY:
        return False
    named = _member(failed.data, "requiredCapabilities")
    try:
        required = {} if named is None else read_fields(named["requiredCapabilities"])
    except NotThatShape:
        return False
    lacked = [capability for capability in required if capability not in declared]
    return bool(lacked) or _lacks_extension(required.get("extensions"), declared.get("extensions"))


def _lacks_extension(required: Raw | None, declared: Raw | None) -> bool:
    try:
        return required is not None and not read_fields(required).keys() <= read_fields(declared or b"{}").keys()
    except NotThatShape:
        return False


def hidden(failed: Failed, reason: str = "backend_error") -> ErrorObject:
    """A backend's error under our own code, its code and data kept where a person can find them."""
    data: dict[str, Any] = {"reason": reason, "upstream_code": failed.code}
    if failed.data is not None:
        data["upstream_data"] = failed.data
    return _error(INTERNAL_ERROR, failed.message, data)


def reserved_to_its_speaker(code: int) -> bool:
    """Codes that SDKs took for themselves before the specification closed the range; they mean nothing elsewhere."""
    return -32019 <= code <= -32000 or code == -32800


def _error(code: int, message: str, data: Any) -> ErrorObject:
    return ErrorObject(code, message, None if data is None else to_raw(data))


def _names_uri(data: Raw | None) -> bool:
    return _member(data, "uri") is not None


def _member(data: Raw | None, key: str) -> Fields | None:
    try:
        fields = {} if data is None else read_fields(data)
    except NotThatShape:
        return None
    return {key: fields[key]} if key in fields else None
