"""Which era a message speaks, by its headers and its envelope."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.eras.choose import choose_http, choose_pipe, has_envelope
from emceepee.eras.refusal import Refusal
from emceepee.protocol.messages import Notification, Request, Result
from tests.support.era_requests import VERSION, legacy_request, modern_request, raw

CALL = {"name": "echo"}


def refused(verdict: Any) -> tuple[int, int]:
    assert isinstance(verdict, Refusal)
    return verdict.status, verdict.code


@pytest.mark.parametrize("header", [[], ["2024-11-05"], ["2025-03-26"], ["2025-06-18"], ["2025-11-25"]])
def test_without_envelope_and_with_a_legacy_header_or_none_it_is_legacy(header: list[str]) -> None:
    assert choose_http(header, legacy_request("tools/call", CALL)) == "legacy"
    assert choose_http(header, legacy_request("initialize", {"protocolVersion": "2025-06-18"})) == "legacy"
    assert choose_http(header, Notification("notifications/initialized")) == "legacy"
    assert choose_http(header, Result(1, Raw(b"{}"))) == "legacy"


@pytest.mark.parametrize("header", [[], ["2025-11-25"], ["2026-07-28"], ["2099-01-01"], ["2026-07-28", "2026-07-28"]])
@pytest.mark.shows("EB-A2", "EB-A3")
def test_an_envelope_makes_it_modern_whatever_the_header_says(header: list[str]) -> None:
    """So that what is wrong with the header is said in words of the modern era, and no client falls back by mistake."""
    assert choose_http(header, modern_request("tools/call", CALL)) == "modern"
    assert choose_http(header, modern_request("tools/call", CALL, {VERSION: "2099-01-01"})) == "modern"


def test_the_modern_header_alone_makes_it_modern() -> None:
    assert choose_http(["2026-07-28"], legacy_request("tools/call", CALL)) == "modern"
    assert choose_http(["2026-07-28"], Notification("notifications/anything")) == "modern"


def test_a_bogus_version_header_without_envelope_is_a_legacy_400() -> None:
    verdict = choose_http(["1.0"], legacy_request("tools/call", CALL, "x"))
    assert refused(verdict) == (400, -32600)
    assert isinstance(verdict, Refusal)
    assert verdict.id == "x"
    assert refused(choose_http([""], legacy_request("tools/call", CALL))) == (400, -32600)
    assert refused(choose_http(["1.0"], legacy_request("initialize", {}))) == (400, -32600)


def test_two_different_legacy_headers_are_refused_and_two_equal_ones_are_not() -> None:
    assert refused(choose_http(["2025-06-18", "2025-11-25"], legacy_request("ping"))) == (400, -32600)
    assert choose_http(["2025-06-18", "2025-06-18"], legacy_request("ping")) == "legacy"


def test_initialize_under_the_modern_header_is_told_which_versions_there_are() -> None:
    verdict = choose_http(["2026-07-28"], legacy_request("initialize", {"protocolVersion": "2025-06-18"}, 3))
    assert refused(verdict) == (400, -32022)
    assert isinstance(verdict, Refusal)
    assert verdict.id == 3
    assert verdict.data["requested"] == "2026-07-28"
    assert len(verdict.data["supported"]) == 5


def test_initialize_under_the_modern_header_and_with_an_envelope_is_a_method_that_era_has_not() -> None:
    assert choose_http(["2026-07-28"], modern_request("initialize")) == "modern"


def test_initialize_is_legacy_even_with_an_envelope() -> None:
    assert choose_http([], modern_request("initialize")) == "legacy"
    assert choose_pipe(modern_request("initialize")) == "legacy"


@pytest.mark.shows("EB-A12")
def test_an_array_is_for_legacy_sessions_only() -> None:
    assert choose_http(["2025-03-26"], [legacy_request("ping")]) == "legacy"
    assert choose_http([], [legacy_request("ping")]) == "legacy"
    assert refused(choose_http(["2026-07-28"], [legacy_request("ping")])) == (400, -32600)
    assert refused(choose_http([], [modern_request("tools/list"), "rubbish"])) == (400, -32600)


def test_a_modern_client_sends_no_responses() -> None:
    assert refused(choose_http(["2026-07-28"], Result(1, Raw(b"{}")))) == (400, -32600)


def test_on_a_pipe_each_message_is_chosen_for_itself() -> None:
    assert choose_pipe(legacy_request("tools/call", CALL)) == "legacy"
    assert choose_pipe(modern_request("tools/call", CALL)) == "modern"
    assert choose_pipe(legacy_request("server/discover")) == "legacy"
    assert choose_pipe([modern_request("tools/call", CALL)]) == "legacy"
    assert choose_pipe(Result(1, Raw(b"{}"))) == "legacy"


@pytest.mark.parametrize(
    ("params", "found"),
    [
        (rb'{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}', True),
        (rb'{"\u005fmeta":{"io.modelcontextprotocol/protocol\u0056ersion":null}}', True),
        (rb'{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}', True),
        (rb'{"arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}', False),
        (rb'{"name":"\"_meta\" io.modelcontextprotocol/protocolVersion"}', False),
        (rb'{"_meta":{"progressToken":1}}', False),
        (rb'{"_meta":[]}', False),
        (rb"[1]", False),
    ],
)
def test_the_envelope_is_found_however_it_is_spelled_and_nowhere_else(params: bytes, found: bool) -> None:
    assert has_envelope(Request(1, "tools/call", Raw(params))) is found


def test_the_envelope_of_a_large_request_is_found() -> None:
    large = {"name": "echo", "arguments": {"text": "x" * 10000}}
    assert has_envelope(modern_request("tools/call", large))
    assert not has_envelope(legacy_request("tools/call", large))


def test_a_message_without_params_has_no_envelope() -> None:
    assert not has_envelope(Request(1, "ping"))
    assert not has_envelope(raw({}))
