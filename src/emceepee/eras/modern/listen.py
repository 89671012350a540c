"""`subscriptions/listen`, both ends: the wish, what of it is honoured, and notices tagged with the wish's id.

Not here: who is told what (`relay`). The one rule: everything on a listen stream carries the id of its request, in the
very type the client gave it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from emceepee.eras.capabilities import declares_tasks
from emceepee.eras.meta import SERVER_INFO, SUBSCRIPTION_ID, split_meta
from emceepee.eras.modern.envelope import write_envelope
from emceepee.eras.modern.tasks import needs_extension, write_task_notice
from emceepee.eras.notices import UPDATED, list_changed_method
from emceepee.errors import ClientFault
from emceepee.protocol.messages import INVALID_PARAMS, Request, RequestId, write_notification
from emceepee.vocabulary.notices import Interest, ListChanged, ListKind, Notice, ResourceUpdated, TaskChanged
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, write

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

_FLAGS: tuple[tuple[str, ListKind], ...] = (
    ("toolsListChanged", "tools"),
    ("promptsListChanged", "prompts"),
    ("resourcesListChanged", "resources"),
)


class _Filter(msgspec.Struct):
    tools: bool | None = msgspec.field(name="toolsListChanged", default=None)
    prompts: bool | None = msgspec.field(name="promptsListChanged", default=None)
    resources: bool | None = msgspec.field(name="resourcesListChanged", default=None)
    uris: list[str] | None = msgspec.field(name="resourceSubscriptions", default=None)
    tasks: list[str] | None = msgspec.field(name="taskIds", default=None)


_filter_decoder = msgspec.json.Decoder(_Filter)
_id_decoder: msgspec.json.Decoder[int | str] = msgspec.json.Decoder(int | str)


def read_listen(request: Request) -> Interest:
    """What a client wants to hear. Raises `ClientFault`."""
    try:
        params = read_fields(request.params or b"{}")
        wished = _filter_decoder.decode(params["notifications"])
    except (KeyError, NotThatShape, msgspec.DecodeError, UnicodeDecodeError):
        message = "subscriptions/listen: params.notifications must be an object of flags and lists of strings"
        raise ClientFault(INVALID_PARAMS, message) from None
    if wished.tasks is not None and not declares_tasks(split_meta(params).capabilities or {}):
        raise needs_extension("taskIds in a subscription")
    return _interest(wished)


def write_acknowledged(listen_id: RequestId, honoured: Interest) -> bytes:
    """The first message of the stream."""
    params = {"_meta": {SUBSCRIPTION_ID: listen_id}, "notifications": _filter(honoured)}
    return write_notification(ACKNOWLEDGED, write(params))


def write_listen_notice(notice: Notice, listen_id: RequestId) -> bytes | None:
    """The whole notification, or None for a notice that has no place on a listen stream."""
    match notice:
        case ListChanged():
            return write_notification(list_changed_method(notice), write({"_meta": {SUBSCRIPTION_ID: listen_id}}))
        case ResourceUpdated():
            params: dict[str, Any] = {**notice.params, "_meta": _tagged(notice.params.get("_meta"), listen_id)}
            return write_notification(UPDATED, write(params))
        case TaskChanged():
            return write_task_notice(notice.task, listen_id)
        case _:
            return None


def write_listen_end(listen_id: RequestId, server_info: Raw) -> bytes:
    """The result of a stream that we end in good order."""
    return write({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: listen_id, SERVER_INFO: server_info}})


def write_listen(interest: Interest, revision: str, client_info: Raw) -> bytes:
    """The params of a wish of our own."""
    return write({"notifications": _filter(interest), "_meta": write_envelope(revision, client_info)})


def read_acknowledged(params: Raw | None) -> Interest:
    """What a backend honours. One that acknowledges in a shape we cannot read honours nothing."""
    try:
        return _interest(_filter_decoder.decode(read_fields(params or b"{}")["notifications"]))
    except (KeyError, NotThatShape, msgspec.DecodeError, UnicodeDecodeError):
        return Interest()


def listen_id_of(params: Raw | None) -> RequestId | None:
    """The id of the listen request that a notification belongs to, if it names one."""
    try:
        meta = read_fields(read_fields(params or b"{}")["_meta"])
        return _id_decoder.decode(meta[SUBSCRIPTION_ID])
    except (KeyError, NotThatShape, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _interest(wished: _Filter) -> Interest:
    flags: tuple[tuple[bool | None, ListKind], ...] = (
        (wished.tools, "tools"),
        (wished.prompts, "prompts"),
        (wished.resources, "resources"),
    )
    lists = frozenset(kind for flag, kind in flags if flag)
    return Interest(lists, frozenset(wished.uris or ()), frozenset(wished.tasks or ()))


def _filter(interest: Interest) -> dict[str, Any]:
    written: dict[str, Any] = {flag: True for flag, kind in _FLAGS if kind in interest.lists}
    if interest.uris:
        written["resourceSubscriptions"] = sorted(interest.uris)
    if interest.tasks:
        written["taskIds"] = sorted(interest.tasks)
    return written


def _tagged(meta: Raw | None, listen_id: RequestId) -> dict[str, Any]:
    crossing: Fields = {} if meta is None else read_fields(meta)
    return {**crossing, SUBSCRIPTION_ID: listen_id}
