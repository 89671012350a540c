"""Context: never more than is asked for, may be disclosed, or fits."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.context import NoContext, ServerContext, granted, with_context
from tests.sampling.samples import request

PIECES = [ServerContext("a", "alpha "), ServerContext("b", " "), ServerContext("c", "gamma")]


@pytest.mark.parametrize(
    ("asked", "disclose", "given"),
    [
        (None, "allServers", "none"),
        ("allServers", "none", "none"),
        ("allServers", "thisServer", "thisServer"),
        ("thisServer", "allServers", "thisServer"),
        ("allServers", "allServers", "allServers"),
    ],
)
def test_the_smaller_of_both_is_granted(asked: str | None, disclose: Any, given: str) -> None:
    assert granted(asked, disclose) == given


def test_pieces_come_behind_the_system_prompt() -> None:
    params = request(systemPrompt="Be brief")
    text = with_context(params, PIECES, 1000)["systemPrompt"]
    assert text == "Be brief\n\nContext of the server 'a':\nalpha\n\nContext of the server 'c':\ngamma"
    assert params["systemPrompt"] == "Be brief"
    assert with_context(request(), PIECES[:1], 1000)["systemPrompt"] == "Context of the server 'a':\nalpha"


def test_context_is_bounded() -> None:
    text = with_context(request(), [ServerContext("a", "x" * 500)], 100)["systemPrompt"]
    assert len(text) == 100
    assert text.endswith("[cut]")


async def test_where_there_is_none_nothing_changes() -> None:
    pieces = await NoContext().context("local", None)
    assert with_context(params := request(), pieces, 100) is params
