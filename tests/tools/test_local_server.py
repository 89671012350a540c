"""What an author registers."""

from __future__ import annotations

import pytest

from emceepee.tools import LocalServer


def test_a_function_is_registered_once_under_its_name() -> None:
    server = LocalServer("studio")

    @server.tool
    def play() -> str:
        return "la"

    @server.tool(name="play_twice", description="Twice")
    def play2() -> str:
        return "la la"

    assert list(server.tools) == ["play", "play_twice"]
    assert play() == "la"
    with pytest.raises(ValueError, match="'play' already"):
        server.tool(play)


def test_resources_are_offered_where_there_are_some() -> None:
    server = LocalServer("studio")
    assert "resources" not in server.capabilities
    server.resource("studio://a")(lambda: "a")
    assert server.capabilities["resources"] == {}


def test_a_name_that_cannot_be_a_servers_is_refused() -> None:
    with pytest.raises(ValueError, match="separates server and tool names"):
        LocalServer("a__b")
