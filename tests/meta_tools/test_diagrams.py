"""The drawn states: from the tables, complete, and readable by every kind of client."""

from __future__ import annotations

import re

import pytest

from emceepee.backends import lifecycle
from emceepee.meta_tools.diagrams import LISTED, TABLES, URI, contents, draw, page
from emceepee.relay import hold_life
from emceepee.sessions import session
from emceepee.state import pending_requests, tasks
from tests.conversations.house import House
from tests.conversations.meta_client import MetaClient, meta
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, make_house


def test_a_diagram_joins_the_steps_that_lead_the_same_way() -> None:
    table = {("a", "go"): "b", ("a", "run"): "b", ("b", "stop"): "a"}
    lines = ["stateDiagram-v2", "    [*] --> a", "    a --> b: go, run", "    b --> a: stop"]
    assert draw(table).splitlines() == lines


@pytest.mark.shows("X-GAP-03")
def test_the_page_has_each_arrow_of_each_table_and_no_other() -> None:
    drawn = [one.table for one in TABLES]
    assert drawn == [session.NEXT, lifecycle.NEXT, tasks.NEXT, pending_requests.NEXT, hold_life.NEXT]
    diagrams = re.findall(r"```mermaid\n(.*?)\n```", page(), re.DOTALL)
    assert len(diagrams) == len(drawn)
    for table, diagram in zip(drawn, diagrams, strict=True):
        arrows = set()
        for state, following, steps in re.findall(r"^    (\w+) --> (\w+): (.*)$", diagram, re.MULTILINE):
            arrows |= {((state, step), following) for step in steps.split(", ")}
        assert arrows == {((state, step), following) for (state, step), following in table.items()}


@pytest.mark.shows("A-RES-01")
async def test_it_is_a_resource_of_the_meta_tools_for_clients_of_both_eras() -> None:
    house = House({})
    legacy = await house.legacy_client("/mcp")
    assert "resources" in legacy.welcome["capabilities"]
    for client in (legacy, house.modern_client("/mcp")):
        assert (await client.result("resources/list"))["resources"] == [LISTED]
        assert (await client.result("resources/templates/list"))["resourceTemplates"] == []
        (found,) = (await client.result("resources/read", {"uri": URI}))["contents"]
        assert (found["uri"], found["mimeType"]) == (URI, "text/markdown")
        assert "working --> completed: complete" in found["text"]
        assert (await client.call("resources/read", {"uri": "emceepee://other"}))["error"]["data"]["uri"]
        assert (await client.call("resources/read", {}))["error"]["code"] == -32602
    await house.close()


@pytest.mark.shows("A-RES-01")
async def test_a_client_that_has_nothing_but_tools_reads_it_too() -> None:
    house = House({})
    for client in (await meta(house), MetaClient(house.modern_client("/mcp"))):
        listed = (await client.use("list_resources", server="emceepee")).said
        assert listed["resources"] == [{"server": "emceepee"} | LISTED]
        assert (await client.use("read_resource", server="emceepee", uri=URI)).said == contents()
        assert (await client.use("read_resource", server="emceepee", uri="emceepee://other")).is_error
    await house.close()


async def test_a_server_that_has_our_name_is_a_server_like_any_other(use: Use) -> None:
    house = make_house(emceepee=FakeServer(lists={"resources": [{"uri": URI, "name": "theirs"}]}))
    said = await use(house, "list_resources", server="emceepee")
    assert said["resources"] == [{"server": "emceepee", "uri": URI, "name": "theirs"}]
