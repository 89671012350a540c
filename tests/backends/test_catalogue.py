"""Names, merging, owners: the pure half of lists."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.catalogue import (
    MAX_NAME,
    Listed,
    list_payload,
    make_listed,
    merge,
    merged_name,
    owner_of,
    template_fits,
    tightest,
)
from emceepee.vocabulary.outcomes import CacheHints
from emceepee.vocabulary.raw_json import read_value, to_raw


def listed(kind: Any, *entries: Any) -> Listed:
    return make_listed(kind, [to_raw(entry) for entry in entries], {}, None)


def test_a_plain_name_is_the_server_two_underscores_and_the_tool() -> None:
    assert merged_name("files", "read_file") == "files__read_file"


@pytest.mark.parametrize("own", ["a.b", "a b", "a/b", "ü", "x" * 70])
def test_a_name_that_model_apis_refuse_is_made_safe_and_gets_a_hash(own: str) -> None:
    name = merged_name("files", own)
    tail = hashlib.sha256(f"files\0{own}".encode()).hexdigest()[:6]
    assert name.endswith(tail)
    assert len(name) <= MAX_NAME
    assert name.replace("_", "").replace("-", "").isascii()


def test_where_the_server_ends_is_never_open() -> None:
    assert merged_name("a_", "b") != merged_name("a", "_b")


server_names = st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_)){0,38}", fullmatch=True)


@given(st.lists(st.tuples(server_names, st.text(max_size=90)), unique=True, max_size=30))
def test_merged_names_fit_and_do_not_collide(pairs: list[tuple[str, str]]) -> None:
    names = [merged_name(server, own) for server, own in pairs]
    assert len(set(names)) == len(pairs)
    assert all(len(name) <= MAX_NAME for name in names)


def test_tools_are_merged_in_the_servers_order_then_their_own_and_stay_complete() -> None:
    first = listed("tools", {"name": "z", "x-odd": [1]}, {"name": "a"})
    second = listed("tools", {"name": "z"})
    merged = merge([("one", first), ("two", second)])
    assert [read_value(item) for item in merged.items] == [
        {"name": "one__z", "x-odd": [1]},
        {"name": "one__a"},
        {"name": "two__z"},
    ]


def test_of_two_resources_with_one_uri_the_first_server_has_it_and_the_other_is_named() -> None:
    first = listed("resources", {"uri": "file:///a", "name": "1"})
    second = listed("resources", {"uri": "file:///a", "name": "2"}, {"uri": "file:///b"})
    merged = merge([("one", first), ("two", second)])
    assert [read_value(item).get("name") for item in merged.items] == ["1", None]
    assert merged.shadowed == (("two", "file:///a"),)
    assert owner_of("file:///a", [("one", first), ("two", second)]) == "one"


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("note://{id}", "note://7", True),
        ("note://{id}", "note://7/8", False),
        ("file:///{+path}", "file:///a/b", True),
        ("file:///{path*}", "file:///a/b", True),
        ("note://{a}/x/{b}", "note://1/x/2", True),
        ("note://{a}/x/{b}", "note://1/y/2", False),
        ("note://fixed", "note://fixed", True),
        ("note://{id}.txt", "note://7.md", False),
        ("{a}{b}", "zz", True),
    ],
)
def test_a_uri_finds_the_template_it_may_come_from(template: str, uri: str, fits: bool) -> None:
    assert template_fits(template, uri) is fits


@given(st.text(alphabet="{}ab+*/", max_size=60), st.text(alphabet="ab/", max_size=60))
def test_no_template_makes_matching_fail(template: str, uri: str) -> None:
    assert template_fits(template, uri) in (True, False)


@pytest.mark.shows("EB-F13")
@pytest.mark.parametrize(
    ("schema", "wrapped"),
    [({"type": "object"}, False), ({"type": "array"}, True), ({"anyOf": []}, True), (None, False), (7, True)],
)
def test_a_tool_whose_output_is_no_object_is_known_as_wrapped(schema: Any, wrapped: bool) -> None:
    entry = {"name": "t"} | ({"outputSchema": schema} if schema is not None else {})
    facts = listed("tools", entry).facts("t")
    assert facts is not None
    assert facts.wrapped is wrapped


@pytest.mark.parametrize(
    ("annotations", "repeatable"),
    [({"readOnlyHint": True}, True), ({"idempotentHint": True}, True), ({"readOnlyHint": False}, False), ("no", False)],
)
def test_annotations_say_whether_twice_is_once(annotations: Any, repeatable: bool) -> None:
    facts = listed("tools", {"name": "t", "annotations": annotations}).facts("t")
    assert facts is not None
    assert facts.repeatable is repeatable


def test_the_tightest_hint_counts_and_silence_makes_it_private() -> None:
    public, private = CacheHints(60_000, "public"), CacheHints(90_000, "private")
    assert tightest([public]) == public
    assert tightest([public, private]) == CacheHints(60_000, "private")
    assert tightest([public, None]) == CacheHints(0, "private")
    assert tightest([None]) is None


def test_a_list_payload_keeps_entries_as_they_came() -> None:
    raw = make_listed("tools", [to_raw({"name": "t", "n": 1.0})], {"x": to_raw({})}, None)
    assert list_payload("tools", raw.items, raw.extras) == b'{"tools":[{"name":"t","n":1.0}],"x":{}}'


def test_only_a_list_in_which_a_tool_declares_its_output_is_looked_at_for_each_call() -> None:
    plain, declaring = to_raw({"name": "a"}), to_raw({"name": "b", "outputSchema": {"type": "array"}})
    assert not make_listed("tools", [plain], {}, None).may_wrap()
    assert make_listed("tools", [plain, declaring], {}, None).may_wrap()
