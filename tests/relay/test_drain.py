"""Reading a list to its end, from servers that page well, badly, and without end."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.backends.catalogue import Listed
from emceepee.errors import BackendViolation
from emceepee.relay.drain import drain
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import CacheHints, Done
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.support.fake_backends import FakeConnection, FakeServer, tool


class Pages(FakeConnection):
    """Answers by cursor; None is the first page."""

    def __init__(self, pages: dict[Any, dict[str, Any]], hints: dict[Any, CacheHints] | None = None) -> None:
        super().__init__(FakeServer())
        self.pages = pages
        self.hints = hints or {}

    def _list(self, call: Call) -> Done:
        cursor = read_value(call.params["cursor"]) if "cursor" in call.params else None
        return Done(Payload.of(self.pages[cursor]), self.hints.get(cursor))


async def read(connection: FakeConnection, **settings: int) -> Listed:
    listed = await drain("a", "s", "tools", connection, RelaySettings(**settings))
    assert isinstance(listed, Listed)
    return listed


@pytest.mark.shows("X-GAP-16")
async def test_all_pages_are_followed_an_empty_cursor_too() -> None:
    pages = {
        None: {"tools": [tool("a")], "nextCursor": ""},
        "": {"tools": [tool("b")], "nextCursor": "2"},
        "2": {"tools": [tool("c")]},
    }
    listed = await read(Pages(pages))
    assert list(listed.index()) == ["a", "b", "c"]


async def test_a_cursor_that_comes_twice_ends_the_list() -> None:
    pages = {None: {"tools": [tool("a")], "nextCursor": "1"}, "1": {"tools": [tool("b")], "nextCursor": "1"}}
    listed = await read(Pages(pages))
    assert (list(listed.index()), listed.truncated) == (["a", "b"], True)


async def test_a_list_without_end_is_cut_at_the_cap() -> None:
    server = FakeServer(lists={"tools": [tool(str(n)) for n in range(50)]}, page_size=1)
    listed = await read(FakeConnection(server), max_pages=7)
    assert (len(listed.items), listed.truncated) == (7, True)


async def test_a_list_that_is_too_large_is_cut() -> None:
    server = FakeServer(lists={"tools": [tool(str(n), description="x" * 100) for n in range(50)]}, page_size=10)
    listed = await read(FakeConnection(server), max_list_bytes=2000)
    assert (len(listed.items), listed.truncated) == (20, True)


async def test_the_tightest_of_the_pages_hints_holds() -> None:
    pages = {None: {"tools": [], "nextCursor": "1"}, "1": {"tools": []}}
    listed = await read(Pages(pages, {None: CacheHints(9, "public"), "1": CacheHints(5, "public")}))
    assert listed.hints == CacheHints(5, "public")


async def test_other_keys_of_the_result_are_kept() -> None:
    listed = await read(Pages({None: {"tools": [], "_meta": {"k": 1}, "x": 2}}))
    assert {key: read_value(raw) for key, raw in listed.extras.items()} == {"_meta": {"k": 1}, "x": 2}


async def test_an_entry_that_is_no_object_is_left_out_and_its_neighbours_stay() -> None:
    listed = await read(Pages({None: {"tools": [7, tool("a"), None]}}))
    assert list(listed.index()) == ["a"]


@pytest.mark.parametrize("result", [{"tools": "many"}, {"tools": {}}])
async def test_a_list_that_is_none_is_a_violation(result: dict[str, Any]) -> None:
    with pytest.raises(BackendViolation):
        await read(Pages({None: result}))
