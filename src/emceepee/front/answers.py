"""The wall: whatever ended a request becomes one JSON-RPC message and one HTTP status here, and nowhere else.

It does not say which code a fault has: `errors` and the eras do. The one rule: an exception nobody foresaw is logged
with its traceback and answered without a word of it, since its text may hold what is not the client's to see.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Final

from emceepee.eras.legacy import towards_client as legacy
from emceepee.eras.modern import towards_client as modern
from emceepee.eras.refusal import Refusal
from emceepee.errors import EmceepeeError
from emceepee.framing.json_text import Unreadable
from emceepee.front.exchange import Exchange, Header
from emceepee.front.guards import Refused
from emceepee.protocol.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorObject,
    Request,
    RequestId,
    write_failure,
)
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import Fields, write

_log = logging.getLogger("emceepee.front")

_INTERNAL: Final = ErrorObject(INTERNAL_ERROR, "Internal error")

_CLOSING: Final = frozenset((408, 413, 503))
"""Where the rest of the request was not read, or nothing more is served."""

JSON: Final[Header] = (b"content-type", b"application/json")


async def legacy_answer(request: Request, revision: str, work: Awaitable[bytes]) -> bytes:
    """What the work answers, or what its failure is answered with."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 -- the wall
        return legacy_error(request.id, error, request.method, revision)


async def modern_answer(request: Request, work: Awaitable[tuple[int, bytes]]) -> tuple[int, bytes]:
    """As `legacy_answer`, with the HTTP status."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 -- the wall
        return modern_error(request.id, error, request.method)


async def modern_check(request: Request, work: Awaitable[Refusal | None]) -> tuple[int, bytes] | None:
    """Something that has to go well before the answer: None, or what is answered instead."""
    try:
        refused = await work
    except Exception as error:  # noqa: BLE001 -- the wall
        return modern_error(request.id, error, request.method)
    return None if refused is None else refusal(refused)


async def logged(work: Awaitable[object], event: str) -> None:
    """For work that nobody waits for: whatever it fails with is logged."""
    try:
        await work
    except EmceepeeError as error:
        _log.warning(event, extra={"data": {"error": str(error)}})
    except Exception as error:  # noqa: BLE001 -- the wall
        _log.error(event, exc_info=error)


def legacy_error(request_id: RequestId | None, ended: Failed | Exception, method: str, revision: str) -> bytes:
    if isinstance(ended, Failed | EmceepeeError):
        return _failure(request_id, legacy.write_error(ended, method, revision))
    _unforeseen(ended, method)
    return _failure(request_id, _INTERNAL)


def modern_error(
    request_id: RequestId | None, ended: Failed | Exception, method: str, declared: Fields | None = None
) -> tuple[int, bytes]:
    if isinstance(ended, Failed | EmceepeeError):
        status, error = modern.write_error(ended, method, declared)
        return status, _failure(request_id, error)
    _unforeseen(ended, method)
    return 200, _failure(request_id, _INTERNAL)


def refusal(refused: Refusal) -> tuple[int, bytes]:
    return refused.status, write_failure(refused.id, refused.code, refused.message, refused.data)


def unreadable(problem: Unreadable) -> bytes:
    return write_failure(problem.id, problem.code, problem.message)


def _failure(request_id: RequestId | None, error: ErrorObject) -> bytes:
    return write_failure(request_id, error.code, error.message, error.data)


def _unforeseen(error: object, method: str) -> None:
    exception = error if isinstance(error, BaseException) else None
    _log.error("internal_error", exc_info=exception, extra={"data": {"method": method}})


async def refuse(exchange: Exchange, refused: Refused) -> None:
    """A refusal that belongs to no request: a JSON-RPC error without id, which both eras allow."""
    body = write_failure(None, INVALID_REQUEST, refused.message)
    headers = [JSON, (b"content-length", b"%d" % len(body))]
    if refused.allow is not None:
        headers.append((b"allow", refused.allow.encode()))
    if refused.status in _CLOSING:
        headers.append((b"connection", b"close"))
    await exchange.answer(refused.status, headers, body)


async def plain_error(exchange: Exchange, status: int, body: bytes) -> None:
    """A JSON-RPC error that is answered at once, never as a stream."""
    await exchange.answer(status, [JSON, (b"content-length", b"%d" % len(body))], body)


async def plain(exchange: Exchange, status: int, value: object) -> None:
    """JSON that is no JSON-RPC: for people and load balancers."""
    body = write(value)
    await exchange.answer(status, [JSON, (b"content-length", b"%d" % len(body))], body)


async def empty(exchange: Exchange, status: int) -> None:
    headers = [] if status == 204 else [(b"content-length", b"0")]
    await exchange.answer(status, headers, b"")
