"""Ids that nobody can guess.

The one rule: an id that grants anything is fresh secure randomness each time; order is never worth being guessable.
"""

from __future__ import annotations

import secrets
from typing import Protocol

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


class SystemIds:
    def secret(self) -> str:
        value = secrets.randbits(130)
        return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))

    def slot(self) -> str:
        return self.secret()[:8].lower()

    def span(self) -> str:
        return secrets.token_hex(8)
