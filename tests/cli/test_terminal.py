"""The terminal of `serve` as the place where somebody approves."""

from __future__ import annotations

import asyncio
import os
import pty
import sys

import pytest

from emceepee.cli.terminal import approver, read_line, show
from emceepee.config.settings import Settings
from emceepee.errors import OperatorFault
from emceepee.sampling.approvers.terminal import TerminalApprover
from emceepee.sampling.settings import SamplingOptions

BY_TERMINAL = Settings(sampling=SamplingOptions(approver="terminal"))


class Stdin:
    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_it_is_there_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(True))
    assert approver(Settings(), True) is None
    assert isinstance(approver(BY_TERMINAL, True), TerminalApprover)


@pytest.mark.parametrize(("serving", "terminal"), [(False, True), (True, False)])
def test_where_nobody_can_answer_the_gateway_does_not_start(
    serving: bool, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(terminal))
    with pytest.raises(OperatorFault, match="emceepee serve"):
        approver(BY_TERMINAL, serving)


async def test_a_line_is_read_and_giving_up_leaves_the_next_for_the_next() -> None:
    ours, theirs = pty.openpty()
    try:
        waiting = asyncio.ensure_future(read_line(theirs))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        os.write(ours, b"yes please\nno\n")
        async with asyncio.timeout(10):
            assert await read_line(theirs) == "yes please"
            assert await read_line(theirs) == "no"
    finally:
        os.close(ours)
        os.close(theirs)


def test_words_are_shown_beside_the_protocol_not_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    show("Send it? ")
    assert capsys.readouterr() == ("", "Send it? ")
