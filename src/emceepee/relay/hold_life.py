"""How a call stands that may have to wait for its client's answer while nobody is connected, as a table.

    attached     the client waits for it, and so does the call at its server
    parked       the client was sent away with what is asked; the call waits at its server
    settled      the server has ended the call while the client was away; the end waits for him
    detached     the client went away in the middle of a later round, and may come back for a moment
    done         the client was told how it ended; told again to whoever comes with the same state
    cancelled    the client went away, and did not come back
    expired      the client did not come back with an answer
    lost         the connection to the server broke

The one rule: what may follow what is listed here and nowhere else; the illegal is what is not listed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Life: TypeAlias = Literal["attached", "parked", "settled", "detached", "done", "cancelled", "expired", "lost"]
Step: TypeAlias = Literal["park", "resume", "finish", "tell", "leave", "come_back", "give_up", "expire", "lose"]

NEXT: dict[tuple[Life, Step], Life] = {
    ("attached", "park"): "parked",
    ("parked", "resume"): "attached",
    ("attached", "finish"): "done",
    ("parked", "finish"): "settled",
    ("settled", "tell"): "done",
    # In the first round there is no state yet with which a client could come back.
    ("attached", "give_up"): "cancelled",
    ("attached", "leave"): "detached",
    ("detached", "come_back"): "attached",
    ("detached", "park"): "parked",
    ("detached", "finish"): "settled",
    ("detached", "give_up"): "cancelled",
    ("attached", "expire"): "expired",
    ("parked", "expire"): "expired",
    ("settled", "expire"): "expired",
    ("detached", "expire"): "expired",
    ("attached", "lose"): "lost",
    ("parked", "lose"): "lost",
    ("detached", "lose"): "lost",
}

OVER: frozenset[Life] = frozenset(("done", "cancelled", "expired", "lost"))
"""Nothing happens any more; for a while it is remembered what happened."""


def after(life: Life, step: Step) -> Life:
    """What follows. A step that is not listed is a mistake of ours."""
    try:
        return NEXT[life, step]
    except KeyError:
        raise AssertionError(f"a held call that is {life} cannot {step}") from None
