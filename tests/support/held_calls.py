"""A server behind a held call, and the clients in front of it, played by a test.

    stage = Stage()
    call = stage.begin()
    call.asks("form")

The one rule: everything a held call says to either side is kept, in order.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from emceepee.errors import EmceepeeError
from emceepee.relay.coming_back import ComingBack
from emceepee.relay.hold import Parked, Told
from emceepee.relay.holds import Holds
from emceepee.relay.request_state import RequestStates
from emceepee.relay.seal import Seal, key_of
from emceepee.relay.settings import RelaySettings
from emceepee.relay.surface import OnNotice
from emceepee.relay.url_visits import UrlVisits
from emceepee.runtime.spawn import TaskScope
from emceepee.vocabulary.asks import Askable, Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import Notice, Progress
from emceepee.vocabulary.outcomes import Done, Failed, InputNeeded, Outcome
from emceepee.vocabulary.profiles import KIND_OF
from emceepee.vocabulary.raw_json import Payload, read_value, to_raw
from tests.support.fake_clock import FakeClock, settle
from tests.support.fake_surface import FakeSurface

PARAMS: dict[Askable, Any] = {
    "form": {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object"}},
    "url": {"mode": "url", "message": "Go", "url": "https://x.example/"},
    "sampling": {"messages": [], "maxTokens": 1},
    "roots": {},
}
ANSWERS: dict[str, Any] = {
    "elicitation": {"action": "accept", "content": {}},
    "sampling": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}},
    "roots": {"roots": [{"uri": "file:///x"}]},
}
ALL: frozenset[Askable] = frozenset(("form", "url", "sampling", "roots"))


@dataclass
class ServerAsk:
    """One ask of the server, and what it heard of it."""

    raised: RaisedAsk
    taken: Withdraw | Failed | None = None
    heard: list[Outcome] = field(default_factory=list)
    beats: list[Progress] = field(default_factory=list)

    @property
    def answer(self) -> Any:
        (outcome,) = self.heard
        return read_value(outcome.payload.raw()) if isinstance(outcome, Done) else outcome.code


class ServerCall:
    """One call as its server sees it."""

    def __init__(self, call: Call, on_notice: OnNotice | None) -> None:
        self.call = call
        self.asked: list[ServerAsk] = []
        self.cancelled = False
        self._on_notice = on_notice
        self.end: asyncio.Future[Outcome | InputNeeded] = asyncio.get_running_loop().create_future()

    def asks(self, what: Askable = "form", beats: bool = False) -> ServerAsk:
        ask: ServerAsk

        def hear(outcome: Outcome) -> None:
            ask.heard.append(outcome)

        def beat(progress: Progress) -> None:
            ask.beats.append(progress)

        belonging = Belonging("exact", (self.call,))
        on_progress = beat if beats else None
        raised = RaisedAsk(KIND_OF[what], what, to_raw(PARAMS[what]), belonging, hear, on_progress, "shop")
        ask = ServerAsk(raised)
        self.asked.append(ask)
        assert self.call.ear is not None
        ask.taken = self.call.ear.ask(raised)
        return ask

    def says(self, notice: Notice) -> None:
        assert self._on_notice is not None
        self._on_notice(notice)

    def ends(self, outcome: Outcome | InputNeeded | EmceepeeError | None = None) -> None:
        if self.end.done():
            return
        if isinstance(outcome, EmceepeeError):
            self.end.set_exception(outcome)
        else:
            self.end.set_result(outcome or Done(Payload.of({"content": []})))

    async def run(self) -> Outcome | InputNeeded:
        try:
            return await self.end
        except asyncio.CancelledError:
            self.cancelled = True
            raise


class Begun:
    """A call that was begun without anybody who waits."""

    def __init__(self, served: ServerCall, ended: Any) -> None:
        self._served = served
        self._ended = ended
        served.end.add_done_callback(self._done)

    def _done(self, end: asyncio.Future[Any]) -> None:
        if self._ended is not None:
            self._ended(end.exception() or end.result())

    def abandon(self) -> None:
        self._ended = None
        self._served.cancelled = self._served.cancelled or not self._served.end.done()


class Stage:
    def __init__(
        self, settings: RelaySettings | None = None, key: str = "k", slot: str = "slot0001", at_once: bool = False
    ) -> None:
        """`at_once`: first calls are begun without a task."""
        self.at_once = at_once
        self.served: list[ServerCall] = []
        self.surface = FakeSurface(self._serve)
        self.surface.beginning = self._begin
        self.clock: FakeClock = self.surface.clock
        self.workspaces = self.surface.workspaces
        self.tasks = TaskScope("test")
        self._count = 0
        states = RequestStates(Seal([key_of(key)], self._chance), slot, self.clock, self._chance)
        settings = settings or RelaySettings()
        self.holds = Holds(self.workspaces, self.clock, self.tasks, settings, self._secret)
        self.visits = UrlVisits(self.clock)
        self.coming = ComingBack(self.holds, states, self.visits, self._secret)

    def _chance(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")

    def _secret(self) -> str:
        self._count += 1
        return f"secret{self._count}"

    async def _serve(self, call: Call, on_notice: OnNotice | None) -> Any:
        served = ServerCall(call, on_notice)
        self.served.append(served)
        return await served.run()

    def _begin(self, call: Call, on_notice: OnNotice | None, ended: Any) -> Begun:
        served = ServerCall(call, on_notice)
        self.served.append(served)
        return Begun(served, ended)

    def call(self, told: Told | None = None, answers: Any = None, principal: str = "p", **params: Any) -> Call:
        """A client's request; coming back, if he was told something before."""
        given = {key: to_raw(value) for key, value in ({"name": "ask"} | params).items()}
        call = Call("tools/call", given, Caller(principal, principal), asks=ALL)
        if isinstance(told, InputNeeded):
            call.state = told.state
            call.answers = {key: to_raw(value) for key, value in (answers or {}).items()}
        return call

    def send(self, call: Call, heard: list[Notice] | None = None) -> asyncio.Task[Told]:
        hear = None if heard is None else heard.append
        if self.at_once and call.state is None:
            return asyncio.ensure_future(self._told(call, hear))
        return asyncio.ensure_future(self.coming.carry(self.surface, call, hear))

    async def _told(self, call: Call, hear: OnNotice | None) -> Told:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        begun = self.coming.begin(self.surface, call, hear, future.set_result)
        assert begun is not None
        try:
            told = await future
        except asyncio.CancelledError:
            begun.abandon()
            if future.done() and not future.cancelled() and isinstance(future.result(), Parked):
                # As a front says of an answer that reached nobody.
                future.result().lost()
            raise
        return told

    async def begin(self, **more: Any) -> tuple[asyncio.Task[Told], ServerCall]:
        sent = self.send(self.call(**more), [])
        await settle()
        return sent, self.served[-1]

    async def parked(self, *asks: Askable, **more: Any) -> tuple[InputNeeded, ServerCall]:
        """A call whose server has asked, and what its client was told."""
        sent, served = await self.begin(**more)
        for what in asks or ("form",):
            served.asks(what)
        await self.clock.advance(self.holds.settings.coalesce)
        told = await sent
        assert isinstance(told, InputNeeded)
        return told, served

    async def close(self) -> None:
        self.coming.close()
        await self.tasks.close()


def answers_to(told: InputNeeded, keys: Any = None) -> dict[str, Any]:
    """A proper answer to each, or to those named."""
    return {key: ANSWERS[want.kind] for key, want in told.wants.items() if keys is None or key in keys}
