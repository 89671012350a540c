"""A server that is there again: one cycle for each scope, closed once, and never a flood of questions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.backends.connection import Connection
from emceepee.backends.recovery import Identity, Reconnection
from emceepee.relay.reconciliation import Reconciled
from emceepee.state.invalidated import Invalidated
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_backends import EVERYTHING, FakeServer, House, make_house, tool
from tests.support.fake_clock import settle
from tests.support.fake_links import FakeLink

BLIP = Reconnection("network_blip", Identity(name="a"), Identity(name="a"))


async def again(house: House, *scopes: str, epoch: object = "first") -> None:
    """As the pool says it; lists are asked for through the house's own connections."""
    for scope in scopes:
        connection = Connection("a", scope)
        connection.epoch = epoch
        link = FakeLink(lambda link, fault: None)
        link.about = About(EVERYTHING)
        await connection.attach(link)
        house.middle.reconciliation.attached(connection, BLIP)


def told(house: House, scope: str = "s") -> list[Any]:
    return [(event.type, read_value(event.data)) for event in house.middle.workspaces.at(scope).events.all()]


@pytest.mark.shows("A-REC-23")
def test_its_result_names_each_id_and_each_list() -> None:
    result = Reconciled(Invalidated(("T1",), ("E1",), ("S1",)), frozenset(("tools", "prompts")))
    assert result.ids() == {
        "invalidatedTasks": ["T1"],
        "invalidatedElicitations": ["E1"],
        "invalidatedSamplingRequests": ["S1"],
        "refreshedTools": True,
        "refreshedResources": False,
        "refreshedPrompts": True,
    }


async def test_what_was_known_is_asked_for_again_also_where_there_is_no_workspace() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    await house.middle.listing.get("a", "s", "tools", 2.0)
    house.pool.lose("a")
    server.lists["tools"] = [tool("x"), tool("y")]
    await again(house, "s")
    await settle(50)
    assert server.methods() == ["tools/list"] * 2
    listed = house.middle.listing.known("a", "s", "tools")
    assert listed is not None
    assert list(listed.index()) == ["x", "y"]
    assert len(house.middle.workspaces) == 0
    assert len(house.middle.reconciliation) == 0


async def test_scopes_that_share_a_link_ask_once_for_all_of_them() -> None:
    server = FakeServer(lists={"tools": [tool("x")]})
    house = make_house(a=server)
    scopes = [f"s{number}" for number in range(20)]
    for scope in scopes:
        house.middle.workspaces.at(scope)
        await house.middle.listing.get("a", scope, "tools", 2.0)
    for scope in scopes:
        house.pool.lose("a", scope)
        await house.middle.reach.connection("a", scope)
    server.asked.clear()
    server.lists["tools"] = [tool("y")]
    await again(house, *scopes)
    await settle(200)
    assert sorted(server.methods()) == ["prompts/list", "resources/list", "tools/list"]
    for scope in scopes:
        listed = house.middle.listing.known("a", scope, "tools")
        assert listed is not None
        assert list(listed.index()) == ["y"]
        assert [kind for kind, _ in told(house, scope)][-2:] == ["notification", "server_reconnected"]


async def test_links_of_their_own_are_asked_a_few_at_a_time() -> None:
    server = FakeServer(hangs=True)
    house = make_house(a=server)
    for number in range(20):
        house.middle.workspaces.at(f"s{number}")
        await again(house, f"s{number}", epoch=number)
    await settle(100)
    assert len(server.asked) == 8 * 3
    server.release()
    await settle(300)
    assert len(server.asked) == 20 * 3
    assert len(house.middle.reconciliation) == 0


@pytest.mark.shows("A-REC-25", "A-REC-24")
async def test_a_loss_in_the_middle_closes_the_cycle_before_it_is_told() -> None:
    server = FakeServer(hangs=True)
    house = make_house(a=server)
    house.middle.workspaces.at("s")
    await again(house, "s")
    await settle()
    house.middle.reconciliation.lost("a", "s")
    server.release()
    await settle(50)
    kinds = [kind for kind, _ in told(house)]
    assert kinds == ["server_reconnected", "server_disconnected"]
    assert told(house)[0][1]["refreshedTools"] is False


async def test_lists_that_do_not_come_hold_up_the_news_for_so_long_and_no_longer() -> None:
    house = make_house(a=FakeServer(hangs=True))
    house.middle.workspaces.at("s")
    await again(house, "s")
    await house.clock.advance(9.9)
    assert told(house) == []
    await house.clock.advance(0.2)
    await settle(50)
    assert [kind for kind, _ in told(house)] == ["server_reconnected"]
    await house.tasks.close()


@pytest.mark.shows("A-REC-30")
async def test_nothing_is_told_of_a_server_that_is_no_more_or_to_a_session_that_is_over() -> None:
    house = make_house(a=FakeServer(hangs=True))
    for scope in ("s", "t"):
        house.middle.workspaces.at(scope)
        await again(house, scope, epoch=scope)
    await settle()
    await house.middle.forget("t")
    house.registry.remove("a")
    house.pool.servers["a"].release()
    await settle(50)
    await again(house, "s")
    await settle(50)
    assert "server_reconnected" not in [kind for kind, _ in told(house)]
    assert len(house.middle.reconciliation) == 0
    await house.tasks.close()


@pytest.mark.shows("X-BUG-35", "A-REC-20")
async def test_a_call_that_waits_for_the_next_connection_is_none_that_the_last_one_took() -> None:
    house = make_house(a=FakeServer())
    workspace = house.middle.workspaces.at("s")
    lost = workspace.begin_task(("a", "t", None), None, None, lambda: True)
    kept = workspace.begin_task(("a", "t", Raw(b"{}")), None, None, lambda: False)
    house.middle.reconciliation.replaced("a", "s")
    assert [workspace.tasks.get(task.id).status for task in (lost, kept)] == ["failed", "working"]
    house.middle.reconciliation.has_live = lambda server, scope: True
    house.middle.reconciliation.lost("a", "s")
    assert workspace.tasks.get(kept.id).working, "it is on another connection of this scope"
    house.middle.reconciliation.has_live = lambda server, scope: False
    house.middle.reconciliation.lost("a", "s")
    assert workspace.tasks.get(kept.id).error == "Server disconnected"


@pytest.mark.shows("A-TST-05")
async def test_what_a_restart_took_is_told_item_by_item_and_counted_when_the_server_is_back() -> None:
    house = make_house(a=FakeServer())
    workspace = house.middle.workspaces.at("s")
    workspace.begin_task(("a", "slow", None), None)
    workspace.begin_ask("elicitation", "a", Raw(b"{}"), lambda outcome: None)
    workspace.begin_ask("sampling", "other", Raw(b"{}"), lambda outcome: None)
    house.middle.reconciliation.lost("a", "s")
    await again(house, "s")
    await settle(50)
    kinds = [kind for kind, _ in told(house)][3:]
    assert kinds == ["task_failed", "elicitation_expired", "server_disconnected", "server_reconnected"]
    counts = {"invalidatedTasks": 1, "invalidatedElicitations": 1, "invalidatedSampling": 0}
    assert told(house)[-1][1].items() >= counts.items()
    assert [ask.server for ask in workspace.asks.open()] == ["other"]
