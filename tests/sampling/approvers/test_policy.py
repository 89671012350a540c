"""Approval by rule: always and never ask nobody, and where nobody can be asked the answer is no."""

from __future__ import annotations

import pytest

from emceepee.sampling.approval import AnswerDialog, RequestDialog, Verdict
from emceepee.sampling.approvers.policy import PolicyApprover, RuleFor
from emceepee.sampling.settings import ApproveRule
from tests.sampling.models import FakeApprover, said
from tests.sampling.samples import request


def by(rule: ApproveRule, **servers: ApproveRule) -> RuleFor:
    return lambda server, scope: servers.get(server, rule)


def asked(server: str = "s") -> RequestDialog:
    return RequestDialog("local", server, request())


def answered(server: str = "s") -> AnswerDialog:
    return AnswerDialog("local", server, request(), said())


@pytest.mark.shows("B-FLOW-12")
async def test_by_default_nothing_is_approved_by_itself() -> None:
    verdict = await PolicyApprover().approve(asked())
    assert (verdict.approved, verdict.kind) == (False, "policy")
    assert "nobody is there" in verdict.reason
    assert not (await PolicyApprover().review(answered())).approved


@pytest.mark.shows("B-FLOW-12", "X-GAP-21")
async def test_always_is_a_choice_of_the_operator_and_asks_nobody() -> None:
    person = FakeApprover()
    approver = PolicyApprover(by("always"), person)
    assert await approver.approve(asked()) == await approver.review(answered()) == Verdict(True, "policy")
    assert not person.requests
    assert not person.answers


async def test_never_refuses_and_says_why() -> None:
    verdict = await PolicyApprover(by("never")).approve(asked())
    assert verdict == Verdict(False, "policy", reason="Sampling by 's' is not allowed", kind="policy")


async def test_a_server_can_have_a_rule_of_its_own() -> None:
    person = FakeApprover()
    approver = PolicyApprover(by("never", a="always", b="ask"), person)
    verdicts = {name: (await approver.approve(asked(name))).by for name in ("a", "b", "c")}
    assert verdicts == {"a": "policy", "b": "test", "c": "policy"}
    assert (await approver.review(answered("b"))).by == "test"


async def test_answers_need_no_second_yes_where_the_operator_says_so() -> None:
    person = FakeApprover()
    approver = PolicyApprover(by("ask"), person, reviews=False)
    assert (await approver.approve(asked())).by == "test"
    assert (await approver.review(answered())).by == "policy"
    assert not person.answers
