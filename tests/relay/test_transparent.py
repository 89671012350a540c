"""One server, as if the client had connected to it."""

from __future__ import annotations

import pytest

from emceepee.errors import BackendUnavailable, ClientFault
from emceepee.relay.settings import RelaySettings
from emceepee.relay.transparent import GENEROUS, Transparent
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import ListChanged, LogLine, Notice, Progress
from emceepee.vocabulary.outcomes import CacheHints, Done, Failed
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.fake_backends import (
    FakeServer,
    House,
    answers,
    call,
    caller,
    definition,
    make_house,
    plain,
    text_result,
    tool,
)


def surface(house: House) -> Transparent:
    return Transparent(house.middle, "a")


async def test_it_says_of_itself_what_the_server_says() -> None:
    about = About({"tools": to_raw({"x": 1}), "unknown": to_raw({}), "tasks": to_raw({})}, instructions="Be kind")
    house = make_house(a=FakeServer(about=about))
    said = await surface(house).describe(caller())
    assert set(said.capabilities) == {"tools", "unknown", "tasks"}
    assert read_value(said.capabilities["tools"]) == {"x": 1}
    assert said.instructions == "Be kind"


async def test_a_client_can_attach_to_a_server_that_is_down_and_is_told() -> None:
    house = make_house()
    house.registry.add(definition("a"))
    said = await surface(house).describe(caller())
    assert said.capabilities == GENEROUS
    assert said.instructions == "Server 'a': connection refused. Calls try again to reach it."


async def test_a_slow_server_is_described_within_the_budget() -> None:
    import asyncio

    house = make_house(a=FakeServer())
    house.pool.connecting["a"] = asyncio.Event()
    describing = house.tasks.spawn(surface(house).describe(caller()), "describe")
    await house.clock.advance(2.1)
    async with asyncio.timeout(5):
        assert (await describing).capabilities == GENEROUS
    await house.tasks.close()


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read", "completion/complete"])
async def test_a_call_reaches_the_server_as_it_came_and_so_does_its_answer(method: str) -> None:
    answer = Done(text_result("x", extra={"deep": [1]}).payload, CacheHints(5, "public"))
    server = FakeServer(answer=answers(answer))
    house = make_house(a=server)
    asked = Call(method, {"name": to_raw("t"), "odd": to_raw(1)}, caller(), {"k": to_raw(2)}, True, "info")
    assert await surface(house).carry(asked, None) is answer
    assert server.asked == [asked]
    assert server.timeouts == [600.0]


async def test_notices_of_a_call_reach_its_caller() -> None:
    async def answer(call, on_notice):  # type: ignore[no-untyped-def]
        on_notice(Progress(1.0, {}))
        on_notice(LogLine("info", {}))
        return text_result("x")

    heard: list[Notice] = []
    await surface(make_house(a=FakeServer(answer=answer))).carry(call("tools/call", name="t"), heard.append)
    assert heard == [Progress(1.0, {}), LogLine("info", {})]


async def test_an_error_of_the_server_is_its_own() -> None:
    failed = Failed(-32002, "Resource not found", to_raw({"uri": "x"}), "resource_not_found")
    house = make_house(a=FakeServer(answer=answers(failed)))
    assert await surface(house).carry(call("resources/read", uri="x"), None) is failed


@pytest.mark.parametrize("method", ["tasks/list", "no/such", "resources/subscribe", "tools/execute"])
async def test_an_unknown_method_is_method_not_found(method: str) -> None:
    with pytest.raises(ClientFault) as refused:
        await surface(make_house(a=FakeServer())).carry(call(method), None)
    assert refused.value.code == -32601


@pytest.mark.shows("X-GAP-16", "X-GAP-25")
@pytest.mark.parametrize(
    ("method", "key", "entry"),
    [
        ("tools/list", "tools", {"name": "t", "inputSchema": {}, "x-new": 1}),
        ("prompts/list", "prompts", {"name": "p", "_meta": {"a": 1}}),
        ("resources/list", "resources", {"uri": "r:1", "name": "r", "size": 3}),
        ("resources/templates/list", "resourceTemplates", {"uriTemplate": "r:{x}", "name": "r"}),
    ],
)
async def test_lists_are_drained_and_entries_complete(method: str, key: str, entry: dict[str, object]) -> None:
    server = FakeServer(lists={key: [entry, entry | {"name": "z"}, entry | {"name": "y"}]}, page_size=2)
    outcome = await surface(make_house(a=server)).carry(call(method), None)
    assert plain(outcome) == {key: [entry, entry | {"name": "z"}, entry | {"name": "y"}]}


