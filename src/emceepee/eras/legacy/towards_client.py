"""What a legacy client said, read; and what it is told, written in the words of its revision.

Not here: sessions, streams, ids, and the requests which never leave the front (`ping`). The one rule: what came from a
legacy backend goes out byte for byte unless this client's revision cannot say it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from emceepee.eras.capabilities import offered
from emceepee.eras.faults import (
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    hidden,
    means_missing_resource,
    missing_resource,
    own_fault,
    untellable,
)
from emceepee.eras.legacy.reshape import reshaped
from emceepee.eras.legacy.tasks import read_wish, write_status
from emceepee.eras.meta import split_meta
from emceepee.eras.needs_asking import result_instead as result_instead
from emceepee.eras.notices import LOG, UPDATED, list_changed_method, write_params, write_progress
from emceepee.eras.peek import is_null, is_object
from emceepee.eras.requests import ReadCall, carried_params
from emceepee.eras.revisions import LATEST_LEGACY, negotiate, older
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, ErrorObject, Request, RequestId, write_notification
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LOG_LEVELS, LogLevel
from emceepee.vocabulary.notices import (
    ListChanged,
    LogLine,
    MadeTask,
    Notice,
    OtherNotice,
    Progress,
    ResourceUpdated,
    TaskChanged,
)
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, write

_TASKS: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""Any tool may be run as a task by us, so each server has them."""


@dataclass(slots=True, frozen=True)
class Hello:
    """An `initialize`, with the revision that it is answered with."""

    revision: str
    capabilities: Fields = field(default_factory=dict)
    client_info: Raw | None = None


def read_hello(params: Raw | None) -> Hello:
    """Negotiates. Raises `ClientFault` for params that are no `initialize`."""
    fields = _fields("initialize", params)
    proposed = read_text(fields.get("protocolVersion"))
    if proposed is None:
        raise ClientFault(INVALID_PARAMS, "initialize: params.protocolVersion must be a string")
    for key in ("capabilities", "clientInfo"):
        if (value := fields.get(key)) is not None and not is_object(value):
            raise ClientFault(INVALID_PARAMS, f"initialize: params.{key} must be an object")
    capabilities = fields.get("capabilities")
    return Hello(
        revision=negotiate(proposed),
        capabilities={} if capabilities is None else read_fields(capabilities),
        client_info=fields.get("clientInfo"),
    )


def write_welcome(hello: Hello, capabilities: Fields, server_info: Raw, instructions: str | None) -> bytes:
    """The result of `initialize`."""
    welcome: dict[str, Any] = {
        "protocolVersion": hello.revision,
        "capabilities": _narrowed(capabilities, hello.revision),
        "serverInfo": server_info,
    }
    if instructions is not None:
        welcome["instructions"] = instructions
    return write(welcome)


def _narrowed(capabilities: Fields, revision: str) -> dict[str, Any]:
    """Without what we do not carry, and what this revision has no name for."""
    kept = offered(capabilities)
    if older(revision, "2025-03-26"):
        kept.pop("completions", None)
    if revision == LATEST_LEGACY and "tools" in kept:
        kept["tasks"] = _TASKS
    return kept


_WORDS_OF_THE_NEXT = ("inputResponses", "requestState")
"""They mean nothing in this era, and must not mean anything to a server of the next."""


def read_call(request: Request, caller: Caller, revision: str = LATEST_LEGACY) -> ReadCall:
    """A request to be carried. Raises `ClientFault` -32601 for one that is not, -32602 for a wrong shape."""
    split = split_meta(carried_params(request))
    for word in _WORDS_OF_THE_NEXT:
        split.params.pop(word, None)
    call = Call(request.method, split.params, caller, split.crossing, split.token is not None)
    if "task" in split.params:
        _note_wish(call, split.params.pop("task"), revision)
    return ReadCall(call, split.token, split.workspace)


def _note_wish(call: Call, wish: Raw, revision: str) -> None:
    """Where nothing can be run as a task the wish is ignored, as the revision has it."""
    if call.method == "tools/call" and revision == LATEST_LEGACY and not is_null(wish):
        call.task_ttl_ms = read_wish(wish)
        call.tasks = "asks"


def read_level(params: Raw | None) -> LogLevel:
    """The level of a `logging/setLevel`. Raises `ClientFault`."""
    level = read_text(_fields("logging/setLevel", params).get("level"))
    if level not in LOG_LEVELS:
        raise ClientFault(INVALID_PARAMS, f"logging/setLevel: level must be one of {', '.join(LOG_LEVELS)}")
    return level


def read_subscribed(method: str, params: Raw | None) -> str:
    """The URI of a `resources/subscribe` or `resources/unsubscribe`. Raises `ClientFault`."""
    uri = read_text(_fields(method, params).get("uri"))
    if uri is None:
        raise ClientFault(INVALID_PARAMS, f"{method}: params.uri must be a string")
    return uri


def _fields(method: str, params: Raw | None) -> Fields:
    try:
        return read_fields(b"{}" if params is None else params)
    except NotThatShape:
        raise ClientFault(INVALID_PARAMS, f"{method}: params must be an object") from None


def write_done(method: str, done: Done, revision: str) -> Raw:
    """The result as this revision can say it; the very bytes that came, where it can."""
    return reshaped(method, done, revision)


def write_error(error: BaseException | Failed, method: str, revision: str) -> ErrorObject:
    """An error of ours, or one that a backend answered."""
    if means_missing_resource(error, method):
        return missing_resource(error, RESOURCE_NOT_FOUND)
    if not isinstance(error, Failed):
        return own_fault(error)
    if (told := untellable(error)) is not None:
        return told
    if error.code == URL_ELICITATION_REQUIRED and older(revision, LATEST_LEGACY):
        return hidden(error, "url_elicitation_required")
    return ErrorObject(error.code, error.message, error.data)


def write_notice(notice: Notice, token: RequestId | None, revision: str) -> bytes | None:
    """The whole notification, or None when this client cannot hear it. Log levels are the session's to filter."""
    match notice:
        case Progress():
            without = "message" if older(revision, "2025-03-26") else None
            return None if token is None else write_progress(notice, token, without)
        case LogLine():
            return write_notification(LOG, write_params(notice))
        case ListChanged():
            return write_notification(list_changed_method(notice), None)
        case ResourceUpdated():
            return write_notification(UPDATED, write_params(notice))
        case OtherNotice():
            return write_notification(notice.method, write_params(notice) if notice.params else None)
        case TaskChanged():
            return write_status(notice.task) if revision == LATEST_LEGACY else None
        case MadeTask():
            return None
