"""Unasked notices, subscriptions and lists across the eras (era-bridging 2.9, 2.10): what stood on each wire."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.house import SUBSCRIPTION, House, let_run, wire
from tests.support.scripted_backend import ECHO, Fail, ScriptedBackend, Turn

PATH = "/servers/files/mcp"
RESOURCES = {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}}
URI = "file:///a"


def with_resources(era: str, **more: Any) -> ScriptedBackend:
    listed = {"resources": [{"uri": URI, "name": "a"}, {"uri": "file:///b", "name": "b"}]}
    answers = {"resources/list": listed, "resources/templates/list": {"resourceTemplates": []}} | more
    return ScriptedBackend(era, answers, capabilities=RESOURCES)  # type: ignore[arg-type]


def told(answer: Any) -> list[tuple[str, Any]]:
    return [(event.get("method", "result"), event.get("params", event.get("result"))) for event in answer.events]


@pytest.mark.parametrize("behind", ["legacy", "modern"])
async def test_a_list_change_reaches_a_legacy_session_on_its_standing_stream(behind: str) -> None:
    backend = ScriptedBackend(behind)  # type: ignore[arg-type]
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    stream = await client.get()
    await client.result("tools/list")
    await let_run()
    backend.notify("notifications/tools/list_changed")
    await stream.until(lambda: bool(stream.events))
    assert told(stream) == [("notifications/tools/list_changed", None)]
    await house.close()


@pytest.mark.shows("EB-F8")
@pytest.mark.parametrize("behind", ["legacy", "modern"])
async def test_a_modern_listener_gets_what_can_be_delivered_tagged_with_its_own_id(behind: str) -> None:
    backend = ScriptedBackend(behind)  # type: ignore[arg-type]
    house = House({"files": backend})
    stream = await house.modern_client(PATH).listen(toolsListChanged=True, resourceSubscriptions=["file:///nobody"])
    method, params = told(stream)[0]
    assert method == "notifications/subscriptions/acknowledged"
    assert params["notifications"] == {"toolsListChanged": True}
    assert params["_meta"][SUBSCRIPTION] == "listen-1"
    assert "resources/subscribe" not in backend.methods()
    await let_run()
    backend.notify("notifications/tools/list_changed")
    await stream.until(lambda: len(stream.events) == 2)
    method, params = told(stream)[1]
    assert (method, params["_meta"][SUBSCRIPTION]) == ("notifications/tools/list_changed", "listen-1")
    await house.close()


async def test_a_modern_listener_subscribes_at_a_legacy_backend_once_for_all_and_leaves_it_again() -> None:
    backend = with_resources("legacy")
    house = House({"files": backend})
    streams = [await house.modern_client(PATH).listen(resourceSubscriptions=[URI]) for _ in range(2)]
    assert backend.params("resources/subscribe") == [{"uri": URI}]
    backend.notify("notifications/resources/updated", {"uri": URI})
    for stream in streams:
        await stream.until(lambda one=stream: len(one.events) == 2)
        assert told(stream)[1][1]["uri"] == URI
        stream.leave()
    await let_run()
    await backend.saw("resources/unsubscribe")
    assert backend.params("resources/unsubscribe") == [{"uri": URI}]
    await house.close()


@pytest.mark.shows("EB-F9")
async def test_a_wider_listening_is_opened_before_the_narrower_is_closed() -> None:
    backend = with_resources("modern")
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    stream = await client.get()
    for uri in (URI, URI, "file:///b"):
        assert await client.result("resources/subscribe", {"uri": uri}) == {}
    await let_run()
    assert await client.result("resources/unsubscribe", {"uri": "file:///b"}) == {}
    await let_run()
    wishes = [
        params["notifications"].get("resourceSubscriptions", []) for params in backend.params("subscriptions/listen")
    ]
    assert [URI] in wishes
    assert [URI, "file:///b"] in wishes
    assert wishes[-1] == [URI]
    methods = backend.methods()
    last = len(methods) - 1 - methods[::-1].index("subscriptions/listen")
    assert "notifications/cancelled" in methods[last:], "the old one goes only after the new one"
    backend.notify("notifications/resources/updated", {"uri": URI})
    await stream.until(lambda: bool(stream.events))
    assert told(stream)[-1] == ("notifications/resources/updated", {"uri": URI})
    await house.close()


@pytest.mark.shows("EB-F10")
async def test_after_a_lost_listening_everything_wished_is_told_as_changed() -> None:
    opened: list[Turn] = []

    async def listen(turn: Turn) -> Any:
        opened.append(turn)
        if len(opened) == 1:
            meta = {SUBSCRIPTION: turn.id}
            turn.notify(
                "notifications/subscriptions/acknowledged",
                {"notifications": turn.params["notifications"], "_meta": meta},
            )
            return {"resultType": "complete", "_meta": meta}
        return await turn.connection._listen(turn)

    backend = with_resources("modern", **{"subscriptions/listen": listen})
    house = House({"files": backend})
    stream = await house.modern_client(PATH).listen(toolsListChanged=True, resourceSubscriptions=[URI])
    await let_run()
    await house.clock.advance(2)
    await backend.saw("subscriptions/listen", times=2)
    await stream.until(lambda: len(stream.events) == 3)
    assert {method for method, _ in told(stream)[1:]} == {
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    }
    await house.close()


@pytest.mark.shows("EB-F11")
async def test_a_drain_ends_a_listening_with_its_result() -> None:
    house = House({"files": ScriptedBackend("legacy")})
    stream = await house.modern_client(PATH).listen(toolsListChanged=True)
    house.gateway.front.drain()
    await stream.done()
    method, result = told(stream)[-1]
    assert method == "result"
    assert result["resultType"] == "complete"
    assert result["_meta"][SUBSCRIPTION] == "listen-1"
    await house.close()


@pytest.mark.shows("EB-F12")
async def test_hints_are_what_remains_of_them_and_the_strictest_wins_in_a_merged_list() -> None:
    fresh = ScriptedBackend("modern", {"tools/list": {"tools": [ECHO], "ttlMs": 60000, "cacheScope": "public"}})
    house = House({"a": fresh, "b": ScriptedBackend("legacy")})
    alone = house.modern_client("/servers/a/mcp")
    first = await alone.result("tools/list")
    assert (first["ttlMs"], first["cacheScope"]) == (60000, "public")
    await house.clock.advance(20)
    again = await alone.result("tools/list")
    assert (again["ttlMs"], again["cacheScope"]) == (40000, "public")
    asked = len(fresh.params("tools/list"))
    merged = await house.modern_client("/direct/mcp").result("tools/list")
    assert (merged["ttlMs"], merged["cacheScope"]) == (0, "private")
    assert [tool["name"] for tool in merged["tools"]] == ["a__echo", "b__echo"]
    assert len(fresh.params("tools/list")) == asked, "what is fresh is not asked for again"
    await house.close()


@pytest.mark.shows("X-GAP-16")
@pytest.mark.parametrize("behind", ["legacy", "modern"])
async def test_all_pages_of_a_backend_are_one_list_in_front(behind: str) -> None:
    def page(turn: Turn) -> Any:
        pages = {None: ("one", "c1"), "c1": ("two", ""), "": ("three", None)}
        name, following = pages[turn.params.get("cursor")]
        return {"tools": [{**ECHO, "name": name}]} | ({} if following is None else {"nextCursor": following})

    backend = ScriptedBackend(behind, {"tools/list": page})  # type: ignore[arg-type]
    house = House({"files": backend})
    listed = await (await house.legacy_client(PATH)).result("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["one", "two", "three"]
    assert "nextCursor" not in listed
    await house.close()


async def test_a_resource_that_the_backend_refuses_to_watch_is_refused_in_front() -> None:
    backend = with_resources("legacy", **{"resources/subscribe": Fail(-32602, "not this one")})
    house = House({"files": backend})
    client = await house.legacy_client(PATH)
    assert (await client.call("resources/subscribe", {"uri": URI}))["error"]["code"] == -32602
    await house.close()


async def test_two_sessions_of_a_legacy_backend_hear_only_their_own() -> None:
    backend = with_resources("legacy")
    house = House({"files": backend})
    first, second = await house.legacy_client(PATH), await house.legacy_client(PATH)
    heard, silent = await first.get(), await second.get()
    await second.result("tools/list")
    await first.result("resources/subscribe", {"uri": URI})
    assert wire(backend, "resources/subscribe") == {"uri": URI}
    backend.connections[0].notify("notifications/resources/updated", {"uri": URI})
    await heard.until(lambda: bool(heard.events))
    await let_run()
    assert told(silent) == []
    await house.close()
