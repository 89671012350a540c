"""What is said to a stateless server: one link for all scopes, one listen stream for all wishes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.backends.connection import Connection
from emceepee.backends.conversation import Conversation
from emceepee.backends.in_memory import InMemoryTransport
from emceepee.backends.modern_link import ModernLink, wanted
from emceepee.errors import BackendFault, BackendViolation
from emceepee.runtime.ids import SystemIds
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import EVERY_LIST, Interest, ListChanged, LogLine, Notice, ResourceUpdated
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import FakeClock, settle
from tests.support.scripted_backend import META_SUBSCRIPTION, Fail, ScriptedBackend, Turn

ABOUT = About({"tools": to_raw({}), "resources": to_raw({"subscribe": True})}, revision="2026-07-28")
LISTEN = "subscriptions/listen"


class House:
    def __init__(self, backend: ScriptedBackend, over_http: bool = False) -> None:
        self.backend = backend
        self.clock = FakeClock()
        self.losses: list[BackendFault] = []
        transport = InMemoryTransport("files", backend.connection())
        self.conversation = Conversation("files", transport, self, self.clock)  # type: ignore[arg-type]
        self.link = ModernLink(
            self.conversation,
            ABOUT,
            to_raw({"name": "emceepee", "version": "1"}),
            self.clock,
            SystemIds(),
            lambda link, fault: self.losses.append(fault),
            over_http,
        )
        self.conversation.unasked = self.link

    async def open(self) -> House:
        await self.conversation.start()
        return self

    def handle(self, scope: str = "s1") -> tuple[Connection, list[Notice]]:
        heard: list[Notice] = []
        handle = Connection("files", scope)
        handle.on_notice = heard.append
        return handle, heard

    async def call(self, heard: list[Notice] | None = None, level: Any = None, name: str = "echo") -> Any:
        call = Call("tools/call", {"name": to_raw(name)}, Caller(), wants_progress=True)
        return await self.link.request(call, None if heard is None else heard.append, 5.0, level)

    def wishes(self) -> list[dict[str, Any]]:
        return [params["notifications"] for params in self.backend.params(LISTEN)]


async def house_of(answers: dict[str, Any] | None = None, over_http: bool = False) -> House:
    return await House(ScriptedBackend("modern", answers or {}), over_http).open()


@pytest.mark.parametrize("kind", ["task", "something"])
async def test_a_result_that_is_no_end_is_a_violation_since_nothing_of_the_kind_was_declared(kind: str) -> None:
    house = await house_of({"tools/call": {"resultType": kind, "inputRequests": {}}})
    with pytest.raises(BackendViolation, match=kind):
        await house.call()
    await house.link.close()


async def test_a_level_is_stamped_on_each_request_of_the_scope_that_set_it() -> None:
    def chatty(turn: Turn) -> Any:
        turn.notify("notifications/message", {"level": "info", "data": "x"})
        return {"content": []}

    house = await house_of({"tools/call": chatty})
    heard: list[Notice] = []
    await house.call(heard, level="info")
    await house.call(heard)
    levels = [params["_meta"].get("io.modelcontextprotocol/logLevel") for params in house.backend.params("tools/call")]
    assert levels == ["info", None]
    assert isinstance(heard[0], LogLine)
    await house.link.close()


async def test_wishes_of_all_scopes_travel_on_one_stream_and_each_hears_its_own() -> None:
    house = await house_of()
    (one, heard_by_one), (two, heard_by_two) = house.handle("s1"), house.handle("s2")
    assert await house.link.want(one, Interest(EVERY_LIST)) == Interest(frozenset(["tools", "resources"]))
    await settle()
    await house.link.want(two, Interest(uris=frozenset(["a://x"])))
    await settle()
    assert house.wishes()[-1] == {
        "toolsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a://x"],
    }
    assert len(house.backend.connections[0].listening) == 1
    house.backend.notify("notifications/tools/list_changed")
    house.backend.notify("notifications/resources/updated", {"uri": "a://x/sub"})
    await settle()
    assert heard_by_one == [ListChanged("tools")]
    assert [type(notice) for notice in heard_by_two] == [ResourceUpdated]
    await house.link.leave(one)
    await house.link.leave(two)
    await settle()
    assert house.backend.connections[0].listening == {}
    assert house.link.alive, "a shared link stays for whoever comes next"
    await house.link.close()


async def test_a_server_that_ends_the_stream_at_once_is_asked_again_with_growing_pauses() -> None:
    house = await house_of({LISTEN: {"resultType": "complete"}})
    handle, heard = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    await settle()
    await house.clock.advance(60)
    assert 4 <= len(house.wishes()) <= 10
    assert heard == []
    await house.link.close()


async def test_a_server_that_knows_no_listening_is_asked_once() -> None:
    house = await house_of({LISTEN: Fail(-32601)})
    handle, _ = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    await settle()
    await house.clock.advance(600)
    assert len(house.wishes()) == 1
    await house.link.close()


async def test_over_a_pipe_the_acknowledgement_is_heard_without_a_stream_of_its_own() -> None:
    async def listen(turn: Turn) -> Any:
        params = {"notifications": turn.params["notifications"], "_meta": {META_SUBSCRIPTION: turn.id}}
        turn.connection.notify("notifications/subscriptions/acknowledged", params)
        await asyncio.Event().wait()

    house = await house_of({LISTEN: listen})
    handle, heard = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    await settle()
    house.backend.connections[0].say(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    await settle()
    assert heard == [ListChanged("tools")]
    await house.link.close()


async def test_over_http_the_tools_are_known_before_the_first_call_and_again_after_they_changed() -> None:
    house = await house_of(over_http=True)
    await house.call()
    await house.call()
    assert house.backend.methods() == ["tools/list", "tools/call", "tools/call"]
    handle, _ = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    await settle()
    house.backend.notify("notifications/tools/list_changed")
    await settle()
    await house.call()
    assert house.backend.methods()[-2:] == ["tools/list", "tools/call"]
    await house.link.close()


async def test_a_mismatch_that_persists_after_reading_the_list_again_is_not_tried_a_third_time() -> None:
    house = await house_of({"tools/call": Fail(-32020, "header mismatch")}, over_http=True)
    outcome = await house.call()
    assert outcome.code == -32020
    assert house.backend.methods().count("tools/call") == 2
    await house.link.close()


def test_a_wish_covers_what_lies_below_it_and_nothing_else() -> None:
    wish = Interest(frozenset(["tools"]), frozenset(["a://dir/"]))
    assert wanted(wish, ListChanged("tools"))
    assert not wanted(wish, ListChanged("prompts"))
    assert wanted(wish, ResourceUpdated("a://dir/file", {}))
    assert not wanted(wish, ResourceUpdated("a://directory", {}))
    assert not wanted(wish, LogLine("info", {}))
