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

    interaction: Literal["auto", "native", "meta"] = "auto"
    """How clients are asked what servers want to know: themselves where they can be and else by our tools, only
    themselves, or only by our tools."""

    promote_on_ask: bool = True
    """Whether a call goes on as a task as soon as its server asks something, so that a client which calls one tool at a
    time can answer."""

    max_await_ms: int = 50_000
    """How long `await_activity` waits at most: common clients give a call up after 60 s."""

    sample_timeout: float = 60.0
    """A question of our own to a model."""

    listing_budget: float = 2.0
    """How long a question to all servers waits for the slow ones; they go on in the background."""

    slow_budget: float = 0.25
    """The same for those that an earlier question of this scope has waited for in vain."""

    list_timeout: float = 30.0
    """One page of one server's list."""

    stale_grace: float = 86_400.0
    """How long the lists of a server that is away are still shown, with their age."""

    removal_grace: float = 3.0
    """A server that has just come back and lists nothing where it listed something may still be looking for its things:
    so long it is shown what was there, as old, and then it is believed."""

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

    # -- calls that wait for a client who was sent away

    ask_in_tasks: bool = True
    """Whether a client that knows tasks is asked in one rather than sent away."""

    roots_bridge: bool = False
    """Whether servers of former revisions may ask modern clients for their roots. Many do so at once when they are
    connected to, and then the first call of each client has to be made twice."""

    coalesce: float = 0.03
    """Servers that ask several things at once do so within this time; the client is told of all of them together."""

    hold_ttl: float = 600.0
    """How long a person may take to answer, from the client's last sign of life."""

    hold_ttl_unrefusable: float = 120.0
    """The same where all that is asked cannot be declined in words: whoever will not do it just never comes back."""

    hold_cap: float = 3600.0
    """How long a held call lives at most, answers or not: it keeps a stream or a place at its server."""

    reattach_grace: float = 15.0
    """For a client whose connection broke in a later round: one try of it to come back."""

    tombstone: float = 120.0
    """How long an answer can be had again by whoever lost it."""

    expiry_grace: float = 5.0
    """A server that was told that nobody answers may still end its call by itself."""

    heartbeat: float = 15.0
    """How often a server that asked for progress hears that we still wait."""

    max_holds: int = 4_096
    max_holds_each: int = 32
    """Of one caller; then the one that waits longest gives way."""

    max_asks_per_call: int = 32
    """Open ones."""

    hold_log_lines: int = 100
    """Of a held call, while nobody listens."""

    max_remembered_bytes: int = 32 * 1024 * 1024
    """Of answers that can be had again."""

    relayed_state_ttl: float = 86_400.0
    """For the state of a modern server, which has a limit of its own."""

    max_carried_state: int = 6_144
    """Bytes of such a state that a client carries; a larger one is kept here."""

    kept_state_ttl: float = 3600.0
    max_kept_states: int = 256
    visit_wait: float = 120.0
    """How long a server is waited for that says when an address was visited; then the client is asked again."""
