"""Configured models as a step: what a server asks is settled once, whatever happens on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emceepee.runtime.ids import SystemIds, Ulids
from emceepee.sampling.answering import Answering
from emceepee.sampling.choice import Catalogue
from emceepee.sampling.pipeline import Parts, Pipeline
from emceepee.sampling.settings import SamplingOptions
from emceepee.vocabulary.asks import Belonging, RaisedAsk, Withdraw
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import Payload, read_value, to_raw
from tests.sampling.models import SMALL, FakeProvider, said
from tests.sampling.samples import request, user
from tests.support.fake_clock import FakeClock, settle


class Asking:
    """A server that asks, and a client that can be asked by what `climb` takes."""

    def __init__(self, says: list[Any] | None = None, person: Any = "nobody", **options: Any) -> None:
        self.clock = FakeClock()
        self.provider = FakeProvider([said()] if says is None else says)
        self.options = SamplingOptions(models=(SMALL,), **({"approve": "always"} | options))
        self.answering = Answering(self.options, Ulids(self.clock, SystemIds().slot()).next)
        parts = Parts(Catalogue((SMALL,)), {"fake": self.provider}, self.answering.approver)
        self.answering.pipeline = Pipeline(parts, self.clock, self.options.limits)
        self.person = person
        self.settled: list[Outcome] = []
        self.raised: list[RaisedAsk] = []
        self.withdrawn: list[str] = []

    def ask(self, params: Any = None) -> Withdraw:
        raw = to_raw(request() if params is None else params)
        raised = RaisedAsk("sampling", "sampling", raw, Belonging("exact"), self.settled.append)
        taken = self.answering.take("tuner", "local", raised, self.climb)
        assert not isinstance(taken, Failed)
        return taken

    def climb(self, ask: RaisedAsk) -> Withdraw | Failed:
        self.raised.append(ask)
        if self.person == "nobody":
            return Failed(-32601, "Nobody is here who could be asked")
        if self.person is not None:
            ask.settle(self.person if isinstance(self.person, Failed) else Done(Payload.of(self.person)))
        return self.withdrawn.append


def outcome(asking: Asking) -> Any:
    (one,) = asking.settled
    return read_value(one.payload.raw()) if isinstance(one, Done) else one


async def test_a_question_is_answered_by_the_model() -> None:
    asking = Asking()
    asking.ask()
    await settle()
    assert outcome(asking) == said()
    assert len(asking.answering) == 0


async def test_a_refusal_keeps_its_code_and_its_data() -> None:
    asking = Asking()
    asking.ask(request(maxTokens=-1))
    await settle()
    failed = outcome(asking)
    assert (failed.code, failed.message) == (-32602, "Invalid params")
    assert json.loads(bytes(failed.data))["field"] == "maxTokens"


@pytest.mark.parametrize("params", [[], "text", None])
async def test_params_of_any_shape_are_answered(params: Any) -> None:
    asking = Asking()
    asking.ask([] if params is None else params)
    await settle()
    assert outcome(asking).code == -32602


async def test_whoever_has_to_approve_is_asked_by_a_question_from_the_same_call() -> None:
    asking = Asking(person={"action": "accept", "content": {"approve": True, "changed": "Only tides"}}, approve="ask")
    asking.ask()
    await settle()
    first, second = asking.raised
    assert (first.kind, first.wanted, first.belonging) == ("elicitation", "form", Belonging("exact"))
    assert "Explain tides" in read_value(first.params)["message"]
    assert "fine" in read_value(second.params)["message"]
    assert asking.provider.asked[0][1]["messages"] == [user("Only tides")]
    assert outcome(asking)["content"]["text"] == "Only tides", "the answer was changed too"
    assert asking.withdrawn == []


@pytest.mark.parametrize(
    ("person", "kind"),
    [
        ("nobody", "policy"),
        ({"action": "decline"}, "explicit"),
        (Failed(-32001, "Elicitation request timed out after 600000ms"), "timeout"),
        (Failed(-32603, "the client is gone"), "policy"),
    ],
)
async def test_whatever_is_no_yes_reaches_the_server_as_a_refusal(person: Any, kind: str) -> None:
    asking = Asking(person=person, approve="ask")
    asking.ask()
    await settle()
    failed = outcome(asking)
    assert (failed.code, failed.message) == (-1, "User rejected sampling request")
    assert json.loads(bytes(failed.data))["rejectionType"] == kind
    assert asking.provider.asked == []


async def test_a_server_that_waits_no_more_ends_the_model_and_the_question_to_the_person() -> None:
    waiting = Asking(says=[])
    waiting.ask()("cancelled by server")
    asking = Asking(person=None, approve="ask")
    withdraw = asking.ask()
    await settle()
    withdraw("cancelled by server")
    await settle()
    assert (waiting.settled, asking.settled) == ([], [])
    assert len(asking.withdrawn) == 1
    assert len(waiting.answering) == len(asking.answering) == 0


async def test_silence_of_a_person_is_a_refusal_after_its_time() -> None:
    asking = Asking(person=None, approve="ask")
    asking.ask()
    await settle()
    await asking.clock.advance(601)
    assert json.loads(bytes(outcome(asking).data))["rejectionType"] == "timeout"
    assert len(asking.withdrawn) == 1


async def test_what_breaks_inside_is_told_as_an_error_without_words(caplog: pytest.LogCaptureFixture) -> None:
    asking = Asking()
    asking.answering.pipeline._parts = None  # type: ignore[union-attr, assignment]
    asking.ask()
    await settle()
    assert (outcome(asking).code, outcome(asking).message) == (-32603, "Internal error")
    assert [record.message for record in caplog.records] == ["sampling_failed_inside"]


async def test_closing_ends_what_runs() -> None:
    asking = Asking(says=[])
    asking.ask()
    await settle()
    await asking.answering.close()
    assert (len(asking.answering), asking.settled) == (0, [])


async def test_its_rule_is_the_operators() -> None:
    assert Asking().answering.rule("tuner", "local") == "otherwise"
    assert Asking(answers="always").answering.rule("tuner", "local") == "always"
