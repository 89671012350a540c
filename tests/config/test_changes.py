"""What starts, stops and stays when a configuration is read again."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, StdioLaunch
from emceepee.config.changes import Changes, changes


def server(name: str, url: str = "http://x/mcp", disabled: bool = False) -> ServerDefinition:
    return ServerDefinition(name, HttpEndpoint(url), disabled=disabled)


def by_name(definitions: Iterable[ServerDefinition]) -> dict[str, ServerDefinition]:
    return {definition.name: definition for definition in definitions}


def reread(old: list[ServerDefinition], new: list[ServerDefinition], *added: ServerDefinition) -> Changes:
    return changes(old, new, by_name([*old, *added]))


def test_new_and_changed_ones_are_put_and_gone_ones_removed() -> None:
    moved = server("b", "http://y/mcp")
    found = reread([server("a"), server("b"), server("c")], [moved, server("c"), server("d")])
    assert found == Changes((moved, server("d")), ("a",), ("c",), ())


def test_definitions_that_are_equal_by_value_stay() -> None:
    old = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"A": "1", "B": "2"}))
    new = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"B": "2", "A": "1"}))
    found = reread([old], [new])
    assert found.keep == ("a",)
    assert not found


def test_a_server_that_is_disabled_or_enabled_is_another_one() -> None:
    on, off = server("a"), server("a", disabled=True)
    assert reread([on], [off]).put == (off,)
    assert reread([off], [on]).put == (on,)


def test_what_was_added_changed_or_removed_at_run_time_is_left() -> None:
    theirs = server("a", "http://theirs/mcp")
    assert reread([], [server("a")], theirs).left == ("a",), "added"
    assert reread([server("a")], [server("a", "http://y/mcp")], theirs).left == ("a",), "changed"
    assert reread([server("a")], [server("a")], theirs).keep == ("a",), "changed, and the file did not"
    assert reread([server("a")], [], theirs).left == ("a",), "changed, and gone from the file"
    assert not changes([server("a")], [server("a")], {}), "removed, and the file did not change"
    assert not changes([server("a")], [], {}), "removed from both"
    assert reread([], [theirs], theirs).keep == ("a",), "added, and now written down as it is"


servers = st.builds(server, st.sampled_from("abc"), st.sampled_from(["http://x/mcp", "http://y/mcp"]), st.booleans())
lists = st.lists(servers, unique_by=lambda definition: definition.name)


@given(lists, lists, lists)
def test_reading_the_same_again_changes_nothing_and_what_is_kept_is_not_touched(
    old: list[ServerDefinition], new: list[ServerDefinition], added: list[ServerDefinition]
) -> None:
    present = by_name([*old, *added])
    found = changes(old, new, present)
    after = {name: one for name, one in present.items() if name not in found.remove} | by_name(found.put)
    assert not changes(new, new, after)
    names = [one.name for one in found.put] + list(found.remove) + list(found.keep) + list(found.left)
    assert len(names) == len(set(names))
    untouched = set(after) - {one.name for one in found.put}
    assert all(after[name] is present[name] for name in untouched)
    if not added:
        assert after == by_name(new)
