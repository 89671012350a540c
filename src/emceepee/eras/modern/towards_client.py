"""What a modern client said, read; and what it is told, written.

Not here: streams, ids, keep-alives. The one rule: every answer says all that its client needs to understand it, and
nothing about any other request.
"""

from __future__ import annotations

from msgspec import Raw

from emceepee.eras.asks import read_profile
from emceepee.eras.capabilities import declares_tasks
from emceepee.eras.faults import truly_lacks
from emceepee.eras.meta import SERVER_INFO, split_meta
from emceepee.eras.modern.cacheable import CACHEABLE, write_hints
from emceepee.eras.modern.discover import write_discover as write_discover
from emceepee.eras.modern.envelope import check as check
from emceepee.eras.modern.errors import STATUSES as STATUSES
from emceepee.eras.modern.errors import write_error as write_error
from emceepee.eras.modern.headers import check_header_params as check_header_params
from emceepee.eras.modern.input_needed import take_answers
from emceepee.eras.modern.input_needed import write_input_needed as write_input_needed
from emceepee.eras.modern.listen import read_listen as read_listen
from emceepee.eras.modern.listen import write_acknowledged as write_acknowledged
from emceepee.eras.modern.listen import write_listen_end as write_listen_end
from emceepee.eras.modern.listen import write_listen_notice as write_listen_notice
from emceepee.eras.needs_asking import result_instead
from emceepee.eras.notices import LOG, write_params, write_progress
from emceepee.eras.peek import TopLevel, is_array, is_object, may_mention
from emceepee.eras.requests import ReadCall, carried_params
from emceepee.eras.revisions import MODERN
from emceepee.protocol.messages import Request, RequestId, write_notification
from emceepee.vocabulary.calls import MAY_ASK, Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope, at_least
from emceepee.vocabulary.notices import LogLine, Notice, OtherNotice, Progress
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Fields, Payload, read_fields, read_items, to_raw, write, write_members
from emceepee.vocabulary.tasks import TaskTerms

_COMPLETE = b'{"resultType":"complete"'
_OPEN_META = b',"_meta":{"%s":' % SERVER_INFO.encode()
_STAMPED = TopLevel("resultType", "_meta")
_STAMPED_AND_HINTED = TopLevel("resultType", "_meta", "ttlMs", "cacheScope")
_MAY_BE_EMPTY = 16


def read_call(request: Request, scope: Scope, principal: str) -> ReadCall:
    """A request which the ladder let through. Raises `ClientFault` for params of a wrong shape."""
    split = split_meta(carried_params(request))
    # A former revision's word; whether there is a task is not for the client to say in this one.
    split.params.pop("task", None)
    caller = Caller(scope, principal, split.capabilities or {}, split.client_info)
    terms: TaskTerms = "takes" if declares_tasks(caller.capabilities) else "silent"
    call = Call(request.method, split.params, caller, split.crossing, split.token is not None, split.log_level, terms)
    call.answers, call.state = take_answers(request.method, split.params)
    if caller.capabilities and request.method in MAY_ASK:
        call.asks = read_profile(caller.capabilities, MODERN)
    return ReadCall(call, split.token, split.workspace)


def write_done(method: str, done: Done, server_info: Raw) -> bytes:
    """The result with what this era adds: its type, who answered, and for how long it holds."""
    return b"".join(done_parts(method, done, server_info))


def done_parts(method: str, done: Done, server_info: Raw) -> tuple[bytes | Raw | memoryview, ...]:
    """The same, not yet joined: a large result is copied once only if it is joined with what goes around it."""
    payload = _without_execution(done.payload) if method == "tools/list" else done.payload
    hints = write_hints(done.hints) if method in CACHEABLE else b""
    stamped = _STAMPED_AND_HINTED if hints else _STAMPED
    if stamped.in_any(payload):
        return (_restamped(payload.fields(), hints, server_info),)
    if payload.kept is None:
        members = write_members(payload.fields())
        return _COMPLETE, hints, _OPEN_META, server_info, b"}," if len(members) > 1 else b"}", *members
    raw = memoryview(payload.kept)
    if not is_object(raw) or (raw.nbytes < _MAY_BE_EMPTY and not payload.fields()):
        return (_restamped(payload.fields(), hints, server_info),)
    return _COMPLETE, hints, _OPEN_META, server_info, b"},", raw[1:]


def _restamped(fields: Fields, hints: bytes, server_info: Raw) -> bytes:
    """The long way, for results which already have one of our keys, or may."""
    meta = fields.get("_meta")
    crossing = read_fields(meta) if meta is not None and is_object(meta) else {}
    stamped = read_fields(_COMPLETE + hints + b"}")
    rest = {key: raw for key, raw in fields.items() if key not in stamped}
    return write({**stamped, **rest, "_meta": {**crossing, SERVER_INFO: server_info}})


def _without_execution(payload: Payload) -> Payload:
    """Tools without what a former revision said about running them as tasks."""
    if not may_mention(bytes(payload.raw()), b'"execution"'):
        return payload
    listed = payload.get("tools")
    if listed is None or not is_array(listed):
        return payload
    return payload.changed({"tools": [_less_execution(tool) for tool in read_items(listed)]})


def _less_execution(tool: Raw) -> Raw:
    fields = read_fields(tool) if is_object(tool) else {}
    if "execution" not in fields:
        return tool
    return to_raw({key: raw for key, raw in fields.items() if key != "execution"})


def done_instead(method: str, failed: Failed, declared: Fields) -> Done | None:
    """What a model is told of a tool that misses what its client has and cannot be asked for here; else None."""
    raw = None if truly_lacks(failed, declared) else result_instead(method, failed)
    return None if raw is None else Done(Payload(raw=raw))


def write_notice(notice: Notice, token: RequestId | None, log_level: LogLevel | None) -> bytes | None:
    """The whole notification for the stream of one request, or None when it may not be told there. What changed is
    told on listen streams only."""
    match notice:
        case Progress():
            return None if token is None else write_progress(notice, token)
        case LogLine():
            heard = log_level is not None and at_least(notice.level, log_level)
            return write_notification(LOG, write_params(notice)) if heard else None
        case OtherNotice():
            return write_notification(notice.method, write_params(notice) if notice.params else None)
        case _:
            return None
