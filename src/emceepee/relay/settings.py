"""How patient the middle is and how much it keeps, each with its default and reason.

The one rule: a wait or a bound in `relay/` and `meta_tools/` has its number here, in seconds unless the name says
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Profile: TypeAlias = Literal["full", "core"]


@dataclass(slots=True, frozen=True)
class RelaySettings:
    profile: Profile = "full"
    """Which of our own tools are offered: all, or the few that calling a tool to its end needs."""

    call_timeout: float = 600.0
    """A call on the transparent and direct surfaces: clients have their own, shorter limits and cancel by
    themselves."""

    execute_timeout_ms: int = 120_000
    max_execute_timeout_ms: int = 3_600_000

    promote_after: float = 45.0
    """A call of a client that takes tasks: after that it gets one. Common clients give a call up after 60 s."""

    promote_on_ask: bool = True
    """Whether a call goes on as a task as soon as its server asks something, so that a client which calls one tool at a
    time can answer."""

    max_await_ms: int = 50_000
    """How long `await_activity` waits at most: common clients give a call up after 60 s."""

    listing_budget: float = 2.0
    """How long a question to all servers waits for the slow ones; they go on in the background."""

    slow_budget: float = 0.25
    """The same for those that an earlier question of this scope has waited for in vain."""

    list_timeout: float = 30.0
    """One page of one server's list."""

    reconcile_budget: float = 10.0
    """How long the lists of a server that is there again are waited for before its return is told."""

    assume_fresh: float = 5.0
    """For how long the meta-tools reuse a list whose server gave no hint: a model searches several times in a row."""

    watched_fresh: float = 10.0
    """The same where the server promised to tell of changes. Not for ever: a promise is kept on a stream that may have
    been refused or lost without anybody saying so."""

    page_size: int = 1000
    """Entries of our own pages. Large, because there are clients that never ask for a second one."""

    max_pages: int = 100
    max_list_bytes: int = 32 * 1024 * 1024
    max_shelves: int = 20_000
    """Lists remembered over all scopes; the oldest go first."""

    max_listeners: int = 1_024
    """Standing wishes of one scope. Many, because all modern clients of a principal are one; as the front's
    `max_listens`."""

    max_uris: int = 1000
    """Resources that one wish may name."""

    close_grace: float = 6.0
    """How long removing a server waits for its connections to close; each has 5 s of its own."""
