"""The blocks beside a result: there when there is something, with the fate of the response that carries them."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.meta_tools.news_blocks import with_news
from emceepee.runtime.ids import Ulids
from emceepee.sessions.workspace import Workspace
from emceepee.state.settings import EventSettings, StateSettings
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import Payload, read_value
from tests.support.fake_clock import FakeClock

RESULT: dict[str, Any] = {"content": [{"type": "image", "data": "", "mimeType": "x/y"}], "structuredContent": {"n": 1}}


class Watched:
    def __init__(self) -> None:
        self.said: list[str] = []

    def committed(self) -> None:
        self.said.append("committed")

    def lost(self) -> None:
        self.said.append("lost")


@pytest.fixture
def workspace() -> Workspace:
    clock = FakeClock()
    return Workspace("s", clock, Ulids(clock, "0n0de001"), StateSettings(EventSettings(max_events=2)))


def shown(done: Done) -> Any:
    return read_value(done.payload.raw())


@pytest.mark.shows("A-DEL-06")
def test_with_nothing_to_say_the_result_is_the_very_same(workspace: Workspace) -> None:
    done = Done(Payload.of(RESULT))
    assert with_news(done, workspace) is done


@pytest.mark.shows("X-CON-29", "A-DEL-05")
def test_blocks_come_after_the_results_own_and_touch_nothing_else(workspace: Workspace) -> None:
    workspace.record("server_added", "b", {})
    result = shown(with_news(Done(Payload.of(RESULT)), workspace))
    assert result["content"][:1] == RESULT["content"]
    assert len(result["content"]) == 2
    assert result["structuredContent"] == {"n": 1}


@pytest.mark.parametrize("payload", [b"{}", b'{"content":7}'])
def test_a_result_without_content_gets_some(workspace: Workspace, payload: bytes) -> None:
    workspace.record("server_added", "b", {})
    assert len(shown(with_news(Done(Payload(raw=payload)), workspace))["content"]) == 1


@pytest.mark.shows("X-BUG-02")
def test_what_was_dropped_is_said(workspace: Workspace) -> None:
    for _ in range(3):
        workspace.record("server_added", "b", {})
    block = read_value(shown(with_news(Done(Payload(raw=b"{}")), workspace))["content"][0]["text"].encode())
    assert block["events_dropped"]["count"] == 1
    assert len(block["events_since_last_response"]) == 2


@pytest.mark.parametrize("fate", ["committed", "lost"])
def test_the_fate_of_the_response_is_told_to_all_that_depend_on_it(workspace: Workspace, fate: str) -> None:
    watched = Watched()
    workspace.record("server_added", "b", {})
    done = with_news(Done(Payload(raw=b"{}"), delivery=watched), workspace)
    assert done.delivery is not None
    getattr(done.delivery, fate)()
    assert watched.said == [fate]
    assert workspace.events.has_new == (fate == "lost")
