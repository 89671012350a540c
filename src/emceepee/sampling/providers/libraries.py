"""What other people's client libraries have in common for us: they are kept quiet, and their bytes are read by us.

The one rule: no line of theirs is ever the place where a prompt or key gets into a log.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from emceepee.sampling.provider import ProviderFailed

_TRANSPORTS = ("httpx2", "httpcore2")
"""What both of them send with."""


def keep_quiet(library: str) -> None:
    """These log what they send when a variable of theirs says so; here nothing does (house rule 8)."""
    for name in (library, *_TRANSPORTS):
        logging.getLogger(name).setLevel(logging.ERROR)


def decoded(read: bytes) -> Any:
    """Raises `ProviderFailed`."""
    try:
        return msgspec.json.decode(read)
    except msgspec.DecodeError:
        raise ProviderFailed("malformed", "no JSON") from None
