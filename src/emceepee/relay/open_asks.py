"""What a server wants to know in the course of one call and has not been told, under the keys a client sees.

It knows nobody who could answer. Keys are `a<round>.<n>`: the round in which the client sees it first, and none is ever
used for another ask of the same call.

The one rule: an ask leaves once, by its answer, by its server, for another call that it may belong to, or by being
given up, and its server hears of it, unless it was the one who said so or somebody else is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.vocabulary.asks import AskKind, RaisedAsk
from emceepee.vocabulary.notices import Progress
from emceepee.vocabulary.outcomes import Done, Failed, Outcome, Wanted
from emceepee.vocabulary.raw_json import Fields, NotThatShape, Payload, read_value, to_raw

METHODS: dict[AskKind, str] = {
    "elicitation": "elicitation/create",
    "sampling": "sampling/createMessage",
    "roots": "roots/list",
}

_INVALID_PARAMS, _INTERNAL_ERROR, _DECLINED = -32602, -32603, -1
_ACTIONS = ("accept", "decline", "cancel")
_ROLES = ("user", "assistant")


def unanswered(kind: AskKind) -> Outcome:
    """What a server hears that waits for an answer which will not come. Nobody has declined: that is for a person."""
    match kind:
        case "elicitation":
            return Done(Payload.of({"action": "cancel"}))
        case "sampling":
            return Failed(_DECLINED, "Nobody answered in time")
        case _:
            return Failed(_INTERNAL_ERROR, "Nobody answered in time")


class OpenAsks:
    def __init__(self) -> None:
        self._asks: dict[str, RaisedAsk] = {}
        self._round = 0
        self._count = 0
        self._beats = 0.0

    def __len__(self) -> int:
        return len(self._asks)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._asks)

    @property
    def kinds(self) -> frozenset[AskKind]:
        return frozenset(ask.kind for ask in self._asks.values())

    def add(self, ask: RaisedAsk, shown_in: int) -> str:
        """Its key. `shown_in` is the round in which the client will see it first."""
        if shown_in != self._round:
            self._round, self._count = shown_in, 0
        self._count += 1
        key = f"a{shown_in}.{self._count}"
        self._asks[key] = ask
        return key

    def requests(self) -> Fields:
        """All that is open, as a client of either dialect is told of it."""
        return {key: to_raw({"method": METHODS[ask.kind], "params": ask.params}) for key, ask in self._asks.items()}

    def wants(self) -> dict[str, Wanted]:
        return {key: Wanted(ask.kind, ask.wanted, ask.params) for key, ask in self._asks.items()}

    # -- leaving

    def read(self, answers: Fields) -> dict[str, Outcome]:
        """Those of the answers that answer something open here, checked for their form. Raises `ClientFault` for one
        that has none; then nothing is answered."""
        given = {key: (ask.kind, answers[key]) for key, ask in self._asks.items() if key in answers}
        for key, (kind, raw) in given.items():
            check_answer(key, kind, raw)
        return {key: Done(Payload(raw.copy())) for key, (_, raw) in given.items()}

    def settle(self, key: str, outcome: Outcome) -> RaisedAsk:
        """One that is open."""
        ask = self._asks.pop(key)
        ask.settle(outcome)
        return ask

    def withdrawn(self, key: str) -> RaisedAsk | None:
        """By its server; None when it was not open any more."""
        return self._asks.pop(key, None)

    def move(self) -> None:
        """What may belong to another call goes to whoever is asked for that one; where nobody is, it gets its end."""
        for key, ask in list(self._asks.items()):
            if ask.move is not None:
                del self._asks[key]
                if not ask.move():
                    ask.settle(unanswered(ask.kind))

    def give_up(self) -> list[tuple[str, RaisedAsk]]:
        """All of them. Which they were."""
        left, self._asks = self._asks, {}
        for ask in left.values():
            ask.settle(unanswered(ask.kind))
        return list(left.items())

    # -- meanwhile

    @property
    def can_be_told(self) -> bool:
        """Whether a server asked to hear that we still wait."""
        return any(ask.on_progress is not None for ask in self._asks.values())

    def tell_waiting(self) -> None:
        """Servers give up what makes no progress; a person who thinks makes none of his own."""
        self._beats += 1
        beat = Progress(self._beats, {"progress": to_raw(self._beats)})
        for ask in self._asks.values():
            if ask.on_progress is not None:
                ask.on_progress(beat)


def check_answer(key: str, kind: AskKind, raw: Raw) -> None:
    """One answer of a client, which is a bare result. Raises `ClientFault` where it cannot be one."""
    try:
        answer = read_value(raw)
    except NotThatShape:
        answer = None
    problem = "must be an object" if not isinstance(answer, dict) else _CHECKS[kind](answer)
    if problem is not None:
        raise ClientFault(_INVALID_PARAMS, f"params.inputResponses['{key[:40]}'] {problem}")


def _elicited(answer: dict[str, Any]) -> str | None:
    if answer.get("action") not in _ACTIONS:
        return f"must have an 'action' that is one of {', '.join(_ACTIONS)}"
    content = answer.get("content")
    return None if content is None or isinstance(content, dict) else "must have a 'content' that is an object"


def _sampled(answer: dict[str, Any]) -> str | None:
    if answer.get("role") not in _ROLES:
        return f"must have a 'role' that is one of {', '.join(_ROLES)}"
    if not isinstance(answer.get("model"), str):
        return "must have a 'model' that is a string"
    return None if isinstance(answer.get("content"), dict | list) else "must have 'content'"


def _rooted(answer: dict[str, Any]) -> str | None:
    roots = answer.get("roots")
    if not isinstance(roots, list):
        return "must have 'roots' that are a list"
    named = all(isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots)
    return None if named else "must have 'roots' of which each has a 'uri'"


_CHECKS: dict[AskKind, Callable[[dict[str, Any]], str | None]] = {
    "elicitation": _elicited,
    "sampling": _sampled,
    "roots": _rooted,
}
