"""What starts, stops and stays when a configuration is read again."""

from __future__ import annotations

from emceepee.backends.definition import HttpEndpoint, ServerDefinition, StdioLaunch
from emceepee.config.changes import changes


def server(name: str, url: str = "http://x/mcp", disabled: bool = False) -> ServerDefinition:
    return ServerDefinition(name, HttpEndpoint(url), disabled=disabled)


def test_new_ones_start_gone_ones_stop_and_changed_ones_do_both() -> None:
    old = [server("a"), server("b"), server("c")]
    new = [server("b", "http://y/mcp"), server("c"), server("d")]
    found = changes(old, new)
    assert [(definition.name, definition.address) for definition in found.start] == [
        ("b", "http://y/mcp"),
        ("d", "http://x/mcp"),
    ]
    assert [(definition.name, definition.address) for definition in found.stop] == [
        ("a", "http://x/mcp"),
        ("b", "http://x/mcp"),
    ]
    assert found.keep == (server("c"),)


def test_definitions_that_are_equal_by_value_stay() -> None:
    old = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"A": "1", "B": "2"}))
    new = ServerDefinition("a", StdioLaunch("npx", ("-y",), {"B": "2", "A": "1"}))
    assert changes([old], [new]).keep == (new,)


def test_disabling_is_a_stop_and_enabling_a_start() -> None:
    on, off = server("a"), server("a", disabled=True)
    assert changes([on], [off]) == changes([on], [])
    assert changes([off], [on]) == changes([], [on])
    assert changes([off], [off]) == changes([], [])
