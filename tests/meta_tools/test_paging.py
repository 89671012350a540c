"""How much a model gets at once."""

from __future__ import annotations

from emceepee.meta_tools.paging import MAX_BYTES, page, with_server
from emceepee.vocabulary.raw_json import read_value, to_raw


def test_a_page_says_how_many_there_are_and_where_to_go_on() -> None:
    entries = [to_raw(n) for n in range(250)]
    first = page("x", entries, {})
    assert (len(first["x"]), first["total"], first["next_offset"]) == (100, 250, 100)
    last = page("x", entries, {"offset": 240, "limit": 50})
    assert (len(last["x"]), "next_offset" in last) == (10, False)


def test_one_entry_is_given_however_large() -> None:
    entries = [to_raw("x" * MAX_BYTES), to_raw("y")]
    part = page("x", entries, {})
    assert (len(part["x"]), part["next_offset"]) == (1, 1)


def test_an_offset_beyond_the_end_gives_nothing() -> None:
    assert page("x", [to_raw(1)], {"offset": 9}) == {"x": [], "total": 1}


def test_an_entry_says_whose_it_is() -> None:
    assert read_value(with_server("a", {"n": to_raw(1), "server": to_raw("lie")})) == {"server": "a", "n": 1}
