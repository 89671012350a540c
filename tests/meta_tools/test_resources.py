"""Resources and templates over all servers or one, and reading one."""

from __future__ import annotations

import pytest

from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.meta_tools.conftest import Use
from tests.support.fake_backends import FakeServer, answers, make_house

ONE = {"uri": "r:1", "name": "one", "size": 3, "x-new": True}


@pytest.mark.shows("A-TOOL-07")
async def test_resources_of_all_or_one_are_complete_and_say_whose_they_are(use: Use) -> None:
    house = make_house(a=FakeServer(lists={"resources": [ONE]}), b=FakeServer(lists={"resources": [ONE]}))
    said = await use(house, "list_resources")
    assert said["resources"] == [{"server": "a"} | ONE, {"server": "b"} | ONE]
    said = await use(house, "list_resources", server="b")
    assert (said["resources"], said["total"]) == ([{"server": "b"} | ONE], 1)


@pytest.mark.shows("X-GAP-14")
async def test_templates_are_listed_alike(use: Use) -> None:
    template = {"uriTemplate": "r:{id}", "name": "t"}
    house = make_house(a=FakeServer(lists={"resourceTemplates": [template]}))
    assert (await use(house, "list_resource_templates"))["resourceTemplates"] == [{"server": "a"} | template]


@pytest.mark.shows("A-TOOL-08")
async def test_a_resource_is_read_at_its_server_and_shown_whole(use: Use) -> None:
    contents = [{"uri": "r:1", "text": "hello", "x": 1}, {"uri": "r:1", "blob": "AA=="}]
    house = make_house(a=FakeServer(answer=answers(Done(Payload.of({"contents": contents})))))
    assert await use(house, "read_resource", server="a", uri="r:1") == {"contents": contents}
    (asked,) = house.pool.servers["a"].asked
    assert (asked.method, read_value(asked.params["uri"])) == ("resources/read", "r:1")


async def test_a_resource_that_is_not_there_says_so(use: Use) -> None:
    missing = Failed(-32002, "Resource not found", None, "resource_not_found")
    error = (await use(make_house(a=FakeServer(answer=answers(missing))), "read_resource", server="a", uri="r:9"))[
        "error"
    ]
    assert (error["code"], error["details"]["code"]) == ("TOOL_ERR_NOT_FOUND", -32002)
