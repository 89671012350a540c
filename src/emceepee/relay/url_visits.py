"""Which addresses have been visited, as far as servers tell: "that elicitation is complete".

The one rule: what is told is remembered for a moment, because it may come before somebody waits for it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from emceepee.runtime.clock import Clock
from emceepee.runtime.deadline import Deadline

_REMEMBERED = 256


class UrlVisits:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._done: OrderedDict[str, None] = OrderedDict()
        self._waiting: dict[asyncio.Future[None], set[str]] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def done(self, elicitation_id: str) -> None:
        """A server says so."""
        waited_for = False
        for future, left in self._waiting.items():
            if elicitation_id in left:
                waited_for = True
                left.discard(elicitation_id)
                if not left and not future.done():
                    future.set_result(None)
        if waited_for:
            return
        self._done[elicitation_id] = None
        while len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)

    async def wait(self, ids: tuple[str, ...], seconds: float) -> bool:
        """Whether all of them are done within that time."""
        left = {one for one in ids if one not in self._done}
        for one in ids:
            self._done.pop(one, None)
        if not left:
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = left
        try:
            async with Deadline(self._clock, seconds):
                await future
        except TimeoutError:
            return False
        finally:
            del self._waiting[future]
        return True
