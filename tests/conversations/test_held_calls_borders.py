"""Where held calls meet their borders: roots, addresses to visit first, other processes, and modern servers."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable
from typing import Any

import pytest

from emceepee.config.settings import DEFAULTS, Settings
from emceepee.protocol.messages import Notification
from emceepee.relay.coming_back import ComingBack
from emceepee.relay.hold import Told
from emceepee.vocabulary.calls import Call
from tests.conversations.house import House, Json, ModernClient, let_run, wire
from tests.conversations.test_asks import FORM, asker
from tests.conversations.test_held_calls import ABLE, ACCEPT, CALL, INVALID, back, heard, refused, sent_away, shop
from tests.support.scripted_backend import ECHO, Fail, ScriptedBackend, ScriptedConnection, message_of

ROOTS: Json = {"roots": [{"uri": "file:///home"}]}


class Curious(ScriptedConnection):
    """Wants to know the roots as soon as it was greeted."""

    async def handle(self, message: Any, say: Any) -> None:
        await super().handle(message, say)
        if isinstance(message, Notification) and message.method == "notifications/initialized":
            self.say(message_of({"id": "roots-1", "method": "roots/list"}))


class CuriousBackend(ScriptedBackend):
    def connection(self) -> ScriptedConnection:
        self.connections.append(Curious(self))
        return self.connections[-1]


@pytest.mark.shows("EB-C25")
async def test_roots_that_a_server_wants_at_once_are_asked_of_the_call_that_connected_to_it() -> None:
    async def call(turn: Any) -> Json:
        return {"content": [], "structuredContent": {"n": 1}}

    backend = CuriousBackend(answers={"tools/call": call})
    house = House({"shop": backend}, settings=dataclasses.replace(DEFAULTS, roots_bridge=True))
    client = house.modern_client("/servers/shop/mcp", ABLE)
    started = client.start("tools/call", CALL)
    await let_run()
    await house.clock.advance(0.03)
    told = (await started.done()).json["result"]
    if told["resultType"] == "input_required":
        ((key, request),) = told["inputRequests"].items()
        assert request["method"] == "roots/list"
        told = await client.result("tools/call", back(told, {key: ROOTS}))
        assert heard(backend) == [("roots-1", ROOTS)]
    assert told["structuredContent"] == {"n": 1}
    assert wire(backend, "initialize")["capabilities"]["roots"] == {}
    await house.close()


async def test_without_the_bridge_servers_of_former_revisions_are_promised_no_roots() -> None:
    backend = shop(asker("roots/list", {"_": 1}))
    house = House({"shop": backend})
    result = await house.modern_client("/servers/shop/mcp", ABLE).result("tools/call", CALL)
    assert result["structuredContent"]["answers"][0]["code"] == -32601
    assert "roots" not in wire(backend, "initialize")["capabilities"]
    await house.close()


URL_FIRST = Fail(
    -32042,
    "Sign in first",
    {"elicitations": [{"mode": "url", "url": "https://shop.example/in", "elicitationId": "e1", "message": "Go"}]},
)


def visited_after(times: int) -> ScriptedBackend:
    """A tool that wants an address visited so many times before it does its work."""
    left = iter([URL_FIRST] * times)
    return shop(lambda turn: next(left, {"content": [], "structuredContent": {"n": 1}}))


async def addressed(client: ModernClient) -> Json:
    told = await client.result("tools/call", CALL)
    params = {"mode": "url", "message": "Go", "url": "https://shop.example/in"}
    assert told["inputRequests"] == {"u1": {"method": "elicitation/create", "params": params}}
    return told


@pytest.mark.shows("EB-C28")
async def test_an_address_is_visited_and_the_call_made_again() -> None:
    backend = visited_after(1)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = await addressed(client)
    assert backend.methods().count("tools/call") == 1
    result = await client.result("tools/call", back(told, {"u1": {"action": "accept"}}))
    assert (result["resultType"], result["structuredContent"]) == ("complete", {"n": 1})
    assert backend.methods().count("tools/call") == 2
    await house.close()


@pytest.mark.shows("EB-C29")
async def test_a_server_that_says_when_it_was_visited_is_waited_for() -> None:
    backend = visited_after(2)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = await addressed(client)
    again = client.start("tools/call", back(told, {"u1": {"action": "accept"}}))
    await house.clock.advance(3)
    assert backend.methods().count("tools/call") == 2
    assert not again.complete
    backend.notify("notifications/elicitation/complete", {"elicitationId": "e1"})
    await let_run()
    found = (await again.done()).json["result"]
    assert (found["resultType"], found["structuredContent"]) == ("complete", {"n": 1})
    assert backend.methods().count("tools/call") == 3
    await house.close()


async def test_who_declines_an_address_is_told_so_and_a_client_without_addresses_is_told_why() -> None:
    backend = visited_after(9)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = await addressed(client)
    result = await client.result("tools/call", back(told, {"u1": {"action": "decline"}}))
    assert result["isError"] is True
    assert backend.methods().count("tools/call") == 1
    other = await house.modern_client("/servers/shop/mcp", {"elicitation": {}}).result("tools/call", CALL)
    assert (other["resultType"], other["isError"]) == ("complete", True)
    await house.close()


# -- other processes


class Joined:
    """Several gateways in one process, each knowing where the others are. Stands for the channel between processes,
    which there is none of yet."""

    def __init__(self, *gateways: House) -> None:
        self._parts: dict[str, ComingBack] = {
            house.gateway.coming_back.slot: house.gateway.coming_back for house in gateways
        }
        for house in gateways:
            house.gateway.coming_back.others = self

    def know(self, slot: str) -> bool:
        return slot in self._parts

    def forward(self, slot: str, surface: str, call: Call, on_notice: Any) -> Awaitable[Told]:
        return self._parts[slot].held(surface, call, on_notice)


KEYS: Settings = dataclasses.replace(DEFAULTS, state_keys=("k" * 32,))


@pytest.mark.shows("EB-C18")
async def test_a_client_may_come_back_to_another_process() -> None:
    backend, other = shop(), shop()
    here, there = House({"shop": backend}, settings=KEYS), House({"shop": other}, settings=KEYS)
    Joined(here, there)
    told = await sent_away(here, here.modern_client("/servers/shop/mcp", ABLE))
    (key,) = told["inputRequests"]
    result = await there.modern_client("/servers/shop/mcp", ABLE).result("tools/call", back(told, {key: ACCEPT}))
    assert result["structuredContent"] == {"answers": [ACCEPT]}
    assert [answer for _, answer in heard(backend)] == [ACCEPT]
    assert "tools/call" not in other.methods()
    await here.close()
    await there.close()


@pytest.mark.shows("EB-C19")
@pytest.mark.parametrize("harmless", [False, True])
async def test_a_call_whose_process_is_gone_is_lost_unless_it_does_no_harm_twice(harmless: bool) -> None:
    backend = shop(asker(params=FORM))
    backend.tools = [ECHO | {"name": "paint", "annotations": {"readOnlyHint": harmless}}]
    first = House({"shop": backend}, settings=KEYS)
    told = await sent_away(first, first.modern_client("/servers/shop/mcp", ABLE))
    await first.close()
    calls = backend.methods().count("tools/call")
    second = House({"shop": backend}, settings=KEYS)
    client = second.modern_client("/servers/shop/mcp", ABLE)
    await client.result("tools/list")
    (key,) = told["inputRequests"]
    if harmless:
        assert (await sent_away(second, client, back(told, {key: ACCEPT})))["inputRequests"]
        assert backend.methods().count("tools/call") == calls + 1
    else:
        status, code, _, data = await refused(client, back(told, {key: ACCEPT}))
        assert (status, code, data) == (400, -32602, {"reason": "held_call_lost"})
        assert backend.methods().count("tools/call") == calls
    await second.close()


async def test_after_a_restart_with_new_keys_nothing_can_be_read() -> None:
    backend = shop()
    first = House({"shop": backend})
    told = await sent_away(first, first.modern_client("/servers/shop/mcp", ABLE))
    await first.close()
    second = House({"shop": backend})
    assert await refused(second.modern_client("/servers/shop/mcp", ABLE), back(told, {})) == INVALID
    await second.close()


# -- modern servers


def rounds(state: str = "abc") -> ScriptedBackend:
    def call(turn: Any) -> Json:
        if "inputResponses" in turn.params:
            return {"content": [], "structuredContent": turn.params["inputResponses"]}
        request = {"method": "elicitation/create", "params": {"mode": "form"} | FORM}
        return {"resultType": "input_required", "inputRequests": {"k": request}, "requestState": state}

    return ScriptedBackend("modern", answers={"tools/call": call})


@pytest.mark.shows("EB-E13")
@pytest.mark.parametrize("state", ["abc", "g1.-.AAAA", "x" * 7000])
async def test_a_modern_servers_state_goes_there_and_back_inside_ours(state: str) -> None:
    backend = rounds(state)
    house = House({"shop": backend})
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = await client.result("tools/call", CALL)
    assert told["requestState"].startswith("g1.")
    assert told["requestState"] != state
    assert list(told["inputRequests"]) == ["k"]
    result = await client.result("tools/call", back(told, {"k": ACCEPT}))
    assert result["structuredContent"] == {"k": ACCEPT}
    assert wire(backend, "tools/call")["requestState"] == state
    assert wire(backend, "tools/call")["inputResponses"] == {"k": ACCEPT}
    assert len(house.gateway.holds) == 0
    await house.close()


@pytest.mark.shows("EB-E14")
async def test_nobody_else_can_use_a_modern_servers_state_through_us() -> None:
    backend = rounds()
    house = House({"shop": backend})
    house.gateway.front._identify = lambda exchange: dict(exchange.headers)[b"x-who"].decode()
    client = house.modern_client("/servers/shop/mcp", ABLE)
    told = (await client.start("tools/call", CALL, headers={"x-who": "p1"}).done()).json["result"]
    answer = await client.start("tools/call", back(told, {"k": ACCEPT}), headers={"x-who": "p2"}).done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32602)
    assert backend.methods().count("tools/call") == 1
    await house.close()


async def test_what_a_modern_server_may_not_ask_is_its_own_mistake() -> None:
    house = House({"shop": rounds()})
    error = (await house.modern_client("/servers/shop/mcp", {"sampling": {}}).call("tools/call", CALL))["error"]
    assert (error["code"], error["data"]["reason"]) == (-32603, "backend_violation")
    await house.close()
