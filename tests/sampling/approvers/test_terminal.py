"""A person at the terminal: yes is yes, everything else is no, one question at a time."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.sampling.approval import AnswerDialog, RequestDialog, Verdict
from emceepee.sampling.approvers.terminal import TerminalApprover
from tests.sampling.models import said
from tests.sampling.samples import request, user
from tests.support.fake_clock import settle

ASKED = RequestDialog("local", "tuner", request())
ANSWERED = AnswerDialog("local", "tuner", request(), said())


class Terminal:
    def __init__(self, *typed: str) -> None:
        self.shown: list[str] = []
        self.typed: asyncio.Queue[str] = asyncio.Queue()
        for line in typed:
            self.typed.put_nowait(line)

    async def read_line(self) -> str:
        return await self.typed.get()

    def approver(self) -> TerminalApprover:
        return TerminalApprover(self.shown.append, self.read_line)


@pytest.mark.parametrize(
    ("typed", "approved"), [("y", True), ("Yes", True), ("", False), ("n", False), ("maybe", False)]
)
async def test_only_a_yes_is_a_yes(typed: str, approved: bool) -> None:
    terminal = Terminal(typed, typed)
    assert await terminal.approver().approve(ASKED) == Verdict(approved, "terminal")
    assert await terminal.approver().review(ANSWERED) == Verdict(approved, "terminal")
    assert "Explain tides" in terminal.shown[0]


async def test_the_last_message_and_the_answer_can_be_edited() -> None:
    approver = Terminal("e", "Explain moons", "e", "blue").approver()
    assert (await approver.approve(ASKED)).edited == request(messages=[user("Explain moons")])
    assert (await approver.review(ANSWERED)).edited == said("blue")


async def test_an_edit_to_nothing_is_a_no_and_so_is_one_that_is_not_allowed() -> None:
    assert not (await Terminal("e", " ").approver().approve(ASKED)).approved
    fixed = RequestDialog("local", "tuner", request(), allow_edit=False)
    assert not (await Terminal("e").approver().approve(fixed)).approved


async def test_questions_wait_for_each_other_and_one_that_is_given_up_frees_the_next() -> None:
    terminal = Terminal()
    approver = terminal.approver()
    first, second = (asyncio.ensure_future(approver.approve(ASKED)) for _ in range(2))
    await settle()
    assert len(terminal.shown) == 1
    first.cancel()
    await settle()
    assert len(terminal.shown) == 2
    terminal.typed.put_nowait("y")
    assert (await second).approved
