"""Every setting that a person can give, with its default: one frozen tree, and from it what each part wants to know.

It holds no server (that is `backends.definition`) and reads nothing: files become settings in `gateway_settings`,
command-line options in `cli`. A part's own settings may hold more than can be given here; its default is ours.

The one rule: a wait and a bound each have exactly one name, here, and a part never sees this tree.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from emceepee.front.settings import FrontSettings
from emceepee.relay.settings import Profile, RelaySettings
from emceepee.sampling.settings import SamplingOptions
from emceepee.sessions.settings import SessionSettings
from emceepee.state.settings import AskSettings, BufferSettings, EventSettings, StateSettings, TaskSettings
from emceepee.vocabulary.names import ANON, LOCAL

Level: TypeAlias = Literal["debug", "info", "warn", "error"]
Keeping: TypeAlias = Literal["auto", "on", "off"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]

_FRONT = FrontSettings()
_RELAY = RelaySettings()
_SESSIONS = SessionSettings()
_STATE = StateSettings()


@dataclass(slots=True, frozen=True)
class Timeouts:
    """Seconds. Each is a separate promise (X-CON-01): raising one never raises another."""

    execute: float = _RELAY.execute_timeout_ms / 1000
    """`execute_tool` before it answers without its result."""
    connect: float = 10.0
    """One attempt to reach a server, from nothing to a known era."""
    relay_call: float = _RELAY.call_timeout
    """A request through `/servers/{name}/mcp` and `/direct/mcp`."""
    listing: float = _RELAY.listing_budget
    """How long a listing or an `initialize` waits for slow servers before it goes on without them."""
    stale: float = _RELAY.stale_grace
    """How long what a server that is away has listed is still shown."""
    session_idle: float = _SESSIONS.idle_limit
    """A legacy session that nobody has used for so long is closed."""
    workspace_idle: float = _SESSIONS.workspace_idle
    """A workspace with a name of its own that nobody has used for so long is ended."""
    anon_workspace_idle: float = _SESSIONS.anon_workspace_idle
    """The same where nobody is known."""
    session_sweep: float = _SESSIONS.sweep_every
    """How often idle sessions are looked for."""
    ask: float = _STATE.asks.default_timeout_ms / 1000
    """A question of a server to the client."""
    hold: float = _RELAY.hold_ttl
    """A question of a server to a modern client, which is sent away with it, until the client comes back."""
    task: float = _STATE.tasks.default_ttl_ms / 1000
    """A call that goes on as a task."""
    task_kept: float = _STATE.tasks.retention_ms / 1000
    """The result of a task."""
    keep_alive: float = _FRONT.keep_alive
    """Silence after which a waiting answer becomes a stream and says that it is alive."""
    shutdown: float = _FRONT.drain
    """For calls that run when we are told to stop."""


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds. Reaching one is an error that names it."""

    max_body: int = _FRONT.max_body
    """Bytes of one message of a client."""
    max_depth: int = _FRONT.max_depth
    """Nesting of one message."""
    max_sessions: int = _SESSIONS.max_sessions
    max_servers: int = 200
    max_children: int = 256
    """Programs of stdio servers that live at the same time, over all sessions."""
    max_listens: int = _FRONT.max_listens
    """Subscription streams of all modern clients together."""
    max_calls: int = _FRONT.max_calls
    """Modern requests at the same time, of all clients together."""
    max_calls_per_session: int = _SESSIONS.max_in_flight
    """Calls of one legacy session at the same time."""
    max_events: int = _STATE.events.max_events
    """Events that one workspace keeps."""
    max_total_events: int = _STATE.max_total_events
    max_notifications: int = _STATE.buffers.max_notifications
    """Notifications kept of one server, in one workspace."""
    max_logs: int = _STATE.buffers.max_logs
    max_holds: int = _RELAY.max_holds
    """Calls that wait for a modern client who was sent away with a question."""
    max_holds_each: int = _RELAY.max_holds_each
    """The same of one caller."""
    max_connections: int = _FRONT.max_connections
    """Connections of clients."""


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_wildcard(host: str) -> bool:
    """Whether listening there means listening on every address of the machine."""
    address = _address(host)
    return not host if address is None else address.is_unspecified


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