async def test_a_servers_hints_cross_as_what_remains_of_them() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}, hints=CacheHints(60_000, "public")))
    await surface(house).carry(call("tools/list"), None)
    await house.clock.advance(20)
    outcome = await surface(house).carry(call("tools/list"), None)
    assert isinstance(outcome, Done)
    assert outcome.hints == CacheHints(40_000, "public")


async def test_our_pages_join_up_to_the_whole_list() -> None:
    house = make_house(RelaySettings(page_size=2), a=FakeServer(lists={"tools": [tool(n) for n in "vwxyz"]}))
    names: list[str] = []
    params: dict[str, str] = {}
    for _ in range(3):
        page = plain(await surface(house).carry(call("tools/list", **params), None))
        names += [entry["name"] for entry in page["tools"]]
        params = {"cursor": page.get("nextCursor", "")}
    assert names == list("vwxyz")
    assert "nextCursor" not in page
    assert len(house.pool.servers["a"].asked) == 1


@pytest.mark.shows("EB-F17")
async def test_a_cursor_from_before_a_change_is_refused() -> None:
    server = FakeServer(lists={"tools": [tool(n) for n in "xyz"]})
    house = make_house(RelaySettings(page_size=2), a=server)
    page = plain(await surface(house).carry(call("tools/list"), None))
    server.lists["tools"].append(tool("new"))
    house.pool.connections["a", "s"].tell(ListChanged("tools"))
    with pytest.raises(ClientFault) as refused:
        await surface(house).carry(call("tools/list", cursor=page["nextCursor"]), None)
    assert refused.value.code == -32602


@pytest.mark.shows("X-BUG-36")
async def test_lists_of_what_a_server_does_not_have_are_empty() -> None:
    house = make_house(a=FakeServer(about=About({})))
    assert plain(await surface(house).carry(call("tools/list"), None)) == {"tools": []}


async def test_a_list_of_a_server_that_was_never_reached_is_its_fault() -> None:
    house = make_house()
    house.registry.add(definition("a"))
    with pytest.raises(BackendUnavailable):
        await surface(house).carry(call("tools/list"), None)


@pytest.mark.shows("A-CON-07", "X-BUG-44")
async def test_a_server_that_was_removed_is_not_found() -> None:
    house = make_house(a=FakeServer())
    await surface(house).carry(call("tools/call", name="t"), None)
    house.registry.remove("a")
    for method in ("tools/call", "tools/list"):
        with pytest.raises(ClientFault, match="Server 'a' not found"):
            await surface(house).carry(call(method, name="t"), None)


@pytest.mark.shows("EB-F13")
async def test_a_result_of_a_tool_with_wrapped_output_is_marked() -> None:
    tools = [
        tool("array", outputSchema={"type": "array"}),
        tool("object", outputSchema={"type": "object"}),
        tool("none"),
    ]
    house = make_house(a=FakeServer(lists={"tools": tools}))
    await surface(house).carry(call("tools/list"), None)
    marks = {}
    for name in ("array", "object", "none"):
        outcome = await surface(house).carry(call("tools/call", name=name), None)
        assert isinstance(outcome, Done)
        marks[name] = outcome.wrapped
    assert marks == {"array": True, "object": False, "none": False}


async def test_the_input_schema_is_the_listed_one() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x", inputSchema={"type": "object", "k": 1})]}))
    schema = await surface(house).input_schema(caller(), "x")
    assert schema is not None
    assert read_value(schema) == {"type": "object", "k": 1}
    assert await surface(house).input_schema(caller(), "y") is None
    assert len(house.pool.servers["a"].asked) == 1


async def test_forgetting_a_scope_releases_its_connections() -> None:
    house = make_house(a=FakeServer())
    await surface(house).carry(call("tools/call", name="t"), None)
    await surface(house).forget("s")
    assert house.pool.connections == {}
