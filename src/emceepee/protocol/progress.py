"""Which request a progress notification is about.

The token of our own asks is their id, so the pending table is the token table and nothing outlives its request.

The one rule: a token is compared by type and value, like an id.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from emceepee.protocol.messages import RequestId

PROGRESS = "notifications/progress"


class _Params(msgspec.Struct):
    progressToken: int | str | None = None


_params = msgspec.json.Decoder(_Params)


def token_of(params: Raw | None) -> RequestId | None:
    """The token, or None where there is none to be read."""
    if params is None:
        return None
    try:
        return _params.decode(params).progressToken
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
