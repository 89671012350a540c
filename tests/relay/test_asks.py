"""From an ask to a workspace: what is promised, what is kept, and who is interrupted."""

from __future__ import annotations

from dataclasses import replace

from msgspec import Raw

from emceepee.relay.asks import BY_TOOLS, Asks
from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.settings import AskSettings, StateSettings
from emceepee.vocabulary.asks import NO_ASKS, AskProfile, Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload
from tests.support.fake_clock import FakeClock

FORM = Raw(b'{"message":"?"}')


def places(max_pending: int = 256) -> Workspaces:
    clock = FakeClock()
    settings = StateSettings(asks=AskSettings(max_pending=max_pending))
    return Workspaces(clock, Ulids(clock, SystemIds().slot()), settings)


def raised(*calls: Call, settled: list[Outcome] | None = None) -> RaisedAsk:
    certainty = ("orphan", "exact", "ambiguous")[min(len(calls), 2)]
    return RaisedAsk(
        "elicitation", "form", FORM, Belonging(certainty, calls), ([] if settled is None else settled).append
    )  # type: ignore[arg-type]


def call(asks: AskProfile = BY_TOOLS) -> Call:
    return Call("tools/call", {}, Caller("s"), asks=asks)


def test_only_who_has_our_tools_is_promised_to_answer_by_them() -> None:
    workspaces = places()
    asks = Asks(workspaces)
    assert asks.usual("files", "s") == NO_ASKS
    workspaces.at("s")
    assert asks.usual("files", "s") == NO_ASKS
    workspaces.at("s").by_tools = True
    assert asks.usual("files", "s") == BY_TOOLS
    assert asks.promised("files", call(NO_ASKS), tools=True) == BY_TOOLS
    assert asks.promised("files", call(NO_ASKS)) == NO_ASKS
    asks.native_of = lambda scope: frozenset(("roots",))
    assert asks.usual("files", "s") == BY_TOOLS | {"roots"}


class FakeEar:
    def __init__(self, hears: AskProfile, refusal: Failed | None = None) -> None:
        self.hears = hears
        self.asked: list[RaisedAsk] = []
        self.withdrawn: list[str] = []
        self.done: list[str] = []
        self._refusal = refusal

    def ask(self, ask: RaisedAsk) -> Withdraw | Failed:
        self.asked.append(ask)
        return self._refusal or self.withdrawn.append

    def completed(self, elicitation_id: str) -> None:
        self.done.append(elicitation_id)


async def test_a_client_that_can_be_asked_itself_is_and_sees_nothing_by_its_tools() -> None:
    workspaces = places()
    workspace = workspaces.at("s")
    workspace.by_tools = True
    ear = FakeEar(frozenset(("form",)))
    door = Asks(workspaces).door("files", {"s"}, BY_TOOLS)
    asking = call()
    asking.ear = ear
    settled: list[Outcome] = []
    withdraw = door.take(raised(asking, settled=settled))
    assert not isinstance(withdraw, Failed)
    withdraw("why")
    ear.asked[0].settle(Done(Payload.of({"action": "accept"})))
    assert (ear.withdrawn, len(settled), workspace.asks.open()) == (["why"], 1, [])
    door.take(replace(raised(asking), wanted="url"))
    assert (len(ear.asked), len(workspace.asks.open())) == (1, 1), "what it cannot be asked itself goes by the tools"
    await workspaces.close()


async def test_what_comes_while_a_link_is_made_for_a_call_belongs_to_that_call() -> None:
    workspaces = places()
    opening = call()
    opening.ear = ear = FakeEar(frozenset(("form",)))
    door = Asks(workspaces, opening=lambda server, scopes: [opening]).door("files", {"s"}, BY_TOOLS)
    door.take(raised())
    assert ear.asked[0].belonging == Belonging("presumed", (opening,))
    nobody = Asks(workspaces).door("files", {"s"}, BY_TOOLS).take(raised())
    assert isinstance(nobody, Failed)
    assert nobody.code == -32602


async def test_an_ask_is_kept_until_it_is_withdrawn() -> None:
    workspaces = places()
    workspace = workspaces.at("s")
    workspace.by_tools = True
    door = Asks(workspaces).door("files", {"s"}, BY_TOOLS)
    settled: list[Outcome] = []
    withdraw = door.take(raised(settled=settled))
    assert not isinstance(withdraw, Failed)
    (pending,) = workspace.asks.open("elicitation", "files")
    assert pending.params == FORM
    withdraw("why")
    withdraw("again")
    assert workspace.asks.open() == []
    assert settled == []
    await workspaces.close()
    closed = door.take(raised(call()))
    assert isinstance(closed, Failed)
    assert closed.code == -32601


async def test_a_full_workspace_says_so_to_the_server() -> None:
    workspaces = places(max_pending=1)
    workspaces.at("s").by_tools = True
    door = Asks(workspaces).door("files", {"s"}, BY_TOOLS)
    door.take(raised())
    full = door.take(raised())
    assert isinstance(full, Failed)
    assert "max_pending" in full.message
    await workspaces.close()


async def test_whoever_waits_for_a_call_that_asks_is_interrupted_and_nobody_else() -> None:
    workspaces = places()
    workspaces.at("s").by_tools = True
    asks = Asks(workspaces)
    door = asks.door("files", {"s"}, BY_TOOLS)
    dig, craft, other = call(), call(), call()
    heard: list[str] = []
    with asks.interrupting(dig, lambda: heard.append("dig")), asks.interrupting(other, lambda: heard.append("other")):
        with asks.interrupting(craft, lambda: heard.append("craft")):
            door.take(raised(dig))
            door.take(raised())
            door.take(raised(dig, craft))
        door.take(raised(craft))
    door.take(raised(dig))
    assert heard == ["dig", "dig", "craft"]
    await workspaces.close()


async def test_without_promotion_nobody_is() -> None:
    workspaces = places()
    workspaces.at("s").by_tools = True
    asks = Asks(workspaces, promote=False)
    one = call()
    with asks.interrupting(one, lambda: (_ for _ in ()).throw(AssertionError)):  # type: ignore[arg-type,return-value]
        asks.door("files", {"s"}, BY_TOOLS).take(raised(one))
    await workspaces.close()


async def test_a_question_goes_where_its_call_came_from_and_nowhere_if_that_cannot_be_asked() -> None:
    workspaces = places()
    for scope in ("s", "t"):
        workspaces.at(scope).by_tools = True
    door = Asks(workspaces).door("files", {"s", "t"}, BY_TOOLS)
    door.take(raised(Call("tools/call", {}, Caller("t"), asks=BY_TOOLS)))
    assert [len(workspaces.at(scope).asks) for scope in ("s", "t")] == [0, 1]
    plain = door.take(raised(Call("tools/call", {}, Caller("t"))))
    assert isinstance(plain, Failed)
    assert plain.code == -32601
    door.take(raised(call(), Call("tools/call", {}, Caller("t"))))
    assert [len(workspaces.at(scope).asks) for scope in ("s", "t")] == [1, 1]
    await workspaces.close()
