"""A session with a handshake-era server: level, subscriptions, whose log line, and what is said before it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.backends.connection import Connection
from emceepee.backends.conversation import Conversation
from emceepee.backends.in_memory import InMemoryTransport
from emceepee.backends.legacy_link import LegacyLink, Refused
from emceepee.errors import BackendFault, BackendViolation, OutcomeUnknown
from emceepee.runtime.ids import SystemIds
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import EVERY_LIST, Interest, ListChanged, LogLine, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import FakeClock, settle
from tests.support.scripted_backend import SILENT, Fail, ScriptedBackend, Text, Turn

RESOURCES = {"tools": {}, "logging": {}, "resources": {"subscribe": True}}


class House:
    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self.losses: list[BackendFault] = []
        self.conversation = Conversation(
            "files",
            InMemoryTransport("files", backend.connection()),
            self,
            FakeClock(),  # type: ignore[arg-type]
        )
        info = to_raw({"name": "emceepee", "version": "1"})
        self.link = LegacyLink(self.conversation, info, SystemIds(), lambda link, fault: self.losses.append(fault))
        self.conversation.unasked = self.link

    async def open(self) -> House:
        await self.conversation.start()
        await self.link.open()
        return self

    def handle(self, scope: str = "s1") -> tuple[Connection, list[Notice]]:
        heard: list[Notice] = []
        handle = Connection("files", scope)
        handle.on_notice = heard.append
        return handle, heard

    async def call(self, heard: list[Notice] | None = None, level: Any = None) -> Any:
        call = Call("tools/call", {"name": to_raw("echo")}, Caller(), wants_progress=True, log_level=level)
        return await self.link.request(call, None if heard is None else heard.append, 5.0, None)


async def house_of(**answers: Any) -> House:
    named = {name.replace("_", "/"): answer for name, answer in answers.items()}
    return await House(ScriptedBackend("legacy", named, capabilities=RESOURCES)).open()


async def test_a_refused_handshake_carries_the_answer() -> None:
    house = House(ScriptedBackend("legacy", {"initialize": Fail(-32022, "too old")}))
    await house.conversation.start()
    with pytest.raises(Refused, match=r"refused initialize: too old \(-32022\)") as caught:
        await house.link.open()
    assert caught.value.answer.error.code == -32022
    await house.link.close()


async def test_errors_and_results_that_are_none_are_told_apart() -> None:
    house = await house_of(tools_call=Fail(7, "no"))
    assert await house.call() == Failed(7, "no")
    house = await house_of(tools_call=lambda turn: Text(b'{"jsonrpc":"2.0","id":"%s","result":[]}' % turn.id.encode()))
    with pytest.raises(BackendViolation, match="cannot be taken"):
        await house.call()
    await house.link.close()


async def test_the_level_is_raised_for_a_call_and_never_lowered_for_one() -> None:
    house = await house_of(tools_call={"content": []})
    for level in ("warning", "error", "info", "warning"):
        await house.call(level=level)
    assert [params["level"] for params in house.backend.params("logging/setLevel")] == ["warning", "info"]
    await house.link.close()


async def test_a_line_without_an_owner_goes_to_the_only_call_that_listens_else_to_the_session() -> None:
    def chatty(turn: Turn) -> Any:
        turn.connection.notify("notifications/message", {"level": "info", "data": "from the pipe"})
        return {"content": []}

    house = await house_of(tools_call=chatty)
    handle, unasked = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    heard: list[Notice] = []
    await house.call(heard)
    assert [type(notice) for notice in heard] == [LogLine]
    house.backend.notify("notifications/message", {"level": "info", "data": "later"})
    await settle()
    assert [type(notice) for notice in unasked] == [LogLine]
    await house.link.close()


async def test_changes_belong_to_the_session_even_when_a_call_brings_them() -> None:
    def changing(turn: Turn) -> Any:
        turn.notify("notifications/tools/list_changed")
        return {"content": []}

    house = await house_of(tools_call=changing)
    handle, unasked = house.handle()
    await house.link.want(handle, Interest(EVERY_LIST))
    heard: list[Notice] = []
    await house.call(heard)
    assert (heard, unasked) == ([], [ListChanged("tools")])
    await house.link.close()


async def test_progress_that_does_not_rise_is_dropped() -> None:
    def slow(turn: Turn) -> Any:
        for value in (1, 3, 2, 3, 4):
            turn.progress(value)
        return {"content": []}

    house = await house_of(tools_call=slow)
    heard: list[Any] = []
    await house.call(heard)
    assert [notice.progress for notice in heard] == [1, 3, 4]
    await house.link.close()


async def test_a_uri_is_subscribed_on_its_first_wish_and_left_on_its_last() -> None:
    house = await house_of()
    (one, heard_by_one), (two, heard_by_two) = house.handle("s1"), house.handle("s2")
    await house.link.want(one, Interest(uris=frozenset(["a://x"])))
    await house.link.want(two, Interest(uris=frozenset(["a://x", "a://y"])))
    assert [params["uri"] for params in house.backend.params("resources/subscribe")] == ["a://x", "a://y"]
    house.backend.notify("notifications/resources/updated", {"uri": "a://x/part"})
    house.backend.notify("notifications/resources/updated", {"uri": "a://y"})
    await settle()
    assert [notice.uri for notice in heard_by_one if isinstance(notice, ResourceUpdated)] == ["a://x/part"]
    assert len(heard_by_two) == 2
    await house.link.want(two, Interest())
    assert [params["uri"] for params in house.backend.params("resources/unsubscribe")] == ["a://y"]
    await house.link.leave(two)
    assert len(house.backend.params("resources/unsubscribe")) == 1
    await house.link.leave(one)
    assert [params["uri"] for params in house.backend.params("resources/unsubscribe")] == ["a://y", "a://x"]
    assert house.link.alive, "others may use the session without wishing anything of it"
    await house.link.close()


async def test_what_the_server_refuses_or_cannot_is_not_among_what_is_honoured() -> None:
    house = await house_of(resources_subscribe=lambda turn: Fail(-32602) if turn.params["uri"] == "a://no" else {})
    handle, _ = house.handle()
    honoured = await house.link.want(handle, Interest(EVERY_LIST, frozenset(["a://no", "a://yes"])))
    assert honoured == Interest(frozenset(["tools", "resources"]), frozenset(["a://yes"]))
    bare = await House(ScriptedBackend("legacy", capabilities={"tools": {}})).open()
    assert await bare.link.want(handle, Interest(uris=frozenset(["a://yes"]))) == Interest()
    assert "resources/subscribe" not in bare.backend.methods()
    await house.link.close()
    await bare.link.close()


@pytest.mark.shows("X-BUG-25")
async def test_a_loss_ends_the_call_and_is_told_to_the_owner_once() -> None:
    house = await house_of(tools_call=SILENT)

    call = asyncio.ensure_future(house.call())
    await house.backend.saw("tools/call")
    house.backend.exit()
    with pytest.raises(OutcomeUnknown):
        await call
    assert (len(house.losses), house.link.alive) == (1, False)
    await house.link.close()
