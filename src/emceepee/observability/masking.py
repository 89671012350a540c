"""What may be written down: any value made plain, short, and free of secrets that we can recognise.

It is the last net, not the first: whoever logs leaves arguments, header values and prompts out to begin with.

The one rule: it takes anything and never raises; what it gives back is always JSON.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from emceepee.vocabulary.names import scope_label

HIDDEN = "***"
MAX_TEXT = 2000
MAX_ITEMS = 100
MAX_LEVELS = 6
_LABEL = 12

_secret_key = re.compile(
    r"(?:authorization|token|passw(?:or)?d|passphrase|secret|apikey|privatekey|accesskey|cookie|credentials?)\Z"
)
_session_keys = frozenset(("sessionid", "mcpsessionid"))
_public_keys = frozenset(("progresstoken", "nexttoken"))
_url = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^\s\"'<>\\^`{|}]+)")
_bearer = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)


def masked(value: Any, level: int = 0) -> Any:
    """A copy of plain types only, at most some levels deep and some entries wide."""
    match value:
        case None | bool() | float():
            return value
        case int():
            return (
                value if -(2**63) <= value < 2**63 else str(value)[:MAX_TEXT] if value.bit_length() < 4096 else "large"
            )
        case str():
            return masked_text(value)
        case bytes() | bytearray() | memoryview():
            return f"<{len(value)} bytes>"
        case _ if level >= MAX_LEVELS:
            return "…"
        case dict():
            return {_key(key): _member(key, member, level) for key, member in list(value.items())[:MAX_ITEMS]}
        case list() | tuple() | set() | frozenset():
            return [masked(item, level + 1) for item in list(value)[:MAX_ITEMS]]
        case _:
            return masked_text(_shown(value))


def masked_text(text: str) -> str:
    """The text without user info and queries of URLs, without credentials after their scheme, and not too long."""
    short = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"
    if "://" in short:
        short = _url.sub(_bare_url, short)
    short = _bearer.sub(rf"\1 {HIDDEN}", short)
    # A lone surrogate is a legal Python string and no legal JSON.
    return short.encode("utf-8", "backslashreplace").decode("utf-8")


def is_secret(key: object) -> bool:
    plain = _plain(key)
    return bool(_secret_key.search(plain)) and plain not in _public_keys


def _plain(key: object) -> str:
    return re.sub(r"[^a-z0-9]", "", key.lower()) if isinstance(key, str) else ""


def _key(key: object) -> str:
    return masked_text(key if isinstance(key, str) else _shown(key))


def _member(key: object, value: Any, level: int) -> Any:
    if value is not None and is_secret(key):
        return HIDDEN
    if isinstance(value, str) and len(value) > _LABEL and _plain(key) in _session_keys:
        # A session's id is a bearer secret; its label still tells one session's lines from another's.
        return scope_label(value)
    return masked(value, level + 1)


def _bare_url(match: re.Match[str]) -> str:
    authority, slash, path = match.group(2).partition("/")
    path = re.split(r"[?#]", path, maxsplit=1)[0]
    authority = re.split(r"[?#]", authority, maxsplit=1)[0] if not slash else authority
    return match.group(1) + authority.rpartition("@")[2] + slash + path


def _shown(value: object) -> str:
    with contextlib.suppress(Exception):
        return repr(value)
    return f"<{type(value).__name__} that cannot be shown>"
