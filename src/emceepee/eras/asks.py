"""What servers ask of their clients, as far as it is the same in both eras: the methods, the words of the capabilities,
and which ask was promised to be heard.

Not here: when and where asks travel. The one rule: what was not declared is refused with the code that says so, and
what was declared passes as the server wrote it, unless it holds something that is valid on this connection only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from emceepee.eras.meta import crossing_only
from emceepee.protocol.messages import INVALID_PARAMS, METHOD_NOT_FOUND
from emceepee.vocabulary.asks import Askable, AskKind, AskProfile
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, NotThatShape, Payload, read_fields, read_text, to_raw

ASKS: dict[str, AskKind] = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}

_DECLINED = -1
"""What the revisions use for "the user rejected it"."""


def declare(profile: AskProfile) -> dict[str, Any]:
    """A client's capabilities that promise exactly this."""
    modes: dict[str, Any] = {mode: {} for mode in ("form", "url") if mode in profile}
    said: dict[str, Any] = {"elicitation": modes} if modes else {}
    return said | ({"sampling": {}} if "sampling" in profile else {})


@dataclass(slots=True, frozen=True)
class ReadAsk:
    """The kind, what the profile calls it, and what may cross of the params."""

    kind: AskKind
    wanted: Askable
    params: Raw


def read_ask(method: str, params: Raw | None, profile: AskProfile) -> ReadAsk | Failed:
    """The ask, or what the server is to be answered."""
    kind = ASKS.get(method)
    if kind is None or profile.isdisjoint(("form", "url") if kind == "elicitation" else ("sampling",)):
        return undeclared(method)
    try:
        fields = read_fields(params or EMPTY_OBJECT)
    except NotThatShape:
        return Failed(INVALID_PARAMS, f"{method}: params must be an object")
    wanted = "sampling" if kind == "sampling" else _mode(fields)
    if wanted is None or wanted not in profile:
        return Failed(INVALID_PARAMS, f"{method}: this mode was not declared by this client")
    if kind == "sampling" and "tools" in fields:
        return Failed(INVALID_PARAMS, f"{method}: sampling.tools was not declared by this client")
    kept = crossing_only(fields)
    return ReadAsk(kind, wanted, (params or EMPTY_OBJECT) if kept is None else to_raw(kept))


def _mode(fields: Fields) -> Askable | None:
    mode = read_text(fields["mode"]) if "mode" in fields else "form"
    return "form" if mode == "form" else "url" if mode == "url" else None


def undeclared(method: str) -> Failed:
    return Failed(METHOD_NOT_FOUND, f"{method} was not declared by this client")


def given_up(kind: AskKind) -> Outcome:
    """What a server hears whose question nobody will answer, because the call that it belongs to is over."""
    if kind == "elicitation":
        return Done(Payload.of({"action": "cancel"}))
    return Failed(_DECLINED, "The call that this request belongs to was cancelled")
