"""What a `requestState` of ours says: which hold or which server's state it stands for, and for whom and what only.

It seals nothing (that is `seal`) and keeps nothing. Claims: `v` version, `k` kind (`hold`, `relay`, `kept`, `url`),
`n` the slot again, `h` hold or kept state, `r` its round, `b` server, `s` that server's own state, `i` ids of
addresses, `exp` when it is void (seconds, of the wall), `m` method, `t` target, `a` digest of all arguments, `p` the
caller, hashed with a salt `q` of its own, `aud` the surface.

The one rule: whatever does not fit is refused with the same words; why stays in our log, so that nobody can find out by
trying.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.relay.seal import ANYWHERE, NotOurs, Seal, slot_of
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import scope_label
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_text

_log = logging.getLogger("emceepee.relay")

Kind: TypeAlias = Literal["hold", "relay", "kept", "url"]

_VERSION = 1
_INVALID_PARAMS = -32602
REFUSED = "Invalid or expired requestState"


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    k: Kind
    m: str
    t: str
    a: str
    aud: str
    exp: int
    n: str = ANYWHERE
    h: str = ""
    r: int = 0
    b: str = ""
    s: str = ""
    i: tuple[str, ...] = ()
    p: str = ""
    q: str = ""
    v: int = _VERSION


_decoder = msgspec.json.Decoder(Claims)
_values = msgspec.json.Decoder(float_hook=lambda text: _whole(float(text)))
_canonical = msgspec.json.Encoder(order="sorted")


def _whole(number: float) -> int | float:
    """1.0 and 1 are one number to whoever writes JSON, and a client may write it anew."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def digest(params: Fields) -> str:
    """Of all that was asked for, however it was spaced and in whichever order."""
    return _short(_canonical.encode({key: _value(raw) for key, raw in params.items()}))


def _value(raw: Raw) -> Any:
    try:
        return _values.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # What we cannot read we relay all the same; then it is its spelling that counts.
        return bytes(raw).hex()


def target(method: str, params: Fields) -> str:
    return read_text(params.get("uri" if method == "resources/read" else "name")) or ""


def _short(value: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(value).digest()).rstrip(b"=").decode()


class RequestStates:
    """Writes and reads them. `slot` names this run of this process; `chance` gives that many random bytes."""

    def __init__(self, seal: Seal, slot: str, clock: Clock, chance: Callable[[int], bytes]) -> None:
        self.slot = slot
        self._seal = seal
        self._clock = clock
        self._chance = chance

    def write(
        self, call: Call, surface: str, kind: Kind, seconds: float, params: Fields | None = None, **more: Any
    ) -> Raw:
        """For this caller and this very call on this surface, for so long. `params` are those that its client sent, if
        they are not the call's; `more` are the claims of its kind."""
        params = call.params if params is None else params
        salt = self._chance(6).hex()
        claims = Claims(
            k=kind, m=call.method, t=target(call.method, params), a=digest(params), aud=surface,
            exp=int(self._clock.wall().timestamp() + seconds), q=salt, p=_hashed(call.caller.principal, salt), **more,
        )  # fmt: skip
        return Raw(msgspec.json.encode(self._seal.close(claims.n, msgspec.json.encode(claims))))

    def read(self, call: Call, surface: str) -> Claims:
        """Of `call.state`, which must be for this caller and call. Raises `ClientFault`."""
        try:
            claims = self._opened(call)
        except (NotOurs, NotThatShape, msgspec.DecodeError, UnicodeDecodeError):
            raise refused(call, "not ours") from None
        why = self._misfit(claims, call, surface)
        if why is not None:
            raise refused(call, why)
        return claims

    def _opened(self, call: Call) -> Claims:
        token = read_text(call.state)
        if token is None:
            raise NotOurs
        claims = _decoder.decode(self._seal.open(token))
        if claims.n != slot_of(token) or claims.v != _VERSION:
            raise NotOurs
        return claims

    def _misfit(self, claims: Claims, call: Call, surface: str) -> str | None:
        if claims.p != _hashed(call.caller.principal, claims.q):
            return "another caller's"
        if (claims.m, claims.t, claims.aud) != (call.method, target(call.method, call.params), surface):
            return "of another call"
        if claims.a != digest(call.params):
            return "the arguments are others"
        return "expired" if claims.exp <= self._clock.wall().timestamp() else None


def slot_named(call: Call) -> str:
    """Which process its state says can serve it; what cannot be read names nobody's."""
    try:
        return slot_of(read_text(call.state) or "")
    except NotOurs:
        return ANYWHERE


def refused(call: Call, why: str) -> ClientFault:
    """Told alike to everybody; the reason is for whoever runs us."""
    data = {"method": call.method, "why": why, "caller": scope_label(call.caller.principal)}
    _log.warning("request_state_refused", extra={"data": data})
    return ClientFault(_INVALID_PARAMS, REFUSED)


def _hashed(principal: str, salt: str) -> str:
    return _short(f"{salt}\0{principal}".encode())[:22]
