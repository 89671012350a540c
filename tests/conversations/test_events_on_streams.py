"""What happens in a workspace, on the GET stream of its session too: shown again to who lost it, and told by the next
response all the same."""

from __future__ import annotations

import pytest

from emceepee.app import Gateway
from emceepee.state.events import Event
from tests.conversations.house import House, LegacyClient, let_run
from tests.conversations.meta_client import MetaClient, meta
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import settle
from tests.support.scripted_backend import ScriptedBackend


def legacy(client: MetaClient) -> LegacyClient:
    assert isinstance(client.client, LegacyClient)
    return client.client


async def stream(client: MetaClient, after: str | None = None) -> AsgiAnswer:
    """The session's GET stream, from an event on if one is named."""
    headers = {**legacy(client).headers, "accept": "text/event-stream"} | ({"last-event-id": after} if after else {})
    answer = legacy(client).http.start("GET", headers, b"")
    await answer.until(lambda: answer.status != 0)
    await settle(30)
    return answer


def told(answer: AsgiAnswer) -> list[tuple[str, str]]:
    """The events of the workspace among what the stream carried: their own ids and types."""
    lines = [message["params"] for message in answer.events if message["method"] == "notifications/message"]
    assert all((line["level"], line["logger"]) == ("info", "emceepee") for line in lines)
    return [(line["data"]["id"], line["data"]["type"]) for line in lines]


def kept(gateway: Gateway, client: MetaClient) -> list[Event]:
    workspace = gateway.workspaces.find(client.scope)
    assert workspace is not None
    return list(workspace.events.all())


def happens(gateway: Gateway, client: MetaClient, server: str) -> str:
    workspace = gateway.workspaces.find(client.scope)
    assert workspace is not None
    return workspace.record("server_connected", server, {"name": server})


@pytest.mark.shows("A-SSE-02", "A-SSE-04", "X-CON-19", "X-CON-06")
async def test_what_was_missed_is_shown_again_and_marked_as_sent_and_still_told_by_the_next_response() -> None:
    house = House({"files": ScriptedBackend()})
    client = await meta(house)
    first = await stream(client)
    seen = happens(house.gateway, client, "a")
    await let_run()
    assert told(first) == [(seen, "server_connected")]
    last_id = first.sse[-1].id
    assert last_id is not None
    first.leave()
    await let_run()
    missed = [happens(house.gateway, client, name) for name in ("b", "c")]
    for _ in range(2):
        again = await stream(client, last_id)
        assert [event_id for event_id, _ in told(again)] == missed
        again.leave()
        await let_run()
    assert all(event.sent_at is not None and not event.delivered for event in kept(house.gateway, client))
    answer = await client.use("list_servers")
    assert [event["id"] for event in answer.events] == [seen, *missed]
    await house.close()


async def test_an_event_that_no_stream_was_there_for_is_not_marked() -> None:
    house = House({})
    client = await meta(house)
    happens(house.gateway, client, "a")
    (event,) = kept(house.gateway, client)
    assert event.sent_at is None
    assert told(await stream(client)) == []
    await house.close()


@pytest.mark.shows("A-TST-11", "A-SSE-06")
async def test_two_sessions_see_their_own_events_whatever_id_they_name() -> None:
    house = House({})
    first, second = await meta(house), await meta(house)
    streams = [await stream(client) for client in (first, second)]
    own = [happens(house.gateway, client, name) for client, name in ((first, "a"), (second, "b"))]
    await let_run()
    assert [[event_id for event_id, _ in told(one)] for one in streams] == [[own[0]], [own[1]]]
    foreign = streams[0].sse[-1].id
    assert foreign is not None
    streams[1].leave()
    await let_run()
    happens(house.gateway, first, "c")
    again = await stream(second, foreign)
    assert own[1] in [event_id for event_id, _ in told(again)]
    assert own[0] not in str(again.events)
    assert "c" not in [message["params"]["data"]["server"] for message in again.events]
    await house.close()


async def test_a_session_that_wants_warnings_only_is_not_told_there() -> None:
    house = House({})
    client = await meta(house)
    await legacy(client).result("logging/setLevel", {"level": "warning"})
    answer = await stream(client)
    happens(house.gateway, client, "a")
    await let_run()
    assert told(answer) == []
    assert (await client.use("list_servers")).kinds == ["server_connected"]
    await house.close()


async def test_whoever_does_not_listen_any_more_is_let_go_of() -> None:
    house = House({})
    client = await meta(house)
    await stream(client)
    workspace = house.gateway.workspaces.find(client.scope)
    assert workspace is not None
    assert len(workspace.onlookers) == 1
    await legacy(client).delete()
    await let_run()
    assert workspace.onlookers == []
    await house.close()
