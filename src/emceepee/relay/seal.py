"""What a client carries for us from one request to the next: closed, so that nobody else can read, change or make one.

    g1.<slot>.<sealed>

It knows no claim (`request_state` does). The slot names the process that can serve it, in the clear, because whoever
routes between several has to read it; it is bound into the seal all the same.

The one rule: the first key of the ring seals and every key opens, so that keys can be changed while people think; what
no key opens is nobody's, and nothing is said of why.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol

VERSION = "g1"
ANYWHERE = "-"
"""The slot of what every process with the same keys can serve."""

KEY_BYTES = 32
NONCE_BYTES = 12
MAX_TOKEN = 65_536
"""Characters. Ours are a few hundred; a longer one was not made here."""


class NotOurs(ValueError):
    """No seal of ours, or not any more. Which of the two is not said."""


class _Cipher(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class Seal:
    """`chance` gives that many random bytes."""

    def __init__(self, keys: Sequence[bytes], chance: Callable[[int], bytes]) -> None:
        assert keys, "something has to seal"
        self._keys = tuple(keys)
        self._chance = chance
        self._made: tuple[_Cipher, ...] | None = None

    def close(self, slot: str, plain: bytes) -> str:
        nonce = self._chance(NONCE_BYTES)
        sealed = self._ciphers()[0].encrypt(nonce, plain, _bound(slot))
        return f"{VERSION}.{slot}.{base64.urlsafe_b64encode(nonce + sealed).rstrip(b'=').decode()}"

    def open(self, token: str) -> bytes:
        """Raises `NotOurs`."""
        slot, body = split(token)
        try:
            raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise NotOurs from None
        if len(raw) <= NONCE_BYTES or base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != body:
            # The last character has spare bits: two spellings of one token would be two tokens.
            raise NotOurs
        for cipher in self._ciphers():
            plain = _opened(cipher, raw, _bound(slot))
            if plain is not None:
                return plain
        raise NotOurs

    def _ciphers(self) -> tuple[_Cipher, ...]:
        """Imported when first needed: it is as large as all else that we load together, and most runs never seal."""
        if self._made is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._made = tuple(AESGCM(key) for key in self._keys)
        return self._made


def _opened(cipher: _Cipher, raw: bytes, bound: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], bound)
    except InvalidTag:
        return None


def _bound(slot: str) -> bytes:
    return f"{VERSION}.{slot}.".encode()


def split(token: str) -> tuple[str, str]:
    """Slot and sealed part, both unchecked. Raises `NotOurs` for what has not our form."""
    version, dot, rest = token.partition(".")
    slot, second, body = rest.partition(".")
    if len(token) > MAX_TOKEN or version != VERSION or not (dot and second and slot and body) or "." in body:
        raise NotOurs
    return slot, body


def slot_of(token: str) -> str:
    """Which process it says can serve it; not to be believed before it was opened. Raises `NotOurs`."""
    return split(token)[0]


def key_of(text: str) -> bytes:
    """A key from what a person wrote down; long random text is what makes it one."""
    return hashlib.sha256(b"emceepee request state\0" + text.encode()).digest()
