"""Requests of both eras, as tests want them: well formed unless a test breaks them.

Not here: sending anything. The one rule: what it makes is valid, so that a test shows exactly what it changed.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.protocol.messages import Request, RequestId
from emceepee.vocabulary.raw_json import to_raw

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
ENVELOPE: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}, CLIENT_INFO: {"name": "tester", "version": "1"}}

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def raw(value: Any) -> Raw:
    return to_raw(value)


def legacy_request(method: str, params: Any = None, request_id: RequestId = 1) -> Request:
    return Request(request_id, method, None if params is None else raw(params))


def modern_request(
    method: str, params: dict[str, Any] | None = None, meta: dict[str, Any] | None = None, request_id: RequestId = 1
) -> Request:
    """With a whole envelope; `meta` adds to it or replaces in it."""
    return Request(request_id, method, raw({**(params or {}), "_meta": {**ENVELOPE, **(meta or {})}}))


def routing_headers(method: str, params: dict[str, Any] | None = None) -> dict[str, list[str]]:
    """What a client sends with such a request."""
    headers = {"mcp-protocol-version": ["2026-07-28"], "mcp-method": [method]}
    named_by = NAMED_BY.get(method)
    if named_by is not None:
        headers["mcp-name"] = [(params or {})[named_by]]
    return headers
