"""Our own pages of a list: cursors that know which list they were cut from. Pure.

The one rule: a cursor continues exactly the list it came from; of any other it is refused, and the client starts again
(era-bridging F17).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.vocabulary.raw_json import Fields, read_text

_INVALID_PARAMS = -32602
_OFFSET_BYTES = 4


def read_cursor(params: Fields) -> tuple[bytes, int] | None:
    """The digest of the list it continues, and where. None for a first page. Raises `ClientFault` for what is not
    ours."""
    raw = params.get("cursor")
    if raw is None or bytes(raw) == b"null":
        return None
    text = read_text(raw)
    try:
        sealed = base64.urlsafe_b64decode((text or "").encode("ascii"))
    except (binascii.Error, UnicodeEncodeError, ValueError):
        sealed = b""
    if len(sealed) <= _OFFSET_BYTES:
        raise ClientFault(_INVALID_PARAMS, "Invalid cursor: it is not one that this list gave out")
    return sealed[:-_OFFSET_BYTES], int.from_bytes(sealed[-_OFFSET_BYTES:], "big")


def write_cursor(digest: bytes, offset: int) -> str:
    return base64.urlsafe_b64encode(digest + offset.to_bytes(_OFFSET_BYTES, "big")).decode()


def cut(
    items: Sequence[Raw], digest: bytes, cursor: tuple[bytes, int] | None, size: int
) -> tuple[Sequence[Raw], str | None]:
    """The page that a cursor asks for and the cursor of the next. Raises `ClientFault` when the list is another one
    now."""
    start = 0
    if cursor is not None:
        of, start = cursor
        if of != digest or not 0 < start < len(items):
            raise ClientFault(_INVALID_PARAMS, "Invalid cursor: the list has changed; start again without a cursor")
    end = start + size
    if start == 0 and end >= len(items):
        return items, None
    return items[start:end], write_cursor(digest, end) if end < len(items) else None
