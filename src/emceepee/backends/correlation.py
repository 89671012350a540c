"""To which running call an ask belongs. Pure.

Only calls on the same link are ever candidates, and a link that can be asked belongs to one scope; so the worst mistake
that can be made here is a question shown beside the wrong call of the same person, never somebody else's question. The
answer needs no guess: it goes back under the ask's own id.

The one rule: the stream that an ask came on decides; guesses are made only where there is none, and are called guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emceepee.backends.transport import Origin
from emceepee.protocol.messages import RequestId
from emceepee.vocabulary.asks import Belonging
from emceepee.vocabulary.calls import Call


@dataclass(slots=True, frozen=True)
class Running:
    """A call that has no answer yet; `asked` when a question of its own is open already."""

    id: RequestId
    call: Call
    asked: bool = False


def belongs(origin: Origin, running: Sequence[Running], stream_is_open: bool) -> Belonging:
    """Rules R2 and R3. `running` is in order of beginning; `stream_is_open` is about the request whose stream it came
    on, whatever that was."""
    if origin.request is not None:
        own = next((one.call for one in running if one.id == origin.request), None)
        if own is not None:
            return Belonging("exact", (own,))
        return Belonging("orphan" if stream_is_open else "over")
    if not running:
        return Belonging("orphan")
    if len(running) == 1:
        return Belonging("exact" if origin.kind == "pipe" else "presumed", (running[0].call,))
    quiet = [one.call for one in running if not one.asked]
    if len(quiet) == 1:
        return Belonging("probable", (quiet[0],), tuple(one.call for one in running if one.asked))
    # The last is the one it is shown with: the one begun last, of those that ask nothing yet if there are any.
    return Belonging("ambiguous", (*(one.call for one in running if one.asked), *quiet))
