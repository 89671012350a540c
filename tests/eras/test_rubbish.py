"""Any JSON at all, given to each reader: it is read, or it is refused in the words the reader has for that."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from emceepee.eras.choose import choose_http, choose_pipe
from emceepee.eras.faults import Violation
from emceepee.eras.legacy import towards_backend as legacy_backend
from emceepee.eras.legacy import towards_client as legacy_client
from emceepee.eras.modern import towards_backend as modern_backend
from emceepee.eras.modern import towards_client as modern_client
from emceepee.eras.requests import CARRIED
from emceepee.eras.revisions import LEGACY, SUPPORTED
from emceepee.errors import ClientFault
from emceepee.protocol.messages import ErrorObject, Notification, Request
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.support.era_requests import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, SUBSCRIPTION_ID, VERSION

_KEYS = f"""
_meta {VERSION} {CAPABILITIES} {CLIENT_INFO} {LOG_LEVEL} {SERVER_INFO} {SUBSCRIPTION_ID} progressToken traceparent
name uri arguments cursor ref argument context level progress notifications protocolVersion capabilities clientInfo
serverInfo instructions supportedVersions supported content structuredContent messages tools prompts resources
inputSchema outputSchema type properties items definitions $ref $id x-mcp-header execution resultType ttlMs
resourceSubscriptions taskIds toolsListChanged text data mimeType title annotations
""".split()
_TEXTS = ("2026-07-28", "2025-06-18", "complete", "object", "array", "string", "resource_link", "audio", "text", "#")
_numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), _numbers, st.sampled_from(_TEXTS), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5), st.just({"_meta": {}})
    ),
    max_leaves=25,
)
_objects = st.dictionaries(st.sampled_from(_KEYS), _json, max_size=6)
_results = st.one_of(_objects, _objects, _json).map(lambda value: Raw(json.dumps(value).encode()))
_params = st.one_of(st.none(), _results)
_methods = st.sampled_from([*sorted(CARRIED), "initialize", "subscriptions/listen", "server/discover", "ping"])
_told = st.sampled_from(["notifications/message", "notifications/resources/updated", "vendor/told"])


@given(_params, _methods, st.lists(st.sampled_from([*SUPPORTED, "1", ""]), max_size=2))
def test_a_request_has_an_era_or_a_refusal(params: Raw | None, method: str, versions: list[str]) -> None:
    request = Request(1, method, params)
    choose_pipe(request)
    choose_http(versions, request)
    headers = {"mcp-protocol-version": versions, "mcp-method": [method]}
    for refusal in (modern_client.check(request, headers), modern_client.check(request, None)):
        assert refusal is None or refusal.status in (400, 404)
    modern_client.check(Notification(method, params), headers)


_READERS: list[Callable[[Request], Any]] = [
    lambda request: legacy_client.read_call(request, Caller()),
    lambda request: legacy_client.read_hello(request.params),
    lambda request: legacy_client.read_level(request.params),
    lambda request: legacy_client.read_subscribed(request.method, request.params),
    lambda request: modern_client.read_call(request, "s", "p"),
    modern_client.read_listen,
]


@given(_params, _methods)
def test_a_client_is_understood_or_at_fault(params: Raw | None, method: str) -> None:
    for read in _READERS:
        with contextlib.suppress(ClientFault):
            read(Request(1, method, params))


@given(_results, _methods)
def test_a_backend_is_understood_or_in_violation(result: Raw, method: str) -> None:
    readers: list[Callable[[], Any]] = [
        lambda: legacy_backend.read_welcome(result),
        lambda: modern_backend.read_discover(result),
        *(lambda revision=revision: legacy_backend.read_done(method, result, revision) for revision in LEGACY),
        lambda: modern_backend.read_done(method, result, "2026-07-28"),
    ]
    for read in readers:
        with contextlib.suppress(Violation):
            read()
    error = ErrorObject(-32602, "no", result)
    legacy_backend.read_failed(method, error)
    modern_backend.supported_by(error)
    modern_backend.read_acknowledged(result)
    modern_backend.listen_id_of(result)
    legacy_backend.read_progress(result)


@given(_results, st.sampled_from(sorted(CARRIED)), st.booleans())
def test_a_result_of_any_content_reaches_clients_of_every_revision(result: Raw, method: str, wrapped: bool) -> None:
    try:
        done = legacy_backend.read_done(method, result, "2025-03-26")
        done = Done(modern_backend.filter_tools(done, "http").done.payload, wrapped=wrapped)
    except Violation:
        return
    for revision in LEGACY:
        assert isinstance(read_value(legacy_client.write_done(method, done, revision)), dict)
    fresh = Done(Payload(done.payload.raw()), wrapped=wrapped)
    written = read_value(modern_client.write_done(method, fresh, Raw(b'{"name":"gw"}')))
    assert written["resultType"] == "complete"


@given(_params, _told)
def test_a_notification_of_any_content_is_told_or_dropped(params: Raw | None, method: str) -> None:
    notice = legacy_backend.read_notice(method, params)
    if notice is None:
        return
    for revision in LEGACY:
        legacy_client.write_notice(notice, 1, revision)
    modern_client.write_notice(notice, 1, "debug")
    modern_client.write_listen_notice(notice, 1)


@pytest.mark.parametrize("depth", [60])
def test_what_framing_lets_in_is_not_too_deep_for_us(depth: int) -> None:
    """Framing allows 64 levels; nothing here may need more than Python has."""
    schema: Any = {"type": "array"}
    for _ in range(depth // 2):
        schema = {"type": "array", "items": {"not": schema}}
    listed = Raw(json.dumps({"tools": [{"name": "a", "inputSchema": schema, "outputSchema": schema}]}).encode())
    assert read_value(
        legacy_client.write_done(
            "tools/list", legacy_backend.read_done("tools/list", listed, "2025-06-18"), "2025-06-18"
        )
    )
