"""The folders of a client that has only tools: as models write them, as servers read them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.house import House, let_run, wire
from tests.conversations.meta_client import meta
from tests.conversations.test_asks import asker, result_of
from tests.support.scripted_backend import ScriptedBackend

TELLING = {"server": "shop", "tool": "where"}


@pytest.mark.parametrize(
    ("folder", "root"),
    [
        ("/plans/über uns", {"uri": "file:///plans/%C3%BCber%20uns", "name": "%C3%BCber%20uns"}),
        ("file:///work/", {"uri": "file:///work/", "name": "work"}),
        ("C:\\Users\\me", {"uri": "file:///C:/Users/me", "name": "me"}),
        ("/", {"uri": "file:///"}),
    ],
)
async def test_a_folder_is_told_as_a_root(folder: str, root: Any) -> None:
    house = House({})
    client = await meta(house)
    said = (await client.use("set_roots", roots=[folder])).said
    assert said["roots"] == [root]
    await house.close()


@pytest.mark.parametrize("folder", ["work", "https://a.example/", "", "./x"])
async def test_what_is_no_folder_is_refused_by_name(folder: str) -> None:
    house = House({})
    client = await meta(house)
    told = await client.use("set_roots", roots=["/fine", folder])
    assert told.is_error
    assert told.said["error"]["details"] == {"field": "roots"}
    assert "neither an absolute path nor a file:// URI" in told.said["error"]["message"]
    many = await client.use("set_roots", roots=["/x"] * 201)
    assert "at most 200" in many.said["error"]["message"]
    await house.close()


@pytest.mark.shows("X-GAP-14")
async def test_servers_may_ask_for_roots_once_they_were_said_and_hear_of_new_ones() -> None:
    backend = ScriptedBackend(answers={"tools/call": asker("roots/list", {"_meta": {}})})
    house = House({"shop": backend})
    client = await meta(house)
    refused = await client.use("execute_tool", **TELLING)
    assert "roots" not in wire(backend, "initialize")["capabilities"]
    assert "roots/list was not declared" in str(backend.received[-1])
    assert not refused.is_error
    await client.use("set_roots", roots=["/work"])
    told = client.start("execute_tool", **TELLING)
    await told.done()
    result = told.json["result"]["structuredContent"]
    assert result == {"answers": [{"roots": [{"uri": "file:///work", "name": "work"}]}]}
    assert wire(backend, "initialize")["capabilities"]["roots"] == {"listChanged": True}
    assert backend.params("notifications/roots/list_changed") == []
    await client.use("set_roots", roots=[])
    await let_run()
    assert len(backend.params("notifications/roots/list_changed")) == 1
    other = await meta(house)
    await other.use("execute_tool", **TELLING)
    assert "roots" not in wire(backend, "initialize")["capabilities"], "roots are of one client only"
    await house.close()


async def test_roots_need_nobody_and_promote_nothing() -> None:
    async def both(turn: Any) -> Any:
        await turn.ask("roots/list", {}, "r")
        return await asker()(turn)

    house = House({"shop": ScriptedBackend(answers={"tools/call": both})})
    client = await meta(house)
    await client.use("set_roots", roots=["/work"])
    told = await client.use("execute_tool", **TELLING)
    assert told.pending is not None
    (pending,) = told.pending["elicitations"]
    await client.use("respond_to_elicitation", request_id=pending["requestId"], action="decline")
    _, result = await result_of(client, told)
    assert result == {"answers": [{"action": "decline"}]}
    await house.close()
