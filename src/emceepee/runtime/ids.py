"""Ids that nobody can guess, and ids that sort as they were made.

The one rule: an id that grants anything is fresh secure randomness each time; order is never worth being guessable.
What `Ulids` makes grants nothing: whoever uses one is checked for the workspace that it belongs to.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from typing import Protocol

from emceepee.runtime.clock import Clock

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Ids(Protocol):
    def secret(self) -> str:
        """26 characters of fresh randomness, in the form of a ULID."""
        ...

    def slot(self) -> str:
        """8 characters that name one run of this process."""
        ...

    def span(self) -> str:
        """16 hexadecimal digits, for our own place in somebody's trace; grants nothing."""
        ...


def uuid_of_chance() -> str:
    """As the protocol wants some ids to be."""
    return str(uuid.uuid4())


def random_bytes(size: int) -> bytes:
    """For keys and what has to be used once only."""
    return secrets.token_bytes(size)


class SystemIds:
    def secret(self) -> str:
        return _crockford(secrets.randbits(130), 26)

    def slot(self) -> str:
        return self.secret()[:8].lower()

    def span(self) -> str:
        return secrets.token_hex(8)


class Ulids:
    """26 characters whose order as text is the order in which they were made, also within a millisecond and when the
    clock steps back (X-BUG-05).

    Characters 11 to 18 are the slot of the process that made it, so that whoever routes between several knows the owner
    from the id alone; `<slot>.<ULID>` would say the same and would be no ULID.
    """

    def __init__(self, clock: Clock, slot: str, chance: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock
        self._slot = slot.upper()
        self._chance = chance
        self._ms = -1
        self._tail = 0

    def next(self) -> str:
        ms = int(self._clock.wall().timestamp() * 1000)
        if ms > self._ms:
            # One bit less than fits, so that counting on within a millisecond has room.
            self._ms, self._tail = ms, self._chance(_TAIL_BITS - 1)
        else:
            self._tail += 1
            if self._tail >> _TAIL_BITS:
                self._ms, self._tail = self._ms + 1, 0
        return f"{_crockford(self._ms, 10)}{self._slot}{_crockford(self._tail, 8)}"


_TAIL_BITS = 40


def _crockford(value: int, length: int) -> str:
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(5 * length - 5, -1, -5))


def slot_of(ulid: str) -> str:
    """Which process made it, as `Ids.slot` named that."""
    return ulid[10:18].lower()
