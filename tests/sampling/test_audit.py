"""The record of one request: every step with its outcome, and no words of anybody."""

from __future__ import annotations

import pytest

from emceepee.sampling.audit import NoAudit, Trail
from emceepee.sampling.refusals import invalid, rejected
from tests.support.fake_clock import FakeClock


def test_each_step_is_noted_with_how_it_ended() -> None:
    trail = Trail(FakeClock(), "id", "scope", "s")
    with trail.step("validate"):
        pass
    with pytest.raises(Exception, match="User rejected"), trail.step("approve"):
        raise rejected("no", "policy")
    with pytest.raises(LookupError), trail.step("ask"):
        raise LookupError
    assert trail.steps == [("validate", "passed"), ("approve", "refused: no"), ("ask", "interrupted")]


@pytest.mark.shows("B-FLOW-09")
async def test_a_record_says_who_asked_when_and_how_it_ended() -> None:
    clock = FakeClock()
    trail = Trail(clock, "id-1", "a-session-id-that-is-secret", "tuner")
    await clock.advance(1.25)
    fault = invalid("maxTokens", 0, "positive integer", "maxTokens must be positive integer")
    entry = trail.entry("refused", fault.code, fault.message)
    label = entry.pop("workspace")
    assert entry == {
        "id": "id-1",
        "timestamp": "2026-11-01T00:00:00.000Z",
        "server": "tuner",
        "outcome": "refused",
        "durationMs": 1250,
        "steps": [],
        "code": -32602,
        "message": "Invalid params",
    }
    assert len(label) == 8
    assert "secret" not in label


def test_cost_is_known_where_prices_and_tokens_are() -> None:
    trail = Trail(FakeClock(), "id", "scope", "s", input_tokens=1000, output_tokens=500)
    trail.spent(0.0, 0.0)
    assert trail.cost is None
    trail.spent(3.0, 15.0)
    assert trail.cost == pytest.approx(0.0105)


def test_prompts_are_only_there_where_that_is_wanted() -> None:
    words = {"messages": []}
    assert "request" not in Trail(FakeClock(), "i", "s", "s", request=words).entry("answered")
    assert Trail(FakeClock(), "i", "s", "s", True, request=words).entry("answered")["request"] == words
    NoAudit().record({})
