"""Every kind of client in front of every kind of server that asks, each kind of question, each ending: nobody hangs,
each question has one end, and what was said arrives. `-s` prints it as a table: what each side saw."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, get_args

import pytest

from emceepee.backends import dial
from emceepee.backends.in_memory import InMemoryTransport
from emceepee.backends.transport import GET
from emceepee.config.settings import DEFAULTS
from emceepee.protocol.messages import Failure, Result
from tests.conversations.grid_people import PEOPLE, Act, Kind, accepted
from tests.conversations.house import House, Json, let_run
from tests.conversations.test_asks import said_of
from tests.support.scripted_backend import ScriptedBackend, Turn

ASKS: dict[Kind, tuple[str, Json]] = {
    "form": ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
    "url": ("elicitation/create", {"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "e"}),
    "sampling": ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    "roots": ("roots/list", {}),
}
ASKS["form"][1]["requestedSchema"]["properties"]["color"] = {"type": "string"}
SERVED: Json = {"content": [{"type": "text", "text": "served"}]}
BACKENDS = ("legacy stdio", "legacy HTTP, POST", "legacy HTTP, GET", "modern")
LONG = 4000.0
"""After so much time nothing waits for anybody."""


class GetTransport(InMemoryTransport):
    """What its server says beside the calls comes on the standing stream."""

    def say(self, message: bytes) -> None:
        self._said(message, GET)


class Asker:
    """A server whose tool asks once."""

    def __init__(self, backend: str, kind: Kind) -> None:
        self.method, self.params = ASKS[kind]
        self._beside = backend != "legacy HTTP, POST"
        self.modern = backend == "modern"
        self.over = 0
        script = ScriptedBackend("modern" if self.modern else "legacy", {"tools/call": self._called})
        self.backend = script

    async def _called(self, turn: Turn) -> Any:
        if self.modern:
            asks = {"k": {"method": self.method, "params": _without_id(self.params)}}
            again = "inputResponses" in turn.params
            return SERVED if again else {"resultType": "input_required", "inputRequests": asks, "requestState": "s"}
        try:
            await turn.ask(self.method, self.params, "ask-1", self._beside)
        finally:
            self.over += 1
        return SERVED

    def exit(self) -> None:
        self.backend.exit()

    def saw(self) -> str:
        """How its question ended, in a word; empty as long as it has not."""
        if self.modern:
            answers = [
                one["inputResponses"]["k"] for one in self.backend.params("tools/call") if "inputResponses" in one
            ]
            return "; ".join(map(_word, answers)) or "made no more"
        answers = [_word(said_of(one)) for one in self.backend.received if isinstance(one, Result | Failure)]
        ends = answers + (["call cancelled"] if self.backend.cancelled else [])
        return "; ".join(dict.fromkeys(ends))

    def answers(self) -> list[Any]:
        if self.modern:
            called = self.backend.params("tools/call")
            return [one["inputResponses"]["k"] for one in called if "inputResponses" in one]
        return [said_of(one) for one in self.backend.received if isinstance(one, Result | Failure)]


def _without_id(params: Json) -> Json:
    return {key: value for key, value in params.items() if key != "elicitationId"}


def _word(answer: Any) -> str:
    if "code" in answer:
        return f"error {answer['code']}"
    return str(answer.get("action") or ("roots" if "roots" in answer else "written"))


async def cell(client: str, backend: str, kind: Kind, act: Act) -> tuple[str, str, Asker]:
    asker = Asker(backend, kind)
    settings = dataclasses.replace(DEFAULTS, roots_bridge=True)
    house = House({"shop": asker.backend}, settings=settings)
    person = PEOPLE[client](house, kind)
    await person.begin()
    if act == "client gone":
        await person.leave()
    elif act == "backend gone":
        asker.exit()
        await let_run()
        if person.shown is not None and client != "tools only":
            await person.answer("accept")
    elif act != "never" and person.shown is not None:
        await person.answer(act)
    for _ in range(4):
        await let_run()
        if act in ("never", "client gone") or (act in ("decline", "cancel") and kind in ("sampling", "roots")):
            await house.clock.advance(LONG / 4)
    await person.close()
    await let_run()
    load = house.gateway.load()
    # A listen stream waits for changes, and for nobody.
    load["pending"] -= sum(len(connection.listening) for connection in asker.backend.connections)
    left = {name: load.get(name, 0) for name in ("calls", "pending", "holds") if load.get(name, 0)}
    assert not left, f"{client} / {backend} / {kind} / {act}: something still waits: {left}"
    ended = person.ended()
    saw = asker.saw()
    await house.close()
    return ended, saw, asker


def check(where: str, kind: Kind, act: Act, ended: str, saw: str, asker: Asker) -> None:
    assert ended != "waits", f"{where}: the client hangs"
    assert len(asker.answers()) <= 1, f"{where}: it was answered twice"
    assert act == "backend gone" or saw, f"{where}: the server hangs"
    if act == "accept":
        assert (ended, asker.answers()) == ("result", [accepted(kind)]), f"{where}: {ended}, {asker.answers()}"
    if act == "decline" and kind in ("form", "url"):
        assert asker.answers() == [{"action": "decline"}], where


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("client", PEOPLE)
async def test_every_question_has_one_end_and_nobody_hangs(
    client: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "legacy HTTP, GET":
        monkeypatch.setattr(dial, "InMemoryTransport", GetTransport)
    rows = []
    for kind, act in itertools.product(get_args(Kind), get_args(Act)):
        ended, saw, asker = await cell(client, backend, kind, act)
        rows.append(f"{client:12}  {backend:17}  {kind:8}  {act:12}  {ended:12}  {saw}")
        check(rows[-1], kind, act, ended, saw, asker)
    print("\n" + "\n".join(rows))  # noqa: T201
