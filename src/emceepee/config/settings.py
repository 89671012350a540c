"""Every setting of the gateway itself, with its default: one frozen tree, given as values to the parts that need them.

It holds no server (that is `backends.definition`) and reads nothing: files become settings in `gateway_settings`,
command-line options in `cli`.

The one rule: a wait and a bound each have exactly one name, here, and error messages use that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warn", "error"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]


@dataclass(slots=True, frozen=True)
class Timeouts:
    """Seconds. Each is a separate promise (X-CON-01): raising one never raises another."""

    execute: float = 120.0
    """`execute_tool` before it answers without its result."""
    connect: float = 10.0
    """One attempt to reach a server, from nothing to a known era."""
    relay_call: float = 600.0
    """A request through `/servers/{name}/mcp` and `/direct/mcp`."""
    listing: float = 2.0
    """How long a listing or an `initialize` waits for slow servers before it goes on without them."""
    session_idle: float = 1800.0
    """A legacy session that nobody has used for so long is closed."""
    session_sweep: float = 300.0
    """How often idle sessions are looked for."""
    keep_alive: float = 15.0
    """Between comments on an SSE stream that has nothing to say."""
    shutdown: float = 10.0
    """For calls that run when we are told to stop."""


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds. Reaching one is an error that names it."""

    max_body: int = 4 * 1024 * 1024
    """Bytes of one message of a client."""
    max_message: int = 64 * 1024 * 1024
    """Bytes of one message of a server: results are larger than requests."""
    max_depth: int = 64
    """Nesting of one message."""
    max_sessions: int = 10_000
    max_servers: int = 200
    max_streams: int = 20_000
    """Open SSE streams of all clients together."""
    max_connections: int = 10_000
    """Connections to servers, of all scopes together."""
    max_calls_per_session: int = 1000
    """Calls of one scope that run at the same time."""


@dataclass(slots=True, frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8080
    allowed_origins: tuple[str, ...] = ()
    """Web origins that may call besides our own; `*` is not among the things that can be said."""
    allowed_hosts: tuple[str, ...] = ()
    """Host headers that are ours besides the address we listen on, for use behind a proxy."""
    insecure_no_auth: bool = False
    log_level: Level = "info"
    log_format: LogFormat = "auto"
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: Limits = field(default_factory=Limits)


DEFAULTS = Settings()
