"""The names by which parts of the conversation are known, and nothing else.

The one rule: a name is compared, never interpreted, outside this file.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, TypeAlias

ServerName: TypeAlias = str
SessionId: TypeAlias = str

Scope: TypeAlias = str
"""Whose backend connections a call may use: a legacy session's id, or a principal. Two scopes never share one."""

LOCAL: Scope = "local"
"""The principal where nothing authenticates and we listen on loopback or stdio."""

ANON: Scope = "anon"
"""The principal of everybody where nobody is known: strangers to each other, so nothing of theirs is kept here."""

LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: tuple[LogLevel, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

MAX_SERVER_NAME = 40
"""Leaves room for `__` and a tool's own name below the 64 characters that model APIs take."""

_server_name = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_))*\Z")


def server_name_problem(name: str) -> str | None:
    """Why this cannot name a server, as a sentence, or None when it can."""
    if not name:
        return "the name is empty; give a short one such as 'files'"
    if len(name) > MAX_SERVER_NAME:
        return f"the name has {len(name)} characters; at most {MAX_SERVER_NAME} leave room for tool names"
    if "__" in name:
        return "the name contains '__', which separates server and tool names; use '-'"
    if not _server_name.match(name):
        return "the name may have letters, digits, '.', '-' and single '_', and starts with a letter or digit"
    return None


def at_least(level: LogLevel, minimum: LogLevel) -> bool:
    """Whether a line of this level passes a filter of that minimum."""
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(minimum)


def scope_label(scope: Scope) -> str:
    """What may be shown and logged of a scope: a session's id is a bearer secret, so only a short digest of it."""
    return scope if scope in (LOCAL, ANON) else hashlib.sha256(scope.encode()).hexdigest()[:8]
