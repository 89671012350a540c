"""`execute_tool`: results untouched, refusals explained, every code shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.errors import BackendTimeout, BackendUnavailable, OutcomeUnknown
from emceepee.meta_tools.surface import MetaSurface
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import Notice, Progress
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Payload, read_value, to_raw
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import (
    FakeServer,
    House,
    answers,
    call,
    caller,
    make_house,
    plain,
    raises,
    text_result,
    tool,
)

READ = tool("read", inputSchema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})


def house_with(**server: Any) -> House:
    return make_house(a=FakeServer(lists={"tools": [READ]}, **server))


async def execute(house: House, **arguments: Any) -> Any:
    asked = call("tools/call", name="execute_tool", arguments={"server": "a", "tool": "read"} | arguments)
    return await MetaSurface(house.middle).carry(asked, None)


@pytest.mark.shows("A-TOOL-06", "A-EXE-02", "X-CON-29")
async def test_a_result_is_the_servers_own_object() -> None:
    result = Done(Payload(raw=b'{"content":[{"type":"new","n":1.0}],"structuredContent":[1],"_meta":{"k":1},"x":2}'))
    house = house_with(answer=answers(result))
    assert await execute(house, args={"path": "x"}) is result


async def test_the_call_that_arrives_has_the_tools_name_its_arguments_and_what_may_cross() -> None:
    async def answer(asked: Call, on_notice: Any) -> Done:
        on_notice(Progress(1.0, {}))
        return text_result("x")

    house = house_with(answer=answer)
    heard: list[Notice] = []
    arguments = to_raw({"server": "a", "tool": "read", "args": '{"path": "x"}'})
    asked = Call(
        "tools/call", {"name": to_raw("execute_tool"), "arguments": arguments}, caller(), {"m": to_raw(1)}, True, "info"
    )
    await MetaSurface(house.middle).carry(asked, heard.append)
    (arrived,) = house.pool.servers["a"].asked
    assert (arrived.method, set(arrived.params)) == ("tools/call", {"name", "arguments"})
    assert (read_value(arrived.params["name"]), bytes(arrived.params["arguments"])) == ("read", b'{"path": "x"}')
    assert (arrived.meta, arrived.wants_progress, arrived.log_level) == (asked.meta, True, "info")
    assert heard == [Progress(1.0, {})]


@pytest.mark.shows("X-BUG-27")
async def test_the_server_has_as_long_as_the_caller_waits_and_a_task_lives() -> None:
    house = house_with()
    await execute(house)
    await execute(house, timeout_ms=60_000)
    assert house.pool.servers["a"].timeouts == [120.0 + 1800, 60.0 + 1800]


@pytest.mark.shows("A-EXE-14", "X-BUG-24", "A-CON-07")
async def test_an_unknown_server_is_named_with_its_nearest_and_the_known(use: Use) -> None:
    error = (await use(make_house(files=FakeServer()), "execute_tool", server="flies", tool="t"))["error"]
    assert error["code"] == "TOOL_ERR_SERVER_NOT_FOUND"
    assert error["message"] == "Server 'flies' not found; did you mean 'files'?"
    assert error["details"] == {"serverName": "flies", "toolName": "t", "known": ["files"]}


@pytest.mark.shows("A-EXE-15", "X-BUG-24")
@pytest.mark.parametrize(
    "answer", [Failed(-32602, "Unknown tool: raed"), text_result("Unknown tool: raed", isError=True)]
)
async def test_a_tool_that_the_server_does_not_have_is_named_with_its_nearest(use: Use, answer: Any) -> None:
    error = (await use(house_with(answer=answers(answer)), "execute_tool", server="a", tool="raed"))["error"]
    assert error["code"] == "TOOL_ERR_NOT_FOUND"
    assert error["message"] == "Tool 'raed' not found on server 'a'; did you mean 'read'?"
    assert error["details"]["known"] == ["read"]


@pytest.mark.shows("A-EXE-16", "X-BUG-24")
async def test_a_refused_call_says_why(use: Use) -> None:
    house = house_with(answer=answers(Failed(-32000, "busy")))
    error = (await use(house, "execute_tool", server="a", tool="read", args={"path": "x"}))["error"]
    assert error["code"] == "TOOL_ERR_EXECUTION_FAILED"
    assert error["message"] == "Tool execution failed: busy"
    assert error["details"] == {"serverName": "a", "toolName": "read", "error": "busy", "code": -32000}


@pytest.mark.shows("A-EXE-18", "X-BUG-24")
async def test_a_server_lost_during_the_call_is_said_and_not_asked_again(use: Use) -> None:
    house = house_with(answer=raises(OutcomeUnknown("a", "the stream ended")))
    error = (await use(house, "execute_tool", server="a", tool="read"))["error"]
    assert error["code"] == "TOOL_ERR_SERVER_DISCONNECTED"
    assert error["details"]["reason"] == "outcome_unknown"
    assert house.pool.servers["a"].methods() == ["tools/call"]


@pytest.mark.shows("A-EXE-17", "X-BUG-24")
async def test_a_silent_server_is_a_time_out(use: Use) -> None:
    house = house_with(answer=raises(BackendTimeout("a", "silent for 0.25 s")))
    error = (await use(house, "execute_tool", server="a", tool="read", timeout_ms=250))["error"]
    assert (error["code"], error["message"]) == ("TOOL_ERR_TIMEOUT", "Timed out after 250ms")


@pytest.mark.shows("A-EXE-17", "X-BUG-24")
async def test_a_connect_that_never_finishes_ends_with_the_calls_own_time(use: Use) -> None:
    house = house_with()
    house.pool.connecting["a"] = asyncio.Event()
    asking = house.tasks.spawn(use(house, "execute_tool", server="a", tool="read", timeout_ms=3000), "use")
    await house.clock.advance(3.1)
    async with asyncio.timeout(5):
        error = (await asking)["error"]
    assert error["code"] == "TOOL_ERR_TIMEOUT"
    assert error["details"]["reason"] == "backend_timeout"
    assert house.pool.servers["a"].asked == []
    await house.tasks.close()


async def test_time_spent_connecting_counts() -> None:
    house = house_with()
    house.pool.connecting["a"] = asyncio.Event()
    asking = house.tasks.spawn(execute(house, timeout_ms=3000), "use")
    await house.clock.advance(1)
    house.pool.connecting["a"].set()
    await asking
    assert house.pool.servers["a"].timeouts == [2.0 + 1800]


@pytest.mark.shows("A-EXE-16", "X-BUG-24")
async def test_a_server_that_cannot_be_reached_is_an_answer_not_an_exception(use: Use) -> None:
    house = house_with(fault=BackendUnavailable("a", "connection refused"))
    error = (await use(house, "execute_tool", server="a", tool="read"))["error"]
    assert error["code"] == "TOOL_ERR_EXECUTION_FAILED"
    assert error["details"]["error"] == "connection refused"


async def test_refused_arguments_are_explained_from_the_tools_schema(use: Use) -> None:
    house = house_with(answer=answers(Failed(-32602, "Invalid params")))
    await house.middle.listing.get("a", "s", "tools", 1.0)
    error = (await use(house, "execute_tool", server="a", tool="read", args={"pth": 1}))["error"]
    assert error["details"]["arguments"] == [
        "arguments.path is required",
        "arguments.pth is not known; did you mean 'path'?",
    ]
    assert "list_tools" in error["next"]


async def test_an_error_result_keeps_its_blocks_and_gets_a_hint_beside_them() -> None:
    house = house_with(answer=answers(text_result("validation failed", isError=True, structuredContent={"x": 1})))
    await house.middle.listing.get("a", "s", "tools", 1.0)
    result = plain(await execute(house, args={}))
    assert result["content"][0] == {"type": "text", "text": "validation failed"}
    assert read_value(result["content"][1]["text"].encode())["hint"]["arguments"] == ["arguments.path is required"]
    assert (result["isError"], result["structuredContent"]) == (True, {"x": 1})


async def test_an_error_result_with_fitting_arguments_is_untouched() -> None:
    failed = text_result("no such file", isError=True)
    house = house_with(answer=answers(failed))
    assert await execute(house, args={"path": "x"}) is failed


async def test_is_error_inside_the_content_is_not_an_error() -> None:
    result = text_result('say "isError" aloud')
    assert await execute(house_with(answer=answers(result)), args={}) is result


async def test_arguments_that_do_not_fit_are_sent_all_the_same() -> None:
    house = house_with()
    await house.middle.listing.get("a", "s", "tools", 1.0)
    assert plain(await execute(house, args={"path": 7}))["content"][0]["text"] == "ok"


async def test_calls_to_one_server_do_not_wait_for_each_other() -> None:
    gates = {"1": asyncio.Event(), "2": asyncio.Event()}

    async def answer(asked: Call, on_notice: Any) -> Done:
        path = read_value(asked.params["arguments"])["path"]
        await gates[path].wait()
        return text_result(path)

    house = house_with(answer=answer)
    first = house.tasks.spawn(execute(house, args={"path": "1"}), "1")
    second = house.tasks.spawn(execute(house, args={"path": "2"}), "2")
    gates["2"].set()
    async with asyncio.timeout(5):
        assert plain(await second)["content"][0]["text"] == "2"
    assert not first.done()
    await house.tasks.close()


async def test_a_call_that_is_abandoned_is_cancelled_at_the_server() -> None:
    cancelled = asyncio.Event()

    async def answer(asked: Call, on_notice: Any) -> Done:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    house = house_with(answer=answer)
    running = house.tasks.spawn(execute(house), "call")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    async with asyncio.timeout(5):
        await cancelled.wait()
