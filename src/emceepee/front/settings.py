"""The bounds and addresses of the front, frozen; the configuration fills it. Times in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class FrontSettings:
    allowed_hosts: frozenset[str] = frozenset()
    """Names, besides the loopback ones, that a Host header may carry; `*` allows all (behind a proxy that checks)."""
    allowed_origins: frozenset[str] = frozenset()
    """Origins, besides those of loopback pages, that a browser may call from: `https://host[:port]`; `*` allows all."""
    max_body: int = 4 * 1024 * 1024
    max_depth: int = 64
    body_timeout: float = 30.0
    """A client that trickles its body (slow loris) is told so after this."""
    request_timeout: float = 45.0
    """And this is for one whose request never becomes whole: it is hung up on."""
    keep_alive: float = 15.0
    """Silence after which a waiting answer becomes an event stream and says so; what proxies and clients expect."""
    watch_after: float = 0.1
    """Only a call that still waits then is worth a task that watches for the client going away."""
    stalled_after: float = 60.0
    """How long a client may leave its last bytes unread before it is given up."""
    doubt_after: float = 5.0
    """How long an answer that something depends on may stay unread on a connection that lives, until it counts as
    read."""
    max_calls: int = 4_096
    """Modern requests at once in this process; legacy ones are bounded per session."""
    max_listens: int = 1_024
    max_batch: int = 64
    retry_ms: int = 1_000
    """What a legacy client is asked to wait before it comes back for a stream it lost."""
    kept_for: float = 300.0
    """How long the stream of an answered request can be had again; as long as a finished task."""
    max_kept_messages: int = 512
    """Of one stream; of one session there are at most so many streams and bytes, and in the process so many bytes."""
    max_kept_streams: int = 64
    max_kept_bytes: int = 8 * 1024 * 1024
    max_kept_total: int = 64 * 1024 * 1024
    after_eof: float = 0.5
    """How long calls may still answer after a client on pipes closed its end; most clients kill us after 2 s."""
    max_connections: int = 16_384
    idle_connection: float = 75.0
    drain: float = 10.0
    """How long a shutdown waits for calls to end."""
