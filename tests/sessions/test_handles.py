"""How a workspace is named by those who use it."""

from __future__ import annotations

import pytest

from emceepee.sessions.handles import is_handle, make_handle, may_name, not_found, scope_of_name


def test_a_handle_is_known_by_its_beginning_and_is_a_name() -> None:
    handle = make_handle("01M7RGEH30XWXZWVZD9PKGTFB2")
    assert is_handle(handle)
    assert may_name(handle)
    assert not is_handle("local")
    assert not is_handle(scope_of_name(handle, "ada"))


@pytest.mark.parametrize("name", ["", "-a", ".", "a/b", "a b", "a\n", "é", "a" * 65])
def test_what_no_path_may_end_in(name: str) -> None:
    assert not may_name(name)


def test_a_name_is_a_different_place_for_each_principal() -> None:
    assert scope_of_name("notes", "ada") != scope_of_name("notes", "bob")


def test_an_unknown_one_is_repeated_only_so_far() -> None:
    fault = not_found("ws_" + "x" * 500)
    assert fault.message == f"Session 'ws_{'x' * 61}' not found"
    assert fault.data == {"reason": "session_not_found", "sessionId": f"ws_{'x' * 61}"}
