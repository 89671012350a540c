"""Notifications that both eras know: read into notices, and their params written back.

Not here: who may hear one, and on which stream (the adapters). The one rule: what names a connection (tokens, tags) is
taken off on reading and put on anew by the side that writes.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec import Raw

from emceepee.eras.meta import PROGRESS_TOKEN, crossing_only
from emceepee.protocol.messages import RequestId, write_notification
from emceepee.vocabulary.names import LOG_LEVELS
from emceepee.vocabulary.notices import ListChanged, LogLine, Notice, OtherNotice, Progress, ResourceUpdated
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, write

PROGRESS = "notifications/progress"
LOG = "notifications/message"
UPDATED = "notifications/resources/updated"

_CHANGED = {
    "notifications/tools/list_changed": ListChanged("tools"),
    "notifications/prompts/list_changed": ListChanged("prompts"),
    "notifications/resources/list_changed": ListChanged("resources"),
}

_HOP_LOCAL = frozenset(
    (
        PROGRESS,
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/roots/list_changed",
        "notifications/elicitation/complete",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/tasks/status",
    )
)
"""About ids of one connection; never a notice."""

_number_decoder = msgspec.json.Decoder(float)


def read_notice(method: str, params: Raw | None) -> Notice | None:
    """A notification as a notice, or None for one that is nobody else's business or malformed. Progress is not here:
    it is read by whoever knows its token."""
    changed = _CHANGED.get(method)
    if changed is not None:
        return changed
    if method in _HOP_LOCAL:
        return None
    fields = _params(params)
    if fields is None:
        return None
    if method == LOG:
        level = read_text(fields.get("level"))
        return LogLine(level, fields) if level in LOG_LEVELS else None
    if method == UPDATED:
        uri = read_text(fields.get("uri"))
        return None if uri is None else ResourceUpdated(uri, fields)
    return OtherNotice(method, fields)


def read_progress(params: Raw) -> Progress | None:
    """Progress without its token, or None when it has no number that can be compared."""
    fields = _params(params)
    number = None if fields is None else fields.pop("progress", None)
    if fields is None or number is None:
        return None
    try:
        progress = _number_decoder.decode(number)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not math.isfinite(progress):
        return None
    fields.pop(PROGRESS_TOKEN, None)
    return Progress(progress, {"progress": number, **fields})


def write_progress(progress: Progress, token: RequestId, without: str | None = None) -> bytes:
    """The whole notification under the client's own token; `without` names a field its revision does not know."""
    params: dict[str, Any] = {PROGRESS_TOKEN: token, **progress.params}
    if without is not None:
        params.pop(without, None)
    return write_notification(PROGRESS, write(params))


def write_params(notice: LogLine | ResourceUpdated | OtherNotice) -> bytes:
    """The params of a notice that needs nothing put in."""
    return write(notice.params)


def list_changed_method(notice: ListChanged) -> str:
    return f"notifications/{notice.kind}/list_changed"


def _params(params: Raw | None) -> Fields | None:
    try:
        fields = {} if params is None else read_fields(params)
        kept = crossing_only(fields)
        return fields if kept is None else kept
    except NotThatShape:
        return None
