"""Calls without asks in all four combinations of eras (era-bridging 2.1, 2.8, 2.12): what stood on each wire."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.house import CAPABILITIES, LOG_LEVEL, SERVER_INFO, VERSION, House, let_run, wire
from tests.support.scripted_backend import ECHO, Fail, ScriptedBackend, Turn

ODD = {"type": "video", "codec": {"name": "av1"}, "future": [1, None]}
PATH = "/servers/files/mcp"
CALL = {"name": "echo", "arguments": {"text": "hi"}}
ERAS = ["legacy", "modern"]


async def client_of(house: House, era: str) -> Any:
    return await house.legacy_client(PATH) if era == "legacy" else house.modern_client(PATH)


def assert_nothing_hop_local_crossed(era: str, result: dict[str, Any]) -> None:
    assert ("resultType" in result) == (era == "modern")
    info = result.get("_meta", {}).get(SERVER_INFO)
    assert info is None if era == "legacy" else info["name"] == "emceepee"
    assert "ttlMs" not in result or era == "modern"


@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("front", ERAS)
@pytest.mark.shows("EB-E16", "X-GAP-25")
async def test_unknown_blocks_and_fields_cross_both_ways_untouched(front: str, behind: str) -> None:
    backend = ScriptedBackend(behind, {"tools/call": {"content": [ODD], "x-extra": {"deep": [1.50, "é"]}}})  # type: ignore[arg-type]
    house = House({"files": backend})
    client = await client_of(house, front)
    params = {**CALL, "x-param": {"kept": True}, "_meta": {"com.example/tag": "t"}}
    if front == "modern":
        params.pop("_meta")
        result = await client.result("tools/call", params, meta={"com.example/tag": "t"})
    else:
        result = await client.result("tools/call", params)
    assert (result["content"], result["x-extra"]) == ([ODD], {"deep": [1.50, "é"]})
    assert_nothing_hop_local_crossed(front, result)
    seen = wire(backend, "tools/call")
    assert seen["x-param"] == {"kept": True}
    assert seen["_meta"]["com.example/tag"] == "t"
    assert (VERSION in seen["_meta"]) == (behind == "modern")
    assert seen["_meta"].get(CAPABILITIES, {}) == {}
    await house.close()


@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize("token", [1, "one"])
@pytest.mark.shows("EB-F1")
async def test_progress_comes_back_under_the_clients_own_token(front: str, behind: str, token: int | str) -> None:
    tokens: list[Any] = []

    def slow(turn: Turn) -> dict[str, Any]:
        tokens.append(turn.meta["progressToken"])
        turn.progress(1, total=2, message="half")
        turn.progress(1)
        turn.progress(2, total=2)
        return {"content": []}

    house = House({"files": ScriptedBackend(behind, {"tools/call": slow})}, affinity="shared")  # type: ignore[arg-type]
    clients = [await client_of(house, front) for _ in range(2)]
    for client in clients:
        if front == "modern":
            answer = client.start("tools/call", CALL, meta={"progressToken": token})
        else:
            answer = client.start("tools/call", {**CALL, "_meta": {"progressToken": token}})
        await answer.done()
        told = [event["params"] for event in answer.events if event.get("method") == "notifications/progress"]
        assert [(p["progressToken"], p["progress"]) for p in told] == [(token, 1), (token, 2)]
        assert told[0]["message"] == "half"
        assert "result" in answer.events[-1]
    assert tokens[0] != tokens[1]
    assert token not in tokens
    await house.close()


@pytest.mark.shows("EB-F2", "C-CAN-01")
async def test_a_modern_client_that_leaves_cancels_at_a_legacy_backend() -> None:
    backend = ScriptedBackend("legacy", {"tools/call": "silent"})
    house = House({"files": backend})
    answer = house.modern_client(PATH).start("tools/call", CALL)
    await backend.saw("tools/call")
    await let_run()
    await house.clock.advance(1)
    answer.leave()
    cancelled = await backend.saw("notifications/cancelled")
    assert cancelled["requestId"] in [m.id for m in backend.received if getattr(m, "method", "") == "tools/call"]  # type: ignore[union-attr]
    await house.close()


async def test_a_legacy_client_that_leaves_cancels_nothing() -> None:
    backend = ScriptedBackend("legacy", {"tools/call": "silent"})
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    answer = client.start("tools/call", CALL)
    await backend.saw("tools/call")
    await house.clock.advance(1)
    answer.leave()
    await let_run()
    assert backend.cancelled == []
    await house.close()


@pytest.mark.parametrize("behind", ERAS)
async def test_a_legacy_clients_cancellation_reaches_the_backend_and_is_not_answered(behind: str) -> None:
    backend = ScriptedBackend(behind, {"tools/call": "silent"})  # type: ignore[arg-type]
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    answer = client.start("tools/call", CALL, request_id="c1")
    await backend.saw("tools/call")
    await client.tell("notifications/cancelled", {"requestId": "c1", "reason": "enough"})
    await backend.saw("notifications/cancelled")
    await answer.done()
    assert b"c1" not in answer.body
    await house.close()


@pytest.mark.shows("EB-F4")
async def test_a_modern_client_hears_only_the_log_lines_it_opted_into_of_a_legacy_backend() -> None:
    def chatty(turn: Turn) -> dict[str, Any]:
        turn.notify("notifications/message", {"level": "info", "data": "small talk"})
        turn.notify("notifications/message", {"level": "error", "data": "fire"})
        return {"content": []}

    backend = ScriptedBackend("legacy", {"tools/call": chatty})
    house = House({"files": backend})
    client = house.modern_client(PATH)
    answer = await client.start("tools/call", CALL, meta={LOG_LEVEL: "warning"}).done()
    assert [event["params"]["data"] for event in answer.events[:-1]] == ["fire"]
    assert backend.params("logging/setLevel") == [{"level": "warning"}]
    await client.start("tools/call", CALL, meta={LOG_LEVEL: "error"}).done()
    assert len(backend.params("logging/setLevel")) == 1, "never lowered for one call"
    silent = await client.start("tools/call", CALL).done()
    assert "error" not in silent.body.decode()
    assert silent.json["result"]["content"] == []
    await house.close()


@pytest.mark.shows("EB-F6")
async def test_a_legacy_clients_level_goes_onto_each_request_to_a_modern_backend() -> None:
    def chatty(turn: Turn) -> dict[str, Any]:
        turn.notify("notifications/message", {"level": "debug", "data": turn.meta[LOG_LEVEL]})
        return {"content": []}

    backend = ScriptedBackend("modern", {"tools/call": chatty})
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    assert await client.result("logging/setLevel", {"level": "debug"}) == {}
    answer = await client.start("tools/call", CALL).done()
    assert answer.events[0]["params"]["data"] == "debug"
    assert "logging/setLevel" not in backend.methods()
    await house.close()


@pytest.mark.shows("EB-F7")
async def test_a_log_line_on_a_shared_pipe_reaches_neither_of_two_calls_that_wait() -> None:
    backend = ScriptedBackend("modern", {"tools/call": "silent"})
    house = House({"files": backend})
    client = house.modern_client(PATH)
    answers = [client.start("tools/call", CALL, meta={LOG_LEVEL: "debug"}) for _ in range(2)]
    await backend.saw("tools/call", times=2)
    backend.connections[-1].say(
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"whose?"}}'
    )
    await let_run()
    assert [answer.body for answer in answers] == [b"", b""]
    await house.close()


@pytest.mark.shows("EB-F18")
@pytest.mark.parametrize("behind", ERAS)
async def test_a_trace_goes_on_under_our_own_place_in_it(behind: str) -> None:
    backend = ScriptedBackend(behind)  # type: ignore[arg-type]
    house = House({"files": backend})
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await house.modern_client(PATH).result("tools/call", CALL, meta={"traceparent": parent})
    sent = wire(backend, "tools/call")["_meta"]["traceparent"]
    assert sent != parent
    assert sent.split("-")[1] == parent.split("-")[1]
    assert sent.split("-")[3] == "01"
    await house.close()


@pytest.mark.shows("EB-F19")
@pytest.mark.parametrize(("front", "code"), [("legacy", -32002), ("modern", -32602)])
@pytest.mark.parametrize(("behind", "answers"), [("legacy", -32002), ("modern", -32602)])
async def test_a_missing_resource_has_each_eras_own_code(front: str, code: int, behind: str, answers: int) -> None:
    backend = ScriptedBackend(
        behind,  # type: ignore[arg-type]
        {"resources/read": Fail(answers, "no such resource", {"uri": "a://b"})},
        capabilities={"resources": {}},
    )
    house = House({"files": backend})
    client = await client_of(house, front)
    error = (await client.call("resources/read", {"uri": "a://b"}))["error"]
    assert (error["code"], error["data"]["uri"]) == (code, "a://b")
    await house.close()


@pytest.mark.shows("EB-F13")
async def test_output_that_is_no_object_is_wrapped_for_legacy_clients() -> None:
    tool = {**ECHO, "name": "list", "outputSchema": {"type": "array", "items": {"type": "integer"}}}
    backend = ScriptedBackend("modern", {"tools/call": {"content": [], "structuredContent": [1, 2]}}, tools=[tool])
    house = House({"files": backend})
    legacy = await house.legacy_client(PATH)
    listed = (await legacy.result("tools/list"))["tools"][0]["outputSchema"]
    assert listed["type"] == "object"
    assert listed["properties"]["result"] == tool["outputSchema"]
    result = await legacy.result("tools/call", {"name": "list", "arguments": {}})
    assert result["structuredContent"] == {"result": [1, 2]}
    assert result["content"] == [{"type": "text", "text": "[1, 2]"}]
    modern = await house.modern_client(PATH).result("tools/call", {"name": "list", "arguments": {}})
    assert modern["structuredContent"] == [1, 2]
    await house.close()


@pytest.mark.shows("EB-F5")
async def test_log_lines_nobody_opted_into_are_kept_for_who_asks() -> None:
    def chatty(turn: Turn) -> dict[str, Any]:
        turn.notify("notifications/message", {"level": "error", "data": "fire"})
        return {"content": []}

    house = House({"files": ScriptedBackend("legacy", {"tools/call": chatty})})
    client = house.modern_client("/mcp")
    executed = {"name": "execute_tool", "arguments": {"server": "files", "tool": "echo", "args": {}}}
    answer = await client.start("tools/call", executed).done()
    assert answer.headers["content-type"] == "application/json"
    result = await client.result("tools/call", {"name": "get_logs", "arguments": {"server": "files"}})
    assert "fire" in result["content"][0]["text"]
    await house.close()
