"""From what a server asks to the workspace where it is answered.

It knows neither wire nor tools. Of calls it knows which ones somebody waits for at this moment, so that he can be told
that an answer is wanted first.

The one rule: what servers are told that they can ask is exactly what reaches somebody here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from emceepee.errors import LimitReached
from emceepee.relay.ladder import Step, who_answers
from emceepee.sessions.workspace import Workspace
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.asks import CLOSED, AskDoor, AskProfile, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Failed

BY_TOOLS: AskProfile = frozenset(("form", "url", "sampling"))
"""What can be answered with `respond_to_elicitation` and `respond_to_sampling`."""

_INTERNAL_ERROR = -32603
_METHOD_NOT_FOUND = -32601


class Asks:
    def __init__(self, workspaces: Workspaces, promote: bool = True) -> None:
        self._workspaces = workspaces
        self._promote = promote
        self._waited_for: dict[int, Callable[[], None]] = {}

    def door(self, server: ServerName, scopes: Collection[Scope]) -> AskDoor:
        """For a new link. A scope without a workspace has nowhere to show a question."""
        if not any(self._by_tools(scope) for scope in scopes):
            return CLOSED
        return AskDoor(BY_TOOLS, functools.partial(self._take, server, scopes))

    def _by_tools(self, scope: Scope) -> Workspace | None:
        workspace = self._workspaces.find(scope)
        return workspace if workspace is not None and workspace.by_tools else None

    def _place(self, scopes: Collection[Scope], ask: RaisedAsk) -> Workspace | None:
        """Where the call came from; the last of several. What belongs to no call goes to whoever uses the link."""
        calls = ask.belonging.calls
        asking = [call.caller.scope for call in reversed(calls) if ask.wanted in call.asks] if calls else sorted(scopes)
        return next(filter(None, map(self._by_tools, asking)), None)

    def _take(self, server: ServerName, scopes: Collection[Scope], ask: RaisedAsk) -> Withdraw | Failed:
        workspace = self._place(scopes, ask)
        there: tuple[Step, ...] = () if workspace is None else ("tools",)
        if workspace is None or who_answers(there) == "refuse":
            return Failed(_METHOD_NOT_FOUND, "Nobody is here who could be asked")
        try:
            pending = workspace.begin_ask(ask.kind, server, ask.params, ask.settle)
        except LimitReached as limit:
            return Failed(_INTERNAL_ERROR, str(limit))
        for call in ask.belonging.calls:
            self._tell_who_waits(call)
        return functools.partial(workspace.withdraw_ask, pending)

    # -- who waits for a call that now waits for him

    @contextmanager
    def interrupting(self, call: Call, interrupt: Callable[[], None]) -> Iterator[None]:
        """Meanwhile `interrupt` is called when a server asks something that belongs, or may belong, to this call."""
        if not self._promote:
            yield
            return
        self._waited_for[id(call)] = interrupt
        try:
            yield
        finally:
            del self._waited_for[id(call)]

    def _tell_who_waits(self, call: Call) -> None:
        interrupt = self._waited_for.get(id(call))
        if interrupt is not None:
            interrupt()
