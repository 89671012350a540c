"""How any text travels in a header: plain where that is safe, else wrapped as `=?base64?…?=`.

Not here: which headers there are. The one rule: decoding gives exactly what was encoded, or nothing; a value that two
readers could read differently is malformed.
"""

from __future__ import annotations

import base64
import binascii
import re

_plain = re.compile(r"[\x20-\x7e]*")
_wrapped = re.compile(r"=\?base64\?(.*)\?=")


def encode_value(value: str) -> str:
    if _plain.fullmatch(value) and value == value.strip() and not _wrapped.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="


def decode_value(value: str) -> str | None:
    """The text, or None for a wrapping that is malformed."""
    found = _wrapped.fullmatch(value)
    if found is None:
        return value
    try:
        decoded = base64.b64decode(found[1], validate=True)
        # b64decode forgives stray bits at the end; our encoder never makes them
        return decoded.decode() if base64.b64encode(decoded).decode("ascii") == found[1] else None
    except (binascii.Error, ValueError):
        return None
