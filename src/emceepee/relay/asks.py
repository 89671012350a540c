"""From what a server asks to whoever answers: the client itself, or the workspace where it is answered by tools.

It knows no wire. Of calls it knows who can be asked in their course, and which ones somebody waits for at this moment,
so that he can be told that an answer is wanted first.

The one rule: what servers are told that they can ask is exactly what reaches somebody here, and one ask reaches one.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from emceepee.backends.definition import AskPolicy
from emceepee.errors import LimitReached
from emceepee.relay.ladder import LADDERS, Interaction, deliverable, model_first, sampling_ladder, who_answers
from emceepee.relay.model_step import ModelStep, with_model
from emceepee.relay.roots import Roots
from emceepee.sessions.workspace import Workspace
from emceepee.sessions.workspaces import Workspaces
from emceepee.vocabulary.asks import NO_ASKS, AskDoor, AskProfile, Belonging, Ear, RaisedAsk, Withdraw
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import Done, Failed, Outcome, Wanted
from emceepee.vocabulary.profiles import Step
from emceepee.vocabulary.raw_json import Payload, read_fields, read_text, to_raw

_log = logging.getLogger("emceepee.relay")

BY_TOOLS: AskProfile = frozenset(("form", "url", "sampling"))
"""What can be answered with `respond_to_elicitation` and `respond_to_sampling`."""

GIVEN_ROOTS: AskProfile = frozenset(("roots", "roots_news"))
"""And this, once `set_roots` has said them."""

_INTERNAL_ERROR = -32603
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602

Opening: TypeAlias = Callable[[ServerName, Collection[Scope]], list[Call]]
"""The calls that wait for a connection to a server to be there."""

PolicyOf: TypeAlias = Callable[[ServerName], AskPolicy]

EVERYBODY = AskPolicy()


def _withdrawn(reason: str) -> None:
    """What was answered at once cannot be taken back."""


class Asks:
    def __init__(
        self,
        workspaces: Workspaces,
        promote: bool = True,
        opening: Opening = lambda server, scopes: [],
        policy_of: PolicyOf = lambda server: EVERYBODY,
        interaction: Interaction = "auto",
    ) -> None:
        self._workspaces = workspaces
        self._promote = promote
        self._opening = opening
        self._policy_of = policy_of
        self._usual = LADDERS[interaction]
        self._waited_for: dict[int, Callable[[], None]] = {}
        self.roots = Roots()
        self.native_of: Callable[[Scope], AskProfile] = lambda scope: NO_ASKS
        """What the client of a scope usually can be asked itself."""
        self.model: ModelStep | None = None
        self.ear_of: Callable[[Scope], Ear | None] = lambda scope: None
        """And the client, where it can be asked without a call."""

    # -- what is promised

    def door(self, server: ServerName, scopes: Collection[Scope], profile: AskProfile) -> AskDoor:
        """For a new link."""
        return AskDoor(profile, functools.partial(self.take, server, scopes))

    def usual(self, server: ServerName, scope: Scope) -> AskProfile:
        """What can be asked in a scope, for a connection that is made for no call."""
        policy = self._policy_of(server)
        profile = deliverable(policy, self.native_of(scope), self.by_tools(scope), self._usual)
        return self._with_model(server, scope, profile)

    def by_tools(self, scope: Scope) -> AskProfile:
        if self._with_tools(scope) is None:
            return NO_ASKS
        return BY_TOOLS if self.roots.given(scope) is None else BY_TOOLS | GIVEN_ROOTS

    def promised(self, server: ServerName, call: Call, tools: bool = False) -> AskProfile:
        """What the server may ask in the course of this call; `tools` where its client has our tools."""
        native = call.asks
        if not native and not tools and self.model is None:
            return NO_ASKS
        policy = self._policy_of(server)
        by_tools = self.by_tools(call.caller.scope) if tools else NO_ASKS
        profile = deliverable(policy, native, by_tools, self._usual)
        return profile if self.model is None else self._with_model(server, call.caller.scope, profile)

    def _with_model(self, server: ServerName, scope: Scope, profile: AskProfile) -> AskProfile:
        model = self.model
        if model is None:
            return profile
        first = model_first(sampling_ladder(self._policy_of(server), self._usual, model.rule(server, scope)))
        return profile if first is None else with_model(profile, first, model.takes)

    def _with_tools(self, scope: Scope) -> Workspace | None:
        workspace = self._workspaces.find(scope)
        return workspace if workspace is not None and workspace.by_tools else None

    def goes_to_model(self, server: ServerName, call: Call, wants: Iterable[Wanted]) -> bool:
        """Whether a model answers some of what is wanted in the course of this call, though its client may answer the
        rest."""
        if self.model is None or all(wanted.kind != "sampling" for wanted in wants):
            return False
        rule = self.model.rule(server, call.caller.scope)
        first = model_first(sampling_ladder(self._policy_of(server), self._usual, rule))
        return first is True or (first is False and "sampling" not in call.caller.capabilities)

    # -- what is asked

    def take(
        self,
        server: ServerName,
        scopes: Collection[Scope],
        ask: RaisedAsk,
        by_us: bool = False,
    ) -> Withdraw | Failed:
        """Implements `vocabulary.asks.TakeAsk` for a link that these scopes use, now and later. A question `by_us`
        never goes to our tools, because it comes from there."""
        ask = self._belonging(server, scopes, ask)
        carrier = next((call for call in reversed(ask.belonging.calls) if ask.wanted in call.asks), None)
        workspace = self._place(scopes, ask)
        there: list[Step] = []
        if carrier is not None and carrier.ear is not None and ask.wanted in carrier.ear.hears:
            there.append("native")
        if workspace is not None and ask.wanted in self.by_tools(workspace.scope):
            there.append("tools")
        scope = _asking(scopes, ask)
        if self.model is not None and ask.kind == "sampling":
            there.append("model")
        step = who_answers(there, self._ladder(server, scope, ask, by_us))
        if step == "native" and carrier is not None and carrier.ear is not None:
            shown = self._noted(server, "native", carrier.caller.scope, _labelled(ask))
            return carrier.ear.ask(shown) if ask.running is None else self._guessed(server, scopes, ask, shown, carrier)
        if step == "tools" and workspace is not None:
            noted = self._noted(server, "tools", workspace.scope, ask)
            return self._known(noted, workspace.scope) or self._show(server, workspace, noted)
        if step == "model" and self.model is not None:
            climb = functools.partial(self.take, server, scopes)
            return self.model.take(server, scope, self._noted(server, "model", scope, ask), climb)
        if ask.kind == "roots" and not ask.belonging.calls:
            return self._roots_of(server, scopes, ask)
        return self._refused(server, ask)

    def _guessed(
        self, server: ServerName, scopes: Collection[Scope], ask: RaisedAsk, shown: RaisedAsk, carrier: Call
    ) -> Withdraw | Failed:
        """Shown with a call that it may not belong to: it outlives that one while another runs that it may belong to
        (rule R8)."""
        assert carrier.ear is not None
        place: list[Withdraw] = []

        def move() -> bool:
            running = () if ask.running is None else ask.running()
            hearing = [call for call in running if call.ear is not None and ask.wanted in call.ear.hears]
            left = tuple(hearing or (call for call in running if call.ear is None))
            if not left:
                return False
            belonging = Belonging("ambiguous" if len(left) > 1 else "probable", left)
            taken = self.take(server, scopes, replace(ask, belonging=belonging))
            if not isinstance(taken, Failed):
                place[:] = [taken]
            return not isinstance(taken, Failed)

        taken = carrier.ear.ask(replace(shown, move=move))
        if isinstance(taken, Failed):
            return taken
        place.append(taken)

        def withdraw(reason: str) -> None:
            place[0](reason)

        return withdraw

    def _ladder(self, server: ServerName, scope: Scope, ask: RaisedAsk, by_us: bool) -> tuple[Step, ...]:
        policy = self._policy_of(server)
        if ask.belonging.certainty == "ambiguous" and policy.ambiguous == "refuse":
            return ()
        usual: tuple[Step, ...] = ("native",) if by_us else self._usual
        if self.model is None or ask.kind != "sampling":
            return policy.ladder(ask.kind, usual)
        return sampling_ladder(policy, usual, self.model.rule(server, scope))

    def _roots_of(self, server: ServerName, scopes: Collection[Scope], ask: RaisedAsk) -> Withdraw | Failed:
        """They belong to a client and not to a call: it can be asked by a stream that is open, else they are what it
        said last (rule R3)."""
        for scope in sorted(scopes):
            ear = self.ear_of(scope)
            if ear is not None and "roots" in ear.hears:
                return ear.ask(self._noted(server, "native", scope, ask))
        for scope in sorted(scopes):
            if known := self._known(self._noted(server, "known", scope, ask), scope):
                return known
        return self._refused(server, ask)

    def _known(self, ask: RaisedAsk, scope: Scope) -> Withdraw | None:
        """Roots that were said before are told at once."""
        known = self.roots.last_known(scope) if ask.kind == "roots" else None
        if known is None:
            return None
        ask.settle(Done(Payload(raw=known)))
        return _withdrawn

    def _belonging(self, server: ServerName, scopes: Collection[Scope], ask: RaisedAsk) -> RaisedAsk:
        """What comes while a link is made for a call is most likely asked for it."""
        if ask.belonging.calls or ask.belonging.certainty != "orphan":
            return ask
        opening = self._opening(server, scopes)
        return replace(ask, belonging=Belonging("presumed", (opening[-1],))) if opening else ask

    def _place(self, scopes: Collection[Scope], ask: RaisedAsk) -> Workspace | None:
        """Where the call came from; the last of several. What belongs to no call goes to whoever uses the link."""
        calls = ask.belonging.calls
        asking = [call.caller.scope for call in reversed(calls) if ask.wanted in call.asks] if calls else sorted(scopes)
        return next(filter(None, map(self._with_tools, asking)), None)

    def _show(self, server: ServerName, workspace: Workspace, ask: RaisedAsk) -> Withdraw | Failed:
        assert ask.kind != "roots"
        try:
            pending = workspace.begin_ask(ask.kind, server, ask.params, ask.settle)
        except LimitReached as limit:
            return Failed(_INTERNAL_ERROR, str(limit))
        for call in ask.belonging.calls:
            self._tell_who_waits(call)
        return functools.partial(workspace.withdraw_ask, pending)

    def _refused(self, server: ServerName, ask: RaisedAsk) -> Withdraw | Failed:
        _log.info("ask_refused", extra={"data": {"server": server, "kind": ask.kind}})
        policy = self._policy_of(server)
        if ask.belonging.certainty == "ambiguous" and ask.kind == "elicitation" and policy.ambiguous == "refuse":
            ask.settle(Done(Payload.of({"action": "cancel"})))
            return _withdrawn
        if ask.belonging.certainty == "orphan" and ask.kind != "roots":
            return Failed(_INVALID_PARAMS, "This request belongs to no call that is running, so nobody can be asked")
        return Failed(_METHOD_NOT_FOUND, "Nobody is here who could be asked")

    def _noted(self, server: ServerName, by: str, scope: Scope, ask: RaisedAsk) -> RaisedAsk:
        """The same, with who answered it in the log."""
        settle, kind = ask.settle, ask.kind

        def settled(outcome: Outcome) -> None:
            _log.info("ask_answered", extra={"data": {"server": server, "kind": kind, "by": by, "how": _how(outcome)}})
            if by == "native" and kind == "roots" and isinstance(outcome, Done):
                self.roots.saw(scope, outcome.payload.raw())
            settle(outcome)

        return replace(ask, settle=settled, server=server)

    def forget_roots(self, scope: Scope) -> None:
        self.roots.outdated(scope)

    def forget(self, scope: Scope) -> None:
        """Nothing is known of its client any more."""
        self.roots.forget(scope)

    # -- who waits for a call that now waits for him

    @contextmanager
    def interrupting(self, call: Call, interrupt: Callable[[], None]) -> Iterator[None]:
        """Meanwhile `interrupt` is called when a server asks something that belongs, or may belong, to this call."""
        self.interrupt(call, interrupt)
        try:
            yield
        finally:
            self.interrupt_no_more(call)

    def interrupt(self, call: Call, interrupt: Callable[[], None]) -> None:
        """From now on, until `interrupt_no_more`."""
        if self._promote:
            self._waited_for[id(call)] = interrupt

    def interrupt_no_more(self, call: Call) -> None:
        self._waited_for.pop(id(call), None)

    def _tell_who_waits(self, call: Call) -> None:
        interrupt = self._waited_for.get(id(call))
        if interrupt is not None:
            interrupt()


def _asking(scopes: Collection[Scope], ask: RaisedAsk) -> Scope:
    """Whose rules hold for it."""
    return ask.belonging.calls[-1].caller.scope if ask.belonging.calls else min(scopes)


def _labelled(ask: RaisedAsk) -> RaisedAsk:
    """A question that may be any of several calls' says so, because it is shown beside one of them (rule R4)."""
    if ask.belonging.certainty != "ambiguous" or ask.kind != "elicitation":
        return ask
    names = [read_text(call.params.get("name")) or read_text(call.params.get("uri")) for call in ask.belonging.calls]
    told_apart = list(dict.fromkeys(name for name in names if name))
    if len(told_apart) < 2:
        # Calls of one tool: no word would say more than the question.
        return ask
    fields = read_fields(ask.params)
    label = ", ".join(told_apart)
    message = f"(belongs to one of: {label}) {read_text(fields.get('message')) or ''}"
    return replace(ask, params=to_raw({**fields, "message": message}))


def _how(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return "error"
    if not outcome.payload.may_have("action"):
        return "result"
    return read_text(outcome.payload.get("action")) or "result"
