"""The pipeline: its order, and the exact error that a server author receives at each step."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from emceepee.sampling.approval import RequestDialog, Verdict
from emceepee.sampling.choice import Catalogue
from emceepee.sampling.content_rule import ContentRule
from emceepee.sampling.context import ServerContext
from emceepee.sampling.provider import ProviderFailed
from emceepee.sampling.refusals import SamplingRefused
from emceepee.sampling.settings import BudgetSettings, RateSettings, SamplingSettings
from tests.sampling.models import LARGE, SMALL, Bench, said
from tests.sampling.samples import PNG, request, user
from tests.support.fake_clock import settle

ORDER = ["validate", "rate", "budget", "context", "approve", "choose", "ask", "review"]


async def refused(bench: Bench, params: Any, **options: Any) -> SamplingRefused:
    with pytest.raises(SamplingRefused) as raised:
        await bench.ask(params, **options)
    return raised.value


@pytest.mark.shows("B-FLOW-01", "B-RSP-03", "B-FLOW-09")
async def test_a_request_goes_through_each_step_in_order_and_comes_back_as_the_model_said() -> None:
    bench = Bench(said("high tide"))
    assert await bench.ask(request()) == said("high tide")
    assert bench.steps == ORDER
    assert [model for model, _ in bench.provider.asked] == ["small-1"]
    entry = bench.audit.entries[0]
    assert (entry["outcome"], entry["server"], entry["model"]) == ("answered", "tuner", "small-1-2026")
    assert (entry["inputTokens"], entry["outputTokens"], entry["cost"]) == (10, 20, 0.00009)
    assert entry["approvedBy"] == entry["reviewedBy"] == "test"


@pytest.mark.shows("B-FLOW-02", "B-FLOW-10", "B-VAL-14")
async def test_an_invalid_request_is_refused_before_anybody_is_asked() -> None:
    bench = Bench(said())
    fault = await refused(bench, request(maxTokens=-1))
    assert (fault.code, fault.data["field"]) == (-32602, "maxTokens")
    assert not bench.approver.requests
    assert not bench.provider.asked
    assert bench.audit.entries[0]["outcome"] == "refused"
    assert bench.audit.entries[0]["steps"] == [
        {"step": "validate", "outcome": "refused: maxTokens must be positive integer"}
    ]


# -- limits


@pytest.mark.shows("B-FLOW-08", "B-ERR-05", "X-GAP-24", "X-BUG-61")
async def test_above_the_rate_nobody_is_asked_and_after_the_time_it_works_again() -> None:
    bench = Bench(said(), said(), said(), settings=SamplingSettings(RateSettings(burst=2, per_minute=6)))
    await bench.ask(request())
    await bench.ask(request())
    fault = await refused(bench, request())
    assert (fault.code, fault.message) == (-32000, "Rate limit exceeded")
    assert fault.data == {
        "retryAfter": 10,
        "remainingQuota": 0,
        "resetTime": "2026-11-01T00:00:10.000Z",
        "reason": "6 requests a minute, 2 at once, for one server in one workspace",
    }
    assert len(bench.approver.requests) == 2
    await bench.clock.advance(fault.data["retryAfter"])
    assert await bench.ask(request()) == said()


async def test_another_server_or_workspace_has_a_rate_of_its_own() -> None:
    bench = Bench(said(), said(), said(), settings=SamplingSettings(RateSettings(burst=1)))
    await bench.ask(request())
    await bench.ask(request(), server="other")
    await bench.ask(request(), scope="elsewhere")


async def test_a_budget_of_calls_that_is_used_up_is_told_with_its_end() -> None:
    bench = Bench(said(), said(), settings=SamplingSettings(budget=BudgetSettings(calls=1, window=3600)))
    await bench.ask(request())
    fault = await refused(bench, request(), scope="elsewhere")
    assert (fault.code, fault.message, fault.data["retryAfter"]) == (-32000, "Rate limit exceeded", 3600)
    assert fault.data["reason"] == "The budget of server 'tuner' is used up: 1 calls in 1 h"
    await bench.clock.advance(3600)
    assert await bench.ask(request()) == said()


async def test_a_budget_of_tokens_counts_what_was_used_and_not_what_was_asked_for() -> None:
    bench = Bench(said(), said(), said(), settings=SamplingSettings(budget=BudgetSettings(tokens=100)))
    await bench.ask(request(maxTokens=90))
    await bench.ask(request(maxTokens=70))
    fault = await refused(bench, request(maxTokens=41))
    assert fault.data["remainingQuota"] == 998
    assert await bench.ask(request(maxTokens=40)) == said()


async def test_a_refusal_costs_nothing_of_the_budget() -> None:
    bench = Bench(said(), settings=SamplingSettings(budget=BudgetSettings(calls=1)))
    bench.approver.on_request = lambda dialog: Verdict(False, "test")
    await refused(bench, request())
    bench.approver.on_request = lambda dialog: Verdict(True, "test")
    assert await bench.ask(request()) == said()


async def test_too_many_at_once_are_refused() -> None:
    bench = Bench(settings=SamplingSettings(max_running=1))
    first = asyncio.ensure_future(bench.ask(request()))
    await settle()
    assert (await refused(bench, request())).code == -32000
    first.cancel()
    await asyncio.wait([first])
    bench.provider.answers.append(said())
    assert await bench.ask(request()) == said()


# -- approval


@pytest.mark.shows("B-FLOW-03", "B-ERR-01", "B-FLOW-12")
async def test_a_request_that_somebody_refuses_never_reaches_the_model() -> None:
    bench = Bench(said())
    bench.approver.on_request = lambda dialog: Verdict(False, "test")
    fault = await refused(bench, request())
    assert (fault.code, fault.message) == (-1, "User rejected sampling request")
    assert fault.data == {"reason": "User declined AI interaction", "rejectionType": "explicit"}
    assert not bench.provider.asked


@pytest.mark.shows("X-CON-50")
async def test_a_policy_and_silence_refuse_as_what_they_are() -> None:
    bench = Bench()
    bench.approver.on_request = lambda dialog: Verdict(False, "policy", reason="not here", kind="policy")
    assert (await refused(bench, request())).data == {"reason": "not here", "rejectionType": "policy"}
    bench.approver.on_request = lambda dialog: None
    waiting = asyncio.ensure_future(bench.ask(request()))
    await settle()
    await bench.clock.advance(600)
    with pytest.raises(SamplingRefused) as raised:
        await waiting
    expected = {"reason": "Nobody decided on the request within 600 s", "rejectionType": "timeout"}
    assert (raised.value.code, raised.value.data) == (-1, expected)
    assert bench.clock.waiting == 0


@pytest.mark.shows("B-FLOW-04", "X-BUG-61")
async def test_the_dialog_shows_all_that_would_leave_and_what_to_mind() -> None:
    params = request(
        systemPrompt="Be brief", modelPreferences={"costPriority": 1}, temperature=0.5, includeContext="allServers"
    )
    bench = Bench(said())
    await bench.ask(params)
    (dialog,) = bench.approver.requests
    assert dialog.params == params
    assert (dialog.server, dialog.allow_edit, dialog.show_risks) == ("tuner", True, True)
    assert "context of all connected servers is asked for" in dialog.risks


@pytest.mark.shows("B-FLOW-05", "X-BUG-58")
async def test_an_edited_request_is_what_the_model_sees_and_is_chosen_by() -> None:
    edited = request(messages=[user("Explain moons")], modelPreferences={"hints": [{"name": "large"}]})
    bench = Bench(said())
    bench.approver.on_request = lambda dialog: Verdict(True, "test", edited)
    await bench.ask(request(modelPreferences={"hints": [{"name": "small"}]}))
    assert bench.provider.asked == [("large-1", edited)]
    assert bench.audit.entries[0]["edited"] is True


@pytest.mark.shows("B-FLOW-05", "X-BUG-58")
async def test_a_request_that_was_not_edited_is_sent_as_it_came() -> None:
    bench, params = Bench(said()), request(metadata={"anthropic": {"top_k": 4}}, ours=1)
    await bench.ask(params)
    assert bench.provider.asked == [("small-1", params)]


@pytest.mark.shows("X-BUG-58")
async def test_an_edit_is_validated_too() -> None:
    bench = Bench(said())
    bench.approver.on_request = lambda dialog: Verdict(True, "test", request(messages=[]))
    assert (await refused(bench, request())).code == -32602
    assert not bench.provider.asked


# -- review


@pytest.mark.shows("B-FLOW-07", "B-ERR-02")
async def test_a_refused_answer_is_never_given() -> None:
    bench = Bench(said("secret"))
    bench.approver.on_answer = lambda dialog: Verdict(False, "test")
    fault = await refused(bench, request())
    assert (fault.code, fault.message) == (-1, "User rejected AI response")
    assert fault.data == {"reason": "User declined the answer", "rejectionType": "explicit"}
    assert bench.audit.entries[0]["outcome"] == "refused"


@pytest.mark.shows("B-FLOW-06")
async def test_an_edited_answer_is_given_instead() -> None:
    bench = Bench(said("long"))
    bench.approver.on_answer = lambda dialog: Verdict(
        True, "test", {**dialog.answer, "content": said("short")["content"]}
    )
    assert (await bench.ask(request()))["content"]["text"] == "short"


@pytest.mark.shows("X-BUG-58")
async def test_an_edited_answer_that_is_none_is_not_given() -> None:
    bench = Bench(said())
    bench.approver.on_answer = lambda dialog: Verdict(True, "test", {"role": "assistant"})
    assert (await refused(bench, request())).code == -32603


@pytest.mark.shows("B-FLOW-11")
async def test_the_content_policy_changes_or_stops_an_answer_before_anybody_sees_it() -> None:
    rules = (
        ContentRule("phones", re.compile(r"\d{3}-\d{4}"), "***"),
        ContentRule("weapons", re.compile("dynamite")),
    )
    bench = Bench(said("call 555-1234"), said("use dynamite"), rules=rules)
    changed = await bench.ask(request())
    assert (changed["content"]["text"], changed["stopReason"]) == ("call ***", "contentFilter")
    assert bench.approver.answers[0].answer == changed
    fault = await refused(bench, request())
    expected = {"reason": "Stopped by the content policy 'weapons'", "rejectionType": "policy"}
    assert (fault.code, fault.data) == (-1, expected)
    assert len(bench.approver.answers) == 1


# -- models


@pytest.mark.shows("B-ERR-04", "B-PREF-11")
async def test_no_model_for_this_content_is_told_with_what_there_is() -> None:
    bench = Bench(catalogue=Catalogue((SMALL,)))
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    fault = await refused(bench, request(messages=[user(image)]))
    assert (fault.code, fault.message) == (-32603, "No suitable model available")
    assert fault.data["availableModels"] == ["small-1"]


async def test_a_model_whose_provider_is_gone_is_no_model() -> None:
    bench = Bench(providers={})
    assert "'fake' is not configured" in (await refused(bench, request())).data["suggestion"]


@pytest.mark.shows("X-CON-47")
async def test_a_provider_that_fails_is_told_without_its_words() -> None:
    bench = Bench(ProviderFailed("refused_key", "sk-123 is wrong"))
    fault = await refused(bench, request())
    assert fault.code == -32603
    assert fault.data["reason"] == "the provider refused our key"
    assert "sk-123" not in f"{fault.message}{fault.data}"
    assert bench.audit.entries[0]["outcome"] == "failed"


async def test_a_model_that_answers_rubbish_has_not_answered() -> None:
    bench = Bench({"role": "assistant", "model": "m"})
    fault = await refused(bench, request())
    assert (fault.code, fault.data["reason"]) == (-32603, "the provider's answer cannot be read")


async def test_a_model_that_takes_too_long_is_given_up() -> None:
    bench = Bench()
    waiting = asyncio.ensure_future(bench.ask(request()))
    await settle()
    await bench.clock.advance(60)
    with pytest.raises(SamplingRefused, match="took too long"):
        await waiting
    assert bench.clock.waiting == 0


async def test_an_image_goes_to_a_model_that_takes_it() -> None:
    bench = Bench(said())
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    await bench.ask(request(messages=[user(image)]))
    assert bench.provider.asked[0][0] == LARGE.name


# -- context


class Sources:
    def __init__(self) -> None:
        self.asked: list[str | None] = []

    async def context(self, scope: str, server: str | None) -> list[ServerContext]:
        self.asked.append(server)
        names = [server] if server else ["tuner", "other"]
        return [ServerContext(name, f"{name} knows things") for name in names]


@pytest.mark.shows("B-CTX-01", "B-CTX-02", "B-CTX-03", "X-CON-48")
@pytest.mark.parametrize(
    ("disclose", "asked", "seen"),
    [
        ("allServers", "none", []),
        ("allServers", None, []),
        ("allServers", "thisServer", ["tuner"]),
        ("allServers", "allServers", ["tuner", "other"]),
        ("thisServer", "allServers", ["tuner"]),
        ("none", "allServers", []),
    ],
)
async def test_context_is_added_as_far_as_it_is_asked_for_and_may_be_disclosed(
    disclose: Any, asked: str | None, seen: list[str]
) -> None:
    bench = Bench(said(), settings=SamplingSettings(disclose=disclose), context=Sources())
    await bench.ask(request(systemPrompt="Be brief", **({"includeContext": asked} if asked else {})))
    prompt = bench.provider.asked[0][1]["systemPrompt"]
    assert [name for name in ("tuner", "other") if f"Context of the server '{name}'" in prompt] == seen
    assert prompt.startswith("Be brief")
    assert bench.approver.requests[0].params["systemPrompt"] == prompt


# -- the record


@pytest.mark.shows("B-FLOW-09")
async def test_each_request_leaves_one_record_whatever_happens() -> None:
    bench = Bench(said())
    await bench.ask(request())
    await refused(bench, None)
    waiting = asyncio.ensure_future(bench.ask(request()))
    await settle()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [entry["outcome"] for entry in bench.audit.entries] == ["answered", "refused", "cancelled"]
    assert bench.audit.entries[2]["steps"][-1] == {"step": "ask", "outcome": "interrupted"}
    assert all("tides" not in str(entry) for entry in bench.audit.entries)


async def test_prompts_are_kept_where_that_is_switched_on() -> None:
    bench = Bench(said("high"), keep_prompts=True)
    await bench.ask(request())
    assert bench.audit.entries[0]["request"] == request()
    assert bench.audit.entries[0]["answer"] == said("high")


async def test_no_log_line_holds_a_prompt_or_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bench = Bench(said("the answer is blue"), ProviderFailed("malformed", "the answer is red"))
    await bench.ask(request())
    await refused(bench, request())
    text = "".join(f"{record.getMessage()}{record.__dict__}" for record in caplog.records)
    assert "sampling_decided" in text
    assert "tides" not in text
    assert "the answer is" not in text


async def test_an_approver_sees_a_copy_of_nothing_but_this_request() -> None:
    seen: list[RequestDialog] = []
    bench = Bench(said(), said())
    bench.approver.on_request = lambda dialog: seen.append(dialog) or Verdict(True, "test")  # type: ignore[func-returns-value]
    await asyncio.gather(bench.ask(request(), scope="a"), bench.ask(request(maxTokens=5), scope="b"))
    assert {(dialog.scope, dialog.params["maxTokens"]) for dialog in seen} == {("a", 100), ("b", 5)}
