"""HTTP served for real: sockets, uvicorn, and the way down.

The front itself is in `front/http.py`; this is the only file that knows what serves it. The one rule: a port that
cannot be had is said before anything else is started, and going down is bounded: listeners told, calls given a grace,
then out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emceepee.errors import OperatorFault
from emceepee.front.http import HttpFront
from emceepee.front.settings import FrontSettings
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.front")

_BACKLOG = 2048


@dataclass(slots=True, frozen=True)
class Listening:
    """A bound socket, and how to reach it."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def bind(host: str, port: int) -> Listening:
    """Take the port now; 0 takes any. Raises `OperatorFault` that says how to go on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise OperatorFault(f"Cannot listen on '{host}': {error.strerror}; give an address of this machine") from None
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Claimed for good only now: two sockets may bind to one port, but not both listen.
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        cure = "give another one with --port, or stop what uses it" if port else "give an address of this machine"
        raise OperatorFault(f"Cannot listen on {host} port {port}: {error.strerror}; {cure}") from None
    return Listening(listener, host, listener.getsockname()[1])


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers: going down is ours to order."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(HttpToolsProtocol):
    """uvicorn's own, with three bounds that it lacks: how long a client may take to send a request, how long its head
    may be, and how long it may leave an answer unread. The first stops a slow loris, the second a flood into memory,
    the third a client that never reads. A timer is armed only for a request that did not come in one piece, and for
    bytes that do not leave."""

    request_timeout = 30.0
    stalled_after = 60.0
    max_head = 64 * 1024
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _state: Literal["head", "body", "whole"] = "head"
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting = self.loop.call_later(self.request_timeout, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        self._read_again()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._state == "whole":
            return
        if self._state == "head":
            self._head_bytes += len(data)
        if self._head_bytes > self.max_head:
            self._give_up()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.request_timeout, self._give_up)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._state = "head"

    def on_headers_complete(self) -> None:
        self._state = "body"
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._state = "whole"
        if self._waiting is not None:
            self._in_time()
        super().on_message_complete()

    def _in_time(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._in_time()
        if not self.transport.is_closing():
            self.transport.close()
        self._abort_if_unread()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_if_unread()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._abort_if_unread()

    def resume_writing(self) -> None:
        self._read_again()
        super().resume_writing()

    def _abort_if_unread(self) -> None:
        """Closing alone waits for what is still to be sent; a client that does not read makes that last for ever."""
        if self._unread is None:
            self._unread = self.loop.call_later(self.stalled_after, self._abort)

    def _read_again(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _abort(self) -> None:
        _log.warning("client_does_not_read", extra={"data": {"unsent": self.transport.get_write_buffer_size()}})
        self.transport.abort()


def _bounds(settings: FrontSettings) -> dict[str, float]:
    return {"request_timeout": settings.request_timeout, "stalled_after": settings.stalled_after}


def configured(front: HttpFront, settings: FrontSettings) -> uvicorn.Config:
    """uvicorn as we need it: nothing on the way that we do not use, and its log lines through our own handlers."""
    return uvicorn.Config(
        front,
        http=type("Protocol", (_Protocol,), _bounds(settings)),
        ws="none",
        lifespan="off",
        interface="asgi3",
        loop="none",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=round(settings.idle_connection),
        timeout_graceful_shutdown=max(1, round(settings.drain)),
        backlog=_BACKLOG,
    )


class HttpServer:
    """One front on its sockets. `serve` returns when `stop` was called and all has ended."""

    def __init__(self, front: HttpFront, listening: Listening, settings: FrontSettings) -> None:
        self._front = front
        self._listening = listening
        self._settings = settings
        self._server = _Uvicorn(configured(front, settings))
        self._stopping = asyncio.Event()
        self._tasks = TaskScope("http")

    @property
    def connections(self) -> int:
        """Of clients, busy or not."""
        return len(self._server.server_state.connections)

    async def serve(self, ready: Callable[[], None] | None = None) -> None:
        serving = self._tasks.spawn(self._server.serve([self._listening.socket]), "uvicorn")
        stopping = self._tasks.spawn(self._stopping.wait(), "stop")
        try:
            self._front.start()
            if ready is not None:
                ready()
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            await self._go_down(serving)
        finally:
            await self._tasks.close()
            await self._front.close()

    def stop(self) -> None:
        """Once: go down in good order. Twice: at once."""
        if self._stopping.is_set():
            self._server.force_exit = True
            for task in list(self._server.server_state.tasks):
                task.cancel()
        self._stopping.set()

    async def _go_down(self, serving: asyncio.Task[Any]) -> None:
        self._server.should_exit = True
        self._front.drain()
        _log.info("draining", extra={"data": {"calls": self._front.modern.calls}})
        # uvicorn waits for its own grace; this is for the case that it does not.
        await asyncio.wait((serving,), timeout=self._settings.drain + 5.0)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one; nothing depends on it."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
