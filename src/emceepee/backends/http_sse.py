"""The old HTTP+SSE transport (2024-11-05): one stream for everything that comes, POSTs for everything that goes.

For correlation it is a pipe: nothing tells to which request a message belongs but its ids. The stream cannot be
resumed; when it ends, the session has ended.

The one rule: messages are posted to the address that the stream named, and only if that is on the stream's own origin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from emceepee.backends.http_answers import early_refusal, fault_of, refusal
from emceepee.backends.http_client import HttpClient, HttpRequest
from emceepee.backends.http_endpoint import Endpoint, HttpSettings
from emceepee.backends.http_streams import Ending, EventIntake, EventStream
from emceepee.backends.transport import PIPE, Header, Inbox
from emceepee.errors import BackendFault, BackendUnavailable, BackendViolation, OutcomeUnknown
from emceepee.framing.json_text import Limits
from emceepee.framing.sse import SseEvent
from emceepee.protocol.messages import RequestId
from emceepee.runtime.clock import Clock
from emceepee.vocabulary.names import ServerName


class SseTransport:
    """Implements `transport.Transport`."""

    def __init__(
        self,
        server: ServerName,
        url: str,
        headers: Sequence[Header],
        client: HttpClient,
        clock: Clock,
        settings: HttpSettings | None = None,
    ) -> None:
        self.server = server
        self._settings = settings or HttpSettings()
        self._client = client
        self._clock = clock
        self._endpoint = Endpoint(server, url, headers, client, self._settings)
        self._inbox: Inbox | None = None
        self._stream: EventStream | None = None
        self._named: asyncio.Future[str] | None = None
        self._sending: set[EventStream] = set()
        self._closed = False

    @property
    def children(self) -> tuple[int, ...]:
        return ()

    @property
    def session(self) -> str | None:
        """The address for our messages is another one for each stream."""
        if self._named is None or not self._named.done() or self._named.cancelled() or self._named.exception():
            return None
        return self._named.result()

    # -- the stream

    async def start(self, inbox: Inbox) -> None:
        """Open the stream and wait for the address. Raises `BackendUnavailable`, `HttpRefusal`, `CredentialsRefused`,
        or `BackendViolation` for an address that leads elsewhere."""
        self._inbox = inbox
        self._named = asyncio.get_running_loop().create_future()
        intake = EventIntake(inbox, PIPE, self._endpoint.event_limits, self._hook)
        self._stream = EventStream(intake)
        self._stream.ended.add_done_callback(self._ended)
        timer = self._clock.after(self._settings.connect_seconds, self._late)
        self._stream.exchange = self._client.start(self._endpoint.get(), self._stream)
        try:
            await self._named
        except BaseException:
            self._closed = True
            self._stream.abandon()
            raise
        finally:
            timer.cancel()

    def _hook(self, event: SseEvent) -> bool:
        if event.event != "endpoint" or self._named is None:
            return False
        if not self._named.done():
            target = self._endpoint.within(event.data.decode("utf-8", "replace"))
            if target is None:
                self._fail(BackendViolation(self.server, "it names an address on another origin for our messages"))
            else:
                self._named.set_result(target)
        return True

    def _late(self) -> None:
        seconds = self._settings.connect_seconds
        self._fail(BackendUnavailable(self.server, f"its event stream named no address within {seconds:g} s"))

    def _fail(self, fault: BackendFault) -> None:
        if self._named is not None and not self._named.done():
            self._named.set_exception(fault)

    def _ended(self, ended: asyncio.Future[Ending]) -> None:
        if self._closed or self._named is None:
            return
        ending = ended.result()
        if not self._named.done():
            self._fail(self._never_opened(ending))
            return
        self._closed = True
        if self._inbox is not None:
            self._inbox.lost(BackendUnavailable(self.server, "its event stream ended"))

    def _never_opened(self, ending: Ending) -> BackendFault:
        if ending.how == "refused":
            return self._refusal(ending, had_session=False, is_request=False)
        if ending.fault is not None:
            return fault_of(self.server, ending.fault, is_request=False)
        return BackendUnavailable(self.server, "its event stream ended before it named an address for messages")

    def _refusal(self, ending: Ending, had_session: bool, is_request: bool) -> BackendFault:
        headers = ending.headers or {}
        body = self._endpoint.secrets.hide_in(ending.body)
        early = early_refusal(self.server, ending.status, headers, body, had_session)
        return early or refusal(self.server, ending.status, headers, body, is_request)

    # -- sending

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> None:
        """Whether the server took it is known only after a while."""
        return

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        """Returns when the server has taken the message; the answer comes on the stream."""
        if self._closed or self._named is None or not self._named.done() or self._inbox is None:
            raise BackendUnavailable(self.server, "the event stream is not open")
        http = self._endpoint.post(message, headers, urgent=True, target=self._named.result())
        ending = await self._taken(http, self._inbox)
        if ending.fault is not None:
            raise fault_of(self.server, ending.fault, request is not None)
        if ending.status == 0:
            raise OutcomeUnknown(self.server, "the connection was closed")
        if not 200 <= ending.status < 300:
            raise self._refusal(ending, had_session=True, is_request=request is not None)

    async def _taken(self, http: HttpRequest, inbox: Inbox) -> Ending:
        answer = EventStream(EventIntake(inbox, PIPE, Limits()))
        self._sending.add(answer)
        answer.exchange = self._client.start(http, answer)
        try:
            return await answer.ended
        finally:
            self._sending.discard(answer)
            if answer.ended.cancelled():
                answer.abandon()

    async def close(self) -> None:
        self._closed = True
        self._fail(BackendUnavailable(self.server, "the connection was closed"))
        for answer in list(self._sending):
            answer.abandon()
        if self._stream is not None:
            self._stream.abandon()
