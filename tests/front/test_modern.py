"""The desk for modern clients, without HTTP: who calls, what is counted, what a listener hears first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.front.modern import ModernDesk, caller_of
from emceepee.front.shop import Shop
from emceepee.protocol.messages import Request
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.notices import Interest, ListChanged, LogLine
from tests.support.fake_clock import FakeClock
from tests.support.fake_surface import FakeListener, FakeSurface
from tests.support.front_bench import SERVER_INFO, enveloped, request


class Outlet:
    def __init__(self) -> None:
        self.said: list[Any] = []
        self.ended = False

    def notice(self, message: bytes, key: str | None) -> None:
        self.said.append(json.loads(message))

    def answer(self, message: bytes) -> None:
        self.said.append(json.loads(message))

    def end(self) -> None:
        self.ended = True


def asked(method: str, params: dict[str, Any] | None = None) -> Request:
    message = enveloped(request(method, params or {}))
    return Request(1, method, Raw(json.dumps(message["params"]).encode()))


def desk() -> ModernDesk:
    return ModernDesk(Shop(FakeClock(), SERVER_INFO))


def test_a_caller_is_who_its_own_envelope_says_in_the_scope_of_its_principal() -> None:
    shop = Shop(FakeClock(), SERVER_INFO)
    caller = caller_of(asked("tools/list"), "someone", shop)
    assert (caller.scope, caller.principal, caller.capabilities) == ("someone", "someone", {})
    assert caller_of(Request(1, "x", Raw(b"[]")), "someone", shop).capabilities == {}


def test_a_workspace_that_nobody_knows_is_refused() -> None:
    shop = Shop(FakeClock(), SERVER_INFO)
    with pytest.raises(ClientFault, match="Session 'ws_1' not found"):
        shop.placed(Caller(), "ws_1")


async def test_nothing_is_told_before_the_acknowledgement_and_each_change_once() -> None:
    class Eager(FakeSurface):
        async def listen(self, caller: Any, interest: Interest, on_notice: Any) -> FakeListener:
            for _ in range(3):
                on_notice(ListChanged("tools"))
            on_notice(LogLine("info", {}))
            return await super().listen(caller, interest, on_notice)

    surface, outlet, modern = Eager(), Outlet(), desk()
    listening = modern.listening(asked("subscriptions/listen", {"notifications": {"toolsListChanged": True}}), outlet)
    await listening.begin(surface, "local")
    methods = [message["method"] for message in outlet.said]
    assert methods == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"]
    await modern.ended(listening)
    surface.tell(ListChanged("tools"))
    assert (len(outlet.said), modern.listens, surface.listeners) == (2, 0, [])


async def test_a_listener_that_is_ended_says_so_once_and_hears_no_more() -> None:
    surface, outlet, modern = FakeSurface(), Outlet(), desk()
    listening = modern.listening(asked("subscriptions/listen", {"notifications": {}}), outlet)
    await listening.begin(surface, "local")
    modern.end_listens()
    modern.end_listens()
    surface.tell(ListChanged("tools"))
    assert (len(outlet.said), outlet.ended) == (2, True)
    await modern.ended(listening)


@pytest.mark.parametrize("params", [{}, {"name": 3}])
async def test_parameter_headers_are_not_looked_at_for_what_is_no_tool_call(params: dict[str, Any]) -> None:
    modern, surface = desk(), FakeSurface()
    for method in ("tools/call", "prompts/get"):
        assert await modern.check_parameters(surface, asked(method, params), "local", {}) is None


async def test_calls_are_counted_while_they_run() -> None:
    modern = desk()

    async def answering(called: Any, on_notice: Any) -> Any:
        assert modern.calls == 1
        raise ZeroDivisionError

    status, _ = await modern.answer(FakeSurface(answering), asked("tools/list"), "local", lambda m, k: None)
    assert (status, modern.calls) == (200, 0)


async def test_a_header_that_lies_is_refused_before_params_of_a_wrong_shape() -> None:
    surface, lying = FakeSurface(), {"mcp-param-region": ["north"]}
    region = b'{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}'
    surface.schemas["echo"] = Raw(region)
    codes = []
    for headers, arguments in ((lying, {"region": "south"}), (lying, []), ({}, [])):
        call = asked("tools/call", {"name": "echo", "arguments": arguments})
        status, body = await desk().answer(surface, call, "local", lambda m, k: None, None, headers)
        codes.append((status, json.loads(body)["error"]["code"]))
    assert codes == [(400, -32020), (400, -32020), (400, -32602)]
