"""What carries whole messages to one server and back.

The one rule: a transport knows bytes, framing and its own addresses, never what a message means; it hands each inbound
message over with the stream it came on (rule R1), because that is what makes correlation exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from emceepee.errors import BackendFault
from emceepee.protocol.messages import Message, RequestId

Header: TypeAlias = tuple[str, str]


class Origin(msgspec.Struct, frozen=True):
    """Which stream a message arrived on: the POST of a request, its resumption, the standalone GET, or one pipe."""

    kind: Literal["post", "resume", "get", "pipe"]
    request: RequestId | None = None


PIPE = Origin("pipe")
GET = Origin("get")


class Inbox(Protocol):
    """Who receives. Called from the event loop, returns at once, never raises."""

    def message(self, message: Message, origin: Origin) -> None: ...

    def rubbish(self, detail: str, origin: Origin) -> None:
        """Something arrived that is no message; said once for each, the channel stays open."""
        ...

    def failed(self, request: RequestId, fault: BackendFault) -> None:
        """What `begin` began came to nothing: no answer will come of it. Of a request that was answered or given up
        before, it means nothing."""
        ...

    def lost(self, fault: BackendFault) -> None:
        """The whole channel is gone, once; nothing follows. Not called for a `close()` of ours."""
        ...


class HttpRefusal(BackendFault):
    """An HTTP answer that is no JSON-RPC message: what the era probe and the session logic have to look at."""

    reason = "backend_violation"

    def __init__(self, server: str, status: int, detail: str, body: bytes = b"") -> None:
        super().__init__(server, f"answered HTTP {status}{': ' + detail if detail else ''}")
        self.status = status
        self.body = body


class Sending(Protocol):
    """A request on its way, and the stream that its answer may come on."""

    def abandon(self) -> None:
        """Nobody waits for it any more. Harmless after its end."""
        ...


class _Sent:
    def abandon(self) -> None: ...


SENT: Sending = _Sent()
"""Of a pipe: once it is written there is nothing left to be given up."""


class Transport(Protocol):
    @property
    def children(self) -> tuple[int, ...]:
        """Processes of ours at the other end."""
        ...

    @property
    def session(self) -> str | None:
        """What tells one session with the server from the next, where the transport knows of any."""
        ...

    async def start(self, inbox: Inbox) -> None:
        """Open what must be open before the first message: spawn the child, open the old SSE stream; nothing for HTTP.
        Raises `BackendUnavailable`."""
        ...

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> Sending | None:
        """Write a request now. The inbox hears its answer, or that it `failed`, perhaps before this returns. None where
        it would have to wait: then nothing was written, and `send` is for that. Raises as `send` does."""
        ...

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        """Write one message whole. For a request over HTTP this returns when the request's own stream has ended or its
        response has been handed over, whichever is first; over a pipe, when it is written. Raises `BackendFault`:
        `BackendUnavailable` when nothing can have reached the server, `OutcomeUnknown` when it may have.
        Cancelling it abandons the stream."""
        ...

    async def close(self) -> None:
        """Idempotent, bounded, leaves nothing behind."""
        ...
