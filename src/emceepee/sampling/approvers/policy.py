"""Approval by rule, for each server and workspace: always, never, or whoever else is there to be asked.

The one rule: automatic approval is something an operator wrote down; a server that no rule names is asked about, and
where nobody can be asked, refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from emceepee.sampling.approval import AnswerDialog, Approver, RequestDialog, Verdict
from emceepee.sampling.settings import ApproveRule
from emceepee.vocabulary.names import Scope, ServerName

RuleFor: TypeAlias = Callable[[ServerName, Scope], ApproveRule]

_ALWAYS = Verdict(True, "policy")


@dataclass(slots=True)
class PolicyApprover:
    """`reviews` says whether `ask` means the answer too, and not the request alone."""

    rule_for: RuleFor = lambda server, scope: "ask"
    person: Approver | None = None
    reviews: bool = True

    async def approve(self, dialog: RequestDialog) -> Verdict:
        match self.rule_for(dialog.server, dialog.scope):
            case "always":
                return _ALWAYS
            case "never":
                return Verdict(False, "policy", reason=f"Sampling by '{dialog.server}' is not allowed", kind="policy")
            case "ask":
                return _nobody(dialog.server) if self.person is None else await self.person.approve(dialog)

    async def review(self, dialog: AnswerDialog) -> Verdict:
        rule = self.rule_for(dialog.server, dialog.scope)
        if rule != "ask" or not self.reviews:
            return _ALWAYS
        return _nobody(dialog.server) if self.person is None else await self.person.review(dialog)


def _nobody(server: ServerName) -> Verdict:
    reason = f"Sampling by '{server}' needs approval, and nobody is there who could be asked"
    return Verdict(False, "policy", reason=reason, kind="policy")
