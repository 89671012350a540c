"""The client's person, asked by a form: what it shows, and what of the answers is a yes."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.approval import AnswerDialog, Dialog, RequestDialog, Verdict
from emceepee.sampling.approvers.elicitation import NOBODY_IN_TIME, ElicitationApprover
from emceepee.state.answer_checks import elicitation_problem
from tests.sampling.models import said
from tests.sampling.samples import request, user

ASKED = RequestDialog("local", "tuner", request(), ("images leave",))
ANSWERED = AnswerDialog("local", "tuner", request(), said("blue"))


class Person:
    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.asked: list[tuple[Dialog, dict[str, Any]]] = []

    async def elicit(self, dialog: Dialog, params: dict[str, Any]) -> dict[str, Any] | None:
        self.asked.append((dialog, params))
        return self.answer


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@pytest.mark.shows("B-FLOW-04")
async def test_the_form_shows_the_request_and_its_risks_and_can_be_answered() -> None:
    person = Person(accept(approve=True))
    assert await ElicitationApprover(person.elicit).approve(ASKED) == Verdict(True, "elicitation")
    ((dialog, params),) = person.asked
    assert dialog is ASKED
    assert "Explain tides" in params["message"]
    assert "Mind: images leave." in params["message"]
    assert elicitation_problem(params, accept(approve=True, changed="x")) is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"action": "decline"}, "explicit"),
        ({"action": "cancel"}, "explicit"),
        (accept(approve=False), "explicit"),
        (accept(approve="true"), "explicit"),
        ({"action": "accept"}, "explicit"),
        (None, "policy"),
        (NOBODY_IN_TIME, "timeout"),
    ],
)
async def test_whatever_is_no_clear_yes_is_a_no(answer: dict[str, Any] | None, kind: str) -> None:
    approver = ElicitationApprover(Person(answer).elicit)
    for verdict in (await approver.approve(ASKED), await approver.review(ANSWERED)):
        assert (verdict.approved, verdict.kind) == (False, kind)


async def test_both_can_be_edited_where_that_is_allowed() -> None:
    approver = ElicitationApprover(Person(accept(approve=True, changed=" new ")).elicit)
    assert (await approver.approve(ASKED)).edited == request(messages=[user("new")])
    assert (await approver.review(ANSWERED)).edited == said("new")
    assert (await approver.approve(RequestDialog("l", "s", request(), allow_edit=False))).edited is None
    empty = ElicitationApprover(Person(accept(approve=True, changed="  ")).elicit)
    assert (await empty.approve(ASKED)).edited is None
