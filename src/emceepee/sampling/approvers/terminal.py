"""A person at the terminal where the gateway runs, asked in plain lines, one question at a time.

It opens no stream: it is handed something that shows lines and something that reads one. The one rule: anything that
is not a clear yes is a no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from emceepee.sampling.approval import AnswerDialog, RequestDialog, Verdict
from emceepee.sampling.approvers.words import answer_words, request_words, with_last_text, with_text

Show: TypeAlias = Callable[[str], None]
ReadLine: TypeAlias = Callable[[], Awaitable[str]]
"""The next line without its end; empty at the end of input. Cancellable."""

BY = "terminal"


class TerminalApprover:
    def __init__(self, show: Show, read_line: ReadLine) -> None:
        self._show = show
        self._read_line = read_line
        self._turn = asyncio.Lock()

    async def approve(self, dialog: RequestDialog) -> Verdict:
        async with self._turn:
            said = await self._ask(request_words(dialog), "Send it? [y]es, [N]o, [e]dit the last message: ")
            if said == "e" and dialog.allow_edit:
                text = await self._new_text()
                return Verdict(True, BY, with_last_text(dialog.params, text)) if text else _no()
            return Verdict(True, BY) if said == "y" else _no()

    async def review(self, dialog: AnswerDialog) -> Verdict:
        async with self._turn:
            said = await self._ask(answer_words(dialog), "Give it to the server? [y]es, [N]o, [e]dit: ")
            if said == "e" and dialog.allow_edit:
                text = await self._new_text()
                return Verdict(True, BY, with_text(dialog.answer, text)) if text else _no()
            return Verdict(True, BY) if said == "y" else _no()

    async def _ask(self, words: str, question: str) -> str:
        self._show(f"\n{words}\n{question}")
        return (await self._read_line()).strip().lower()[:1]

    async def _new_text(self) -> str:
        self._show("New text, on one line; empty to refuse: ")
        return (await self._read_line()).strip()


def _no() -> Verdict:
    return Verdict(False, BY)
