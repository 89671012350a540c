"""A Streamable HTTP transport with all that it needs, nothing left of it afterwards, and messages to send with it."""

from __future__ import annotations

from emceepee.backends.http_client import HttpClient
from emceepee.backends.http_endpoint import HttpSettings
from emceepee.backends.streamable_http import HttpTransport
from emceepee.backends.transport import Origin
from emceepee.runtime.backoff import Backoff
from tests.support.fake_clock import FakeClock
from tests.support.inbox import RecordingInbox

CALL = b'{"jsonrpc":"2.0","id":"g1","method":"tools/call"}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
TOLD = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"gr\xc3\xbc\xc3\x9fe"}}'
ASK = b'{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}'
DONE = b'{"jsonrpc":"2.0","id":"g1","result":{"text":"gr\xc3\xbc\xc3\x9fe"}}'


class Stage:
    """Make transports with `to`; `close` asserts that no task, timer or socket is left."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.client = HttpClient(self.clock, {})
        self.inbox = RecordingInbox()
        self.transports: list[HttpTransport] = []

    async def to(self, url: str, **settings: float) -> HttpTransport:
        transport = HttpTransport(
            "files",
            url,
            [("X-Key", "k")],
            self.client,
            self.clock,
            HttpSettings(**settings),  # type: ignore[arg-type]
            lambda first, most: Backoff(first, most, lambda: 1.0),
        )
        self.transports.append(transport)
        await transport.start(self.inbox)
        return transport

    async def close(self) -> None:
        for transport in self.transports:
            await transport.close()
            assert len(transport._scope) == 0
        await self.client.close()
        assert self.client.connections == 0
        assert self.clock.waiting == 0

    @property
    def kinds(self) -> list[type]:
        return [type(message) for message, _ in self.inbox.messages]

    @property
    def origins(self) -> list[Origin]:
        return [origin for _, origin in self.inbox.messages]


def event(data: bytes, id: str | None = None) -> bytes:
    """One event, as a server writes it."""
    return (f"id: {id}\n".encode() if id is not None else b"") + b"data: " + data + b"\n\n"
