"""All servers merged: names, order, owners, and what is missing."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.errors import BackendUnavailable, ClientFault
from emceepee.relay.direct import SHADOWED, STALE, UNREACHABLE, Direct
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.notices import EVERY_LIST, Interest, ListChanged, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import CacheHints, Done, Failed
from emceepee.vocabulary.raw_json import read_value, to_raw
from tests.support.fake_backends import (
    EVERYTHING,
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
from tests.support.fake_clock import settle


def two() -> House:
    return make_house(
        one=FakeServer(
            lists={
                "tools": [tool("echo"), tool("z", outputSchema={"type": "array"})],
                "prompts": [{"name": "p"}],
                "resources": [{"uri": "r:1", "name": "r"}],
                "resourceTemplates": [{"uriTemplate": "one:{x}", "name": "t"}],
            }
        ),
        two=FakeServer(lists={"tools": [tool("echo")], "resources": [{"uri": "r:1", "name": "R"}]}),
    )


async def listed(house: House, method: str, **params: str) -> dict[str, object]:
    result: dict[str, object] = plain(await Direct(house.middle).carry(call(method, **params), None))
    return result


def names(result: dict[str, object]) -> list[str]:
    return [entry["name"] for entry in result["tools"]]  # type: ignore[attr-defined]


async def test_names_carry_their_server_in_the_registrys_order() -> None:
    assert names(await listed(two(), "tools/list")) == ["one__echo", "one__z", "two__echo"]


async def test_the_list_is_the_same_each_time() -> None:
    house = two()
    assert await listed(house, "tools/list") == await listed(house, "tools/list")


@pytest.mark.parametrize(("name", "server", "own"), [("one__echo", "one", "echo"), ("two__echo", "two", "echo")])
async def test_a_call_goes_to_its_server_under_its_own_name(name: str, server: str, own: str) -> None:
    house = two()
    await Direct(house.middle).carry(call("tools/call", name=name, arguments={"a": 1}), None)
    asked = house.pool.servers[server].asked[-1]
    assert (asked.method, read_value(asked.params["name"])) == ("tools/call", own)
    assert read_value(asked.params["arguments"]) == {"a": 1}


async def test_a_name_that_was_never_listed_is_looked_up_at_its_server_only() -> None:
    house = two()
    await Direct(house.middle).carry(call("tools/call", name="two__echo"), None)
    assert house.pool.servers["one"].asked == []


async def test_a_long_name_is_cut_and_still_finds_its_tool() -> None:
    long = "x" * 80
    house = make_house(one=FakeServer(lists={"tools": [tool(long)]}))
    (name,) = names(await listed(house, "tools/list"))
    assert len(name) == 64
    await Direct(house.middle).carry(call("tools/call", name=name), None)
    assert read_value(house.pool.servers["one"].asked[-1].params["name"]) == long


@pytest.mark.parametrize("name", ["one__nope", "nobody__x", "plain", ""])
async def test_an_unknown_tool_is_refused(name: str) -> None:
    with pytest.raises(ClientFault) as refused:
        await Direct(two().middle).carry(call("tools/call", name=name), None)
    assert refused.value.code == -32602


async def test_a_tool_of_a_server_that_is_down_is_its_servers_fault() -> None:
    house = two()
    house.registry.add(definition("down"))
    with pytest.raises(BackendUnavailable):
        await Direct(house.middle).carry(call("tools/call", name="down__x"), None)


@pytest.mark.shows("EB-F13")
async def test_a_result_of_a_tool_with_wrapped_output_is_marked() -> None:
    outcome = await Direct(two().middle).carry(call("tools/call", name="one__z"), None)
    assert isinstance(outcome, Done)
    assert outcome.wrapped


async def test_prompts_are_named_and_routed_alike() -> None:
    house = two()
    assert (await listed(house, "prompts/list"))["prompts"] == [{"name": "one__p"}]
    await Direct(house.middle).carry(call("prompts/get", name="one__p"), None)
    assert read_value(house.pool.servers["one"].asked[-1].params["name"]) == "p"


async def test_a_resource_of_two_servers_is_the_first_ones_and_the_other_is_named() -> None:
    house = two()
    result = await listed(house, "resources/list")
    assert result["resources"] == [{"uri": "r:1", "name": "r"}]
    assert result["_meta"] == {SHADOWED: [{"server": "two", "uri": "r:1"}]}
    await Direct(house.middle).carry(call("resources/read", uri="r:1"), None)
    assert house.pool.servers["one"].methods()[-1] == "resources/read"


async def test_a_resource_is_found_by_its_template() -> None:
    house = two()
    await Direct(house.middle).carry(call("resources/read", uri="one:7"), None)
    assert house.pool.servers["one"].methods()[-1] == "resources/read"
    assert "resources/read" not in house.pool.servers["two"].methods()


async def test_a_resource_that_nobody_lists_is_asked_of_those_that_may_have_it() -> None:
    house = two()
    missing = Failed(-32002, "no", None, "resource_not_found")
    house.pool.servers["one"].answer = answers(missing)
    house.pool.servers["two"].answer = answers(text_result("there"))
    outcome = await Direct(house.middle).carry(call("resources/read", uri="hidden:1"), None)
    assert plain(outcome)["content"][0]["text"] == "there"
    house.pool.servers["two"].answer = answers(missing)
    outcome = await Direct(house.middle).carry(call("resources/read", uri="hidden:1"), None)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, read_value(outcome.data or b"")) == ("resource_not_found", {"uri": "hidden:1"})


async def test_completion_finds_its_prompt_and_its_template() -> None:
    house = two()
    direct = Direct(house.middle)
    argument = {"name": "x", "value": ""}
    await direct.carry(
        call("completion/complete", ref={"type": "ref/prompt", "name": "one__p"}, argument=argument), None
    )
    assert read_value(house.pool.servers["one"].asked[-1].params["ref"]) == {"type": "ref/prompt", "name": "p"}
    ref = {"type": "ref/resource", "uri": "one:{x}"}
    await direct.carry(call("completion/complete", ref=ref, argument=argument), None)
    assert read_value(house.pool.servers["one"].asked[-1].params["ref"]) == ref
    with pytest.raises(ClientFault):
        await direct.carry(call("completion/complete", ref="x"), None)


async def test_a_slow_server_is_not_waited_for_and_named() -> None:
    house = two()
    house.registry.add(definition("slow"))
    house.pool.servers["slow"] = FakeServer(hangs=True)
    house.registry.add(definition("down"))
    asking = house.tasks.spawn(listed(house, "tools/list"), "ask")
    await house.clock.advance(2.1)
    async with asyncio.timeout(5):
        result = await asking
    assert names(result) == ["one__echo", "one__z", "two__echo"]
    assert result["_meta"] == {
        UNREACHABLE: [
            {"server": "slow", "why": "Server 'slow': did not answer within 2 s"},
            {"server": "down", "why": "Server 'down': connection refused"},
        ]
    }
    await house.tasks.close()


async def test_a_server_that_went_away_keeps_its_entries_and_their_age() -> None:
    house = two()
    await listed(house, "tools/list")
    house.pool.lose("two")
    house.pool.servers["two"].fault = BackendUnavailable("two", "gone")
    await house.clock.advance(3)
    result = await listed(house, "tools/list")
    assert "two__echo" in names(result)
    assert result["_meta"] == {STALE: [{"server": "two", "ageMs": 3000, "why": "Server 'two': gone"}]}


@pytest.mark.shows("EB-F12")
async def test_hints_are_the_tightest_and_a_silent_server_makes_them_none() -> None:
    house = make_house(a=FakeServer(lists={"tools": [tool("x")]}, hints=CacheHints(60_000, "public")), b=FakeServer())
    direct = Direct(house.middle)
    await direct.carry(call("tools/list"), None)
    await house.clock.advance(20)
    outcome = await direct.carry(call("tools/list"), None)
    assert isinstance(outcome, Done)
    assert outcome.hints == CacheHints(0, "private")
    assert house.pool.servers["a"].methods() == ["tools/list"]
    house.registry.remove("b")
    outcome = await direct.carry(call("tools/list"), None)
    assert isinstance(outcome, Done)
    assert outcome.hints == CacheHints(40_000, "public")


@pytest.mark.shows("EB-F17")
async def test_pages_of_the_merged_list_and_a_cursor_from_before_a_change() -> None:
    house = two()
    house = make_house(RelaySettings(page_size=2), **house.pool.servers)
    first = await listed(house, "tools/list")
    second = await listed(house, "tools/list", cursor=str(first["nextCursor"]))
    assert names(first) + names(second) == ["one__echo", "one__z", "two__echo"]
    house.registry.remove("two")
    with pytest.raises(ClientFault):
        await listed(house, "tools/list", cursor=str(first["nextCursor"]))


async def test_describing_waits_for_nobody() -> None:
    house = make_house(
        a=FakeServer(about=About(EVERYTHING, instructions="Use wisely")), b=FakeServer(), down=FakeServer()
    )
    house.pool.servers["down"].fault = BackendUnavailable("down", "gone")
    await listed(house, "tools/list")
    house.pool.connecting["b"] = asyncio.Event()
    said = await Direct(house.middle).describe(caller())
    assert set(said.capabilities) == set(EVERYTHING)
    assert "a: Use wisely" in (said.instructions or "")
    assert "Server 'down' is not reachable now" in (said.instructions or "")


async def test_adding_and_removing_a_server_changes_the_lists_of_those_who_listen() -> None:
    house = two()
    heard: list[Notice] = []
    await Direct(house.middle).listen(caller(), Interest(frozenset(("tools",))), heard.append)
    house.registry.add(definition("three"))
    assert heard == [ListChanged("tools")]
    house.registry.add(definition("three"))
    assert len(heard) == 1
    house.registry.remove("three")
    assert heard == [ListChanged("tools")] * 2


async def test_who_was_shown_a_list_without_a_slow_server_is_told_when_it_has_answered() -> None:
    slow = FakeServer(hangs=True, lists={"tools": [tool("x")]})
    house = make_house(one=FakeServer(lists={"tools": [tool("echo")]}), slow=slow)
    heard: list[Notice] = []
    await Direct(house.middle).listen(caller(), Interest(frozenset(("tools",))), heard.append)
    asking = house.tasks.spawn(listed(house, "tools/list"), "ask")
    await house.clock.advance(2.1)
    async with asyncio.timeout(5):
        assert names(await asking) == ["one__echo"]
    assert heard == []
    slow.release()
    await settle()
    assert heard == [ListChanged("tools")]
    assert names(await listed(house, "tools/list")) == ["one__echo", "slow__x"]
    assert heard == [ListChanged("tools")]


async def test_a_listener_hears_every_server_and_resources_of_their_owner() -> None:
    house = two()
    heard: list[Notice] = []
    wish = Interest(EVERY_LIST, frozenset(("r:1", "nobody:1")))
    listener = await Direct(house.middle).listen(caller(), wish, heard.append)
    await settle()
    assert listener.honoured == Interest(EVERY_LIST, frozenset(("r:1",)))
    house.pool.connections["two", "s"].tell(ListChanged("prompts"))
    house.pool.connections["two", "s"].tell(ResourceUpdated("r:1", {}))
    house.pool.connections["one", "s"].tell(ResourceUpdated("r:1", {"x": to_raw(1)}))
    assert heard == [ListChanged("prompts"), ResourceUpdated("r:1", {"x": to_raw(1)})]


async def test_the_input_schema_is_of_the_tool_as_listed_here() -> None:
    house = two()
    schema = await Direct(house.middle).input_schema(caller(), "two__echo")
    assert schema is not None
    assert read_value(schema) == {"type": "object"}
    assert await Direct(house.middle).input_schema(caller(), "echo") is None


async def test_an_unknown_method_is_method_not_found() -> None:
    with pytest.raises(ClientFault) as refused:
        await Direct(two().middle).carry(call("tasks/get"), None)
    assert refused.value.code == -32601