@dataclass(slots=True, frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8080
    allowed_origins: tuple[str, ...] = tuple(sorted(_FRONT.allowed_origins))
    """Web origins that may call, besides pages of this machine."""
    allowed_hosts: tuple[str, ...] = tuple(sorted(_FRONT.allowed_hosts))
    """Host headers that are ours, besides those of this machine, for use behind a proxy."""
    insecure_no_auth: bool = False
    """Whoever reaches the port may use every server: only for networks where that is meant."""
    tenant: Literal["auto", "local", "anon"] = "auto"
    """Who clients without authentication are: one person (`local`), or strangers to each other (`anon`), who have to
    open a workspace for what is kept; `auto`: one person where only this machine can reach us."""
    profile: Profile = _RELAY.profile
    """Which meta-tools are offered."""
    auto_connect: bool = True
    """A new workspace connects to every server at once, in the background; otherwise each when it is first used."""
    watch_config: bool = True
    """Whether the configuration is read again when its file changes; a SIGHUP does that in any case."""
    log_level: Level = "info"
    log_format: LogFormat = "auto"
    ask_in_tasks: bool = _RELAY.ask_in_tasks
    """Whether a client that knows tasks is asked in one; else as any other, by being sent away and coming back."""
    roots_bridge: bool = _RELAY.roots_bridge
    """Whether servers of former revisions may ask modern clients for their roots."""
    state_keys: tuple[str, ...] = field(default=(), repr=False)
    """What closes the states that clients carry for us: the first closes, all open. Without any, one is made at random,
    and no state outlives the process."""
    state: Keeping = "auto"
    """Whether servers that were added and tasks outlive the process; `auto`: over HTTP they do, on stdio not."""
    state_file: str = ""
    """Where they are kept, if not in the user's state folder."""
    interaction: Literal["auto", "native", "meta"] = _RELAY.interaction
    """How clients are asked what servers want to know."""
    promote_on_ask: bool = _RELAY.promote_on_ask
    """Whether `execute_tool` answers at once when its server asks something, and the call goes on as a task."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: Limits = field(default_factory=Limits)
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    """Models that answer servers, and under which rules."""

    @property
    def everybody(self) -> str:
        """The principal of every client."""
        if self.tenant == "auto":
            return LOCAL if is_loopback(self.host) else ANON
        return LOCAL if self.tenant == "local" else ANON

    def exposure_problem(self) -> str | None:
        """Why listening like this is refused, with what to do; None when only this machine can reach us."""
        if self.insecure_no_auth or is_loopback(self.host):
            return None
        return (
            f"listening on {self.host or 'every address'} would let everybody on the network use your servers, because "
            "there is no authentication yet. Listen on 127.0.0.1 and put a proxy that authenticates in front, or say "
            "--insecure-no-auth where that is meant"
        )

    def _own_name(self) -> tuple[str, ...]:
        """What clients call us by when we listen on one address of this machine."""
        if is_wildcard(self.host):
            return ()
        bare = self.host.strip("[]")
        return (f"[{bare}]" if ":" in bare else bare,)

    def for_front(self) -> FrontSettings:
        return FrontSettings(
            allowed_hosts=frozenset(map(str.lower, (*self.allowed_hosts, *self._own_name()))),
            allowed_origins=frozenset(map(str.lower, self.allowed_origins)),
            max_body=self.limits.max_body,
            max_depth=self.limits.max_depth,
            keep_alive=self.timeouts.keep_alive,
            max_calls=self.limits.max_calls,
            max_listens=self.limits.max_listens,
            max_connections=self.limits.max_connections,
            drain=self.timeouts.shutdown,
        )

    def for_relay(self) -> RelaySettings:
        return RelaySettings(
            profile=self.profile,
            call_timeout=self.timeouts.relay_call,
            execute_timeout_ms=round(self.timeouts.execute * 1000),
            listing_budget=self.timeouts.listing,
            interaction=self.interaction,
            stale_grace=self.timeouts.stale,
            promote_on_ask=self.promote_on_ask,
            ask_in_tasks=self.ask_in_tasks,
            roots_bridge=self.roots_bridge,
            hold_ttl=self.timeouts.hold,
            hold_ttl_unrefusable=min(_RELAY.hold_ttl_unrefusable, self.timeouts.hold),
            hold_cap=max(_RELAY.hold_cap, self.timeouts.hold),
            max_holds=self.limits.max_holds,
            max_holds_each=self.limits.max_holds_each,
        )

    def for_state(self) -> StateSettings:
        times, limits = self.timeouts, self.limits
        return StateSettings(
            events=EventSettings(max_events=limits.max_events),
            tasks=TaskSettings(
                default_ttl_ms=round(times.task * 1000),
                max_ttl_ms=max(_STATE.tasks.max_ttl_ms, round(times.task * 1000)),
                retention_ms=round(times.task_kept * 1000),
                asked_ms=round(times.ask * 1000),
                max_retention_ms=max(_STATE.tasks.max_retention_ms, round(times.task_kept * 1000)),
            ),
            asks=AskSettings(default_timeout_ms=round(times.ask * 1000)),
            buffers=BufferSettings(max_notifications=limits.max_notifications, max_logs=limits.max_logs),
            max_total_events=limits.max_total_events,
        )

    def for_sessions(self) -> SessionSettings:
        return SessionSettings(
            max_sessions=self.limits.max_sessions,
            idle_limit=self.timeouts.session_idle,
            workspace_idle=self.timeouts.workspace_idle,
            anon_workspace_idle=self.timeouts.anon_workspace_idle,
            sweep_every=self.timeouts.session_sweep,
            max_in_flight=self.limits.max_calls_per_session,
        )


DEFAULTS = Settings()
