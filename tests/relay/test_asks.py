"""From an ask to a workspace: what is promised, what is kept, and who is interrupted."""

from __future__ import annotations

from msgspec import Raw

from emceepee.relay.asks import BY_TOOLS, Asks
from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.sessions.workspaces import Workspaces
from emceepee.state.settings import AskSettings, StateSettings
from emceepee.vocabulary.asks import CLOSED, Belonging, RaisedAsk
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.outcomes import Failed, Outcome
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


def call() -> Call:
    return Call("tools/call", {}, Caller("s"), asks=BY_TOOLS)


def test_only_who_has_a_workspace_can_be_asked() -> None:
    workspaces = places()
    asks = Asks(workspaces)
    assert asks.door("files", {"s"}) == CLOSED
    workspaces.at("s")
    assert asks.door("files", {"s"}) == CLOSED
    workspaces.at("s").by_tools = True
    assert asks.door("files", {"t", "s"}).profile == BY_TOOLS


async def test_an_ask_is_kept_until_it_is_withdrawn() -> None:
    workspaces = places()
    workspace = workspaces.at("s")
    workspace.by_tools = True
    door = Asks(workspaces).door("files", {"s"})
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
    closed = door.take(raised())
    assert isinstance(closed, Failed)
    assert closed.code == -32601


async def test_a_full_workspace_says_so_to_the_server() -> None:
    workspaces = places(max_pending=1)
    workspaces.at("s").by_tools = True
    door = Asks(workspaces).door("files", {"s"})
    door.take(raised())
    full = door.take(raised())
    assert isinstance(full, Failed)
    assert "max_pending" in full.message
    await workspaces.close()


async def test_whoever_waits_for_a_call_that_asks_is_interrupted_and_nobody_else() -> None:
    workspaces = places()
    workspaces.at("s").by_tools = True
    asks = Asks(workspaces)
    door = asks.door("files", {"s"})
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
        asks.door("files", {"s"}).take(raised(one))
    await workspaces.close()


async def test_a_question_goes_where_its_call_came_from_and_nowhere_if_that_cannot_be_asked() -> None:
    workspaces = places()
    for scope in ("s", "t"):
        workspaces.at(scope).by_tools = True
    door = Asks(workspaces).door("files", {"s", "t"})
    door.take(raised(Call("tools/call", {}, Caller("t"), asks=BY_TOOLS)))
    assert [len(workspaces.at(scope).asks) for scope in ("s", "t")] == [0, 1]
    plain = door.take(raised(Call("tools/call", {}, Caller("t"))))
    assert isinstance(plain, Failed)
    assert plain.code == -32601
    door.take(raised(call(), Call("tools/call", {}, Caller("t"))))
    assert [len(workspaces.at(scope).asks) for scope in ("s", "t")] == [1, 1]
    await workspaces.close()
