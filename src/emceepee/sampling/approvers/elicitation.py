"""The client's person, asked by elicitation: a form with a yes or no, and a field for a change.

It knows no wire: it is handed something that asks a client. The one rule: only `accept` with a clear yes is a yes; a
client that cannot be asked, or fails, has refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from emceepee.sampling.approval import AnswerDialog, Dialog, RequestDialog, Verdict
from emceepee.sampling.approvers.words import answer_words, request_words, with_last_text, with_text
from emceepee.sampling.content import Json

Elicit: TypeAlias = Callable[[Dialog, Json], Awaitable[Json | None]]
"""Puts the params of `elicitation/create` to whoever is behind the caller: their result, or None if nobody can be
asked. A result of `NOBODY_IN_TIME` is ours, for silence."""

NOBODY_IN_TIME: Json = {"action": "timeout"}

BY = "elicitation"


class ElicitationApprover:
    def __init__(self, elicit: Elicit) -> None:
        self._elicit = elicit

    async def approve(self, dialog: RequestDialog) -> Verdict:
        decision = "Whether the model may be asked"
        changed = "Instead of the last message; leave empty to send it as it is"
        answer = await self._put(dialog, request_words(dialog), decision, changed)
        approved, text = _read(answer)
        if not approved:
            return _no(answer)
        return Verdict(True, BY, with_last_text(dialog.params, text) if text and dialog.allow_edit else None)

    async def review(self, dialog: AnswerDialog) -> Verdict:
        decision = "Whether the server gets this answer"
        changed = "Instead of the answer; leave empty to give it as it is"
        answer = await self._put(dialog, answer_words(dialog), decision, changed)
        approved, text = _read(answer)
        if not approved:
            return _no(answer)
        return Verdict(True, BY, with_text(dialog.answer, text) if text and dialog.allow_edit else None)

    async def _put(self, dialog: Dialog, words: str, decision: str, changed: str) -> Json | None:
        properties: Json = {"approve": {"type": "boolean", "title": "Approve", "description": decision}}
        if dialog.allow_edit:
            properties["changed"] = {"type": "string", "title": "Changed text", "description": changed}
        schema = {"type": "object", "properties": properties, "required": ["approve"]}
        return await self._elicit(dialog, {"message": words, "requestedSchema": schema})


def _read(answer: Json | None) -> tuple[bool, str]:
    match answer:
        case {"action": "accept", "content": {"approve": True, **more}}:
            text: Any = more.get("changed")
            return True, text.strip() if isinstance(text, str) else ""
        case _:
            return False, ""


def _no(answer: Json | None) -> Verdict:
    if answer is None:
        return Verdict(False, BY, reason="Nobody is there who could be asked", kind="policy")
    if answer == NOBODY_IN_TIME:
        return Verdict(False, BY, reason="Nobody decided in time", kind="timeout")
    return Verdict(False, BY)
