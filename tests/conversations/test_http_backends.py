"""What is special about servers behind HTTP, over real sockets: probe, session, cancellation, mirrored headers."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from tests.conversations.house import House
from tests.support.http_backend import HANG, HttpBackend, Reply, mcp_legacy, mcp_modern

PATH = "/servers/files/mcp"
CALL = {"name": "echo", "arguments": {"text": "hi"}}


def house_at(url: str) -> House:
    return House({}, (ServerDefinition("files", HttpEndpoint(url)),))


@pytest.mark.shows("EB-B1")
async def test_a_bare_400_to_the_probe_is_followed_by_the_handshake_without_a_version_header() -> None:
    async with HttpBackend(mcp_legacy()) as backend:
        house = house_at(backend.url)
        result = await house.modern_client(PATH).result("tools/call", CALL)
        assert result["content"] == []
        await backend.saw("GET")
        assert backend.said()[:3] == ["server/discover", "initialize", "notifications/initialized"]
        by_method = {request.says: request.headers for request in backend.requests}
        assert by_method["server/discover"]["mcp-protocol-version"] == "2026-07-28"
        assert "mcp-protocol-version" not in by_method["initialize"]
        assert by_method["tools/call"]["mcp-protocol-version"] == "2025-11-25"
        assert by_method["tools/call"]["mcp-session-id"] == "session-1"
        await house.close()
        assert backend.said()[-1] == "DELETE"


@pytest.mark.shows("EB-B2")
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_of_credentials_is_no_verdict_and_no_reason_for_a_handshake(status: int) -> None:
    refusal = Reply(status, {"www-authenticate": "Bearer"}, b"")

    async def answer(asked: Any) -> Reply:
        return refusal

    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        error = (await house.modern_client(PATH).call("tools/call", CALL))["error"]
        assert (error["code"], error["data"]["reason"]) == (-32603, "backend_auth")
        assert set(backend.said()) == {"server/discover"}
        assert not house.gateway.backends.dialer.knows(house.gateway.registry.get("files"))  # type: ignore[arg-type]
        await house.close()


@pytest.mark.shows("EB-B3")
async def test_an_outage_is_no_verdict() -> None:
    async def answer(asked: Any) -> Reply:
        return Reply(503, {"content-type": "text/plain"}, b"later")

    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        error = (await house.modern_client(PATH).call("tools/call", CALL))["error"]
        assert (error["code"], error["data"]["reason"]) == (-32603, "backend_unavailable")
        assert set(backend.said()) == {"server/discover"}
        await house.close()


@pytest.mark.shows("EB-B8")
async def test_a_server_upgraded_behind_a_stale_verdict_is_found_out_by_the_next_use() -> None:
    legacy = mcp_legacy()
    async with HttpBackend(legacy) as backend:
        house = house_at(backend.url)
        client = house.modern_client(PATH)
        await client.result("tools/call", CALL)
        backend.answer = mcp_modern(lambda message: {"content": [{"type": "text", "text": "modern"}]})
        await house.clock.advance(3601)
        result = await client.result("tools/call", CALL)
        assert result["content"][0]["text"] == "modern"
        assert backend.said().count("server/discover") == 2
        await house.close()


@pytest.mark.shows("EB-B9")
async def test_an_expired_session_is_made_again_and_the_call_sent_once_more() -> None:
    sessions: list[str] = []
    async with HttpBackend(mcp_legacy(sessions=sessions)) as backend:
        house = house_at(backend.url)
        client = await house.legacy_client(PATH)
        await client.result("tools/call", CALL)
        sessions.clear()
        before = len(backend.requests)
        result = await client.result("tools/call", CALL)
        assert result["content"] == []
        said = [says for says in backend.said()[before:] if says not in ("GET", "DELETE")]
        assert said == ["tools/call", "initialize", "notifications/initialized", "tools/call"]
        assert (await backend.saw("tools/call", 3)).headers["mcp-session-id"] == "session-2"
        await house.close()


@pytest.mark.shows("EB-F3")
async def test_a_legacy_clients_cancellation_closes_the_stream_of_a_modern_http_backend() -> None:
    answer = mcp_modern(lambda message: HANG if message["method"] == "tools/call" else {"tools": []})  # type: ignore[return-value,arg-type]
    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        client = await house.legacy_client(PATH)
        waiting = client.start("tools/call", CALL, request_id=9)
        call = await backend.saw("tools/call")
        await client.tell("notifications/cancelled", {"requestId": 9})
        await call.gone.wait()
        await waiting.done()
        assert "notifications/cancelled" not in backend.said()
        assert b'"id":9' not in waiting.body
        await house.close()


MIRRORED = {
    "name": "ship",
    "inputSchema": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
}


@pytest.mark.shows("EB-F16")
async def test_a_legacy_clients_call_carries_the_mirrored_argument_to_the_backend() -> None:
    answer = mcp_modern(
        lambda m: (
            {"tools": [MIRRORED], "ttlMs": 0, "cacheScope": "private"} if "list" in m["method"] else {"content": []}
        )
    )
    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        client = await house.legacy_client(PATH)
        await client.result("tools/call", {"name": "ship", "arguments": {"region": "eu"}})
        headers = (await backend.saw("tools/call")).headers
        assert (headers["mcp-param-region"], headers["mcp-name"]) == ("eu", "ship")
        await house.close()


@pytest.mark.shows("EB-E15")
async def test_after_a_header_mismatch_the_list_is_read_again_and_the_call_sent_once_more() -> None:
    listed = {"ttlMs": 0, "cacheScope": "private"}
    calls = 0

    def result(message: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        if message["method"] == "tools/list":
            tool = MIRRORED if calls else {"name": "ship", "inputSchema": {"type": "object"}}
            return {"tools": [tool], **listed}
        calls += 1
        return {"code": -32020, "message": "Mcp-Param-Region missing"} if calls == 1 else {"content": []}

    async with HttpBackend(mcp_modern(result)) as backend:
        house = house_at(backend.url)
        await house.modern_client(PATH).result("tools/call", {"name": "ship", "arguments": {"region": "eu"}})
        assert backend.said()[-2:] == ["tools/list", "tools/call"]
        assert (await backend.saw("tools/call", 2)).headers["mcp-param-region"] == "eu"
        assert "mcp-param-region" not in (await backend.saw("tools/call", 1)).headers
        await house.close()


@pytest.mark.shows("EB-F14")
async def test_a_tool_whose_annotation_is_invalid_is_not_listed_and_the_others_are() -> None:
    broken = {
        "name": "bad",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}},
    }
    answer = mcp_modern(lambda m: {"tools": [broken, MIRRORED], "ttlMs": 0, "cacheScope": "private"})
    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        listed = await house.modern_client(PATH).result("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["ship"]
        await house.close()


async def test_a_web_page_is_no_server_and_says_so() -> None:
    async def answer(asked: Any) -> Reply:
        return Reply(200, {"content-type": "text/html"}, b"<html>hello</html>")

    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        error = (await house.modern_client(PATH).call("tools/call", CALL))["error"]
        assert error["code"] == -32603
        assert "html" in error["message"].lower()
        await house.close()


async def test_after_a_405_the_old_event_stream_is_tried_before_giving_up() -> None:
    async def answer(asked: Any) -> Reply:
        if asked.method == "POST":
            return Reply(405, {}, b"")
        return Reply(404, {}, b"")

    async with HttpBackend(answer) as backend:
        house = house_at(backend.url)
        error = (await house.modern_client(PATH).call("tools/call", CALL))["error"]
        assert error["code"] == -32603
        assert backend.said()[:3] == ["server/discover", "initialize", "GET"]
        await house.close()
