"""How a workspace is named by those who use it: a handle that we gave out, or a name in a path. Pure.

A handle is secret enough to be shown to a model; a name is only a word, so it is one of its principal's own.

The one rule: whoever may not use a handle is told the same as of one that never was.
"""

from __future__ import annotations

import re

from emceepee.errors import ClientFault
from emceepee.vocabulary.names import Scope

SESSION_NOT_FOUND = "session_not_found"

_PREFIX = "ws_"
_INVALID_PARAMS = -32602
_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def make_handle(secret: str) -> Scope:
    return _PREFIX + secret


def is_handle(scope: Scope) -> bool:
    return scope.startswith(_PREFIX)


def may_name(name: str) -> bool:
    """Whether a path may end in it: a handle, or a word of at most 64 characters."""
    return _name.match(name) is not None


def scope_of_name(name: str, principal: str) -> Scope:
    """No session's id, principal or handle has a slash followed by such a word."""
    return f"{principal}/{name}"


def not_found(handle: str) -> ClientFault:
    shown = handle[:64]
    return ClientFault(
        _INVALID_PARAMS, f"Session '{shown}' not found", {"reason": SESSION_NOT_FOUND, "sessionId": shown}
    )
