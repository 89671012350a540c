"""How a connection to one server stands, as a table.

The one rule: what may follow what is listed here and nowhere else; the illegal is what is not listed. The names are the
ones that users see in `list_servers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["not_connected", "connecting", "connected", "disconnected", "error"]
Step: TypeAlias = Literal["begin", "ready", "fail", "lose", "close"]

NEXT: dict[tuple[State, Step], State] = {
    ("not_connected", "begin"): "connecting",
    ("disconnected", "begin"): "connecting",
    ("error", "begin"): "connecting",
    ("connecting", "ready"): "connected",
    ("connecting", "fail"): "error",
    ("connecting", "close"): "not_connected",
    ("connected", "lose"): "disconnected",
    ("connected", "close"): "not_connected",
    # A session that expired at the server is made again without ever having been reported as lost.
    ("connected", "begin"): "connecting",
    ("disconnected", "close"): "not_connected",
    ("error", "close"): "not_connected",
    ("not_connected", "close"): "not_connected",
}


def after(state: State, step: Step) -> State:
    """The state that follows. A step that is not listed is a mistake of ours."""
    try:
        return NEXT[state, step]
    except KeyError:
        raise AssertionError(f"a connection that is {state} cannot {step}") from None


@dataclass(slots=True, frozen=True)
class Status:
    """What can be said of one scope's connection to one server."""

    state: State = "not_connected"
    connected_at: str | None = None
    last_error: str | None = None
    revision: str | None = None
    connects: int = 0
