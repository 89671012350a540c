"""What one session is asked: where it goes out, and that each ask ends once."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw

from emceepee.front.asking import LEG_SECONDS, MAX_ASKS, Asking
from emceepee.front.standing import Standing
from emceepee.protocol.messages import Notification, Result
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session
from emceepee.vocabulary.asks import Belonging, RaisedAsk
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import FakeClock


class Outlet:
    def __init__(self) -> None:
        self.said: list[Any] = []

    def notice(self, message: bytes, key: str | None) -> None:
        self.said.append(json.loads(message))

    def answer(self, message: bytes) -> None:
        self.said.append(json.loads(message))

    def end(self) -> None: ...


class Voice(Outlet):
    """`lost` is nobody reading it now."""

    lost = False

    def ask(self, message: bytes, key: str, kept: bool) -> bool:
        if self.lost and not kept:
            return False
        self.answer(message)
        return True


class House:
    def __init__(self, ready: bool = True) -> None:
        self.clock = FakeClock()
        self.session = Session("/mcp", Caller("s"), "2025-11-25", InFlight(8), 0.0)
        self.session.asks = frozenset(("form", "url"))
        if ready:
            self.session.step("initialized")
        self.asking = Asking.of(self.session, self.clock)
        self.settled: list[Outcome] = []
        self.voice = Voice()

    def ask(self, voice: Voice | None = None) -> Any:
        ask = RaisedAsk("elicitation", "form", Raw(b"{}"), Belonging("orphan"), self.settled.append)
        return self.asking.ask(ask, voice)

    def answer(self, message: Any) -> None:
        self.asking.answered(Result(message["id"], to_raw({"action": "accept"})))


def test_it_goes_out_by_the_calls_own_voice() -> None:
    house = House()
    house.ask(house.voice)
    (asked,) = house.voice.said
    house.answer(asked)
    house.answer(asked)
    assert len(house.settled) == 1
    assert (len(house.asking), house.clock.waiting) == (0, 0)


def test_a_lost_stream_gives_way_to_an_open_one_and_else_keeps_it() -> None:
    house = House()
    house.voice.lost = True
    outlet = Outlet()
    Standing.of(house.session).open(outlet)
    assert "form" in house.asking.hears
    house.ask(house.voice)
    assert (len(outlet.said), house.voice.said) == (1, [])
    Standing.of(house.session).closed(outlet)
    assert house.asking.hears == frozenset()
    house.ask(house.voice)
    assert (len(outlet.said), len(house.voice.said)) == (1, 1)


def test_without_any_stream_it_waits_for_the_next_and_is_not_shown_when_it_is_over() -> None:
    house = House()
    first, _second = house.ask(), house.ask()
    first("why")
    outlet = Outlet()
    Standing.of(house.session).open(outlet)
    (asked,) = outlet.said
    house.answer(asked)
    assert len(house.settled) == 1


def test_before_the_client_is_ready_nothing_is_written() -> None:
    house = House(ready=False)
    refused = house.ask(house.voice)
    assert isinstance(refused, Failed)
    assert "not said that it is initialized" in refused.message
    assert house.voice.said == house.settled == []


async def test_time_ends_it_and_tells_the_client() -> None:
    house = House()
    house.ask(house.voice)
    await house.clock.advance(LEG_SECONDS)
    (failed,) = house.settled
    assert isinstance(failed, Failed)
    assert failed.code == -32001
    assert house.voice.said[-1]["method"] == "notifications/cancelled"


def test_the_clients_cancellation_and_the_end_of_the_session_end_it() -> None:
    house = House()
    house.ask(house.voice)
    params = to_raw({"requestId": house.voice.said[0]["id"]})
    house.asking.told(Notification("notifications/cancelled", params))
    house.asking.told(Notification("notifications/cancelled", params))
    (done,) = house.settled
    assert isinstance(done, Done)
    house.ask(house.voice)
    house.asking.close()
    assert isinstance(house.settled[1], Failed)
    assert isinstance(house.ask(house.voice), Failed)
    assert house.clock.waiting == 0


def test_a_server_cannot_ask_without_end() -> None:
    house = House()
    for _ in range(MAX_ASKS):
        house.ask(house.voice)
    full = house.ask(house.voice)
    assert isinstance(full, Failed)
    assert str(MAX_ASKS) in full.message
    house.asking.close()
