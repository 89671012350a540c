"""The cheapest server is still an MCP server, of the era it is asked to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.answers import answer
from bench.wire import Era


def _ask(method: str, era: Era, **params: Any) -> Any:
    said = answer(json.dumps({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).encode(), era)
    assert said is not None
    message = json.loads(said)
    assert message["id"] == "a"
    return message.get("result", message.get("error"))


def test_a_notification_is_not_answered() -> None:
    assert answer(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', "legacy") is None


def test_each_era_has_its_own_beginning_and_refuses_the_others() -> None:
    assert _ask("initialize", "legacy", protocolVersion="2025-11-25")["protocolVersion"] == "2025-11-25"
    assert _ask("server/discover", "modern")["supportedVersions"] == ["2026-07-28"]
    assert _ask("server/discover", "legacy")["code"] == -32601
    assert _ask("initialize", "modern")["code"] == -32022


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_tools_are_listed_as_the_era_wants_it(era: Era) -> None:
    result = _ask("tools/list", era)
    assert [tool["name"] for tool in result["tools"]] == ["echo", "big"]
    assert ("ttlMs" in result) == ("resultType" in result) == (era == "modern")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_words_come_back_as_they_were_written(era: Era) -> None:
    assert (
        _ask("tools/call", era, name="echo", arguments={"text": 'ä "quoted" \n'})["content"][0]["text"]
        == 'ä "quoted" \n'
    )
