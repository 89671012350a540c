"""HTTP served for real: sockets, and the way down.

The front itself is in `front/http.py`, the wire in `front/http_wire.py`. The one rule: a port that
cannot be had is said before anything else is started, and going down is bounded: listeners told, calls given a grace,
then out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

from emceepee.errors import OperatorFault
from emceepee.front.http import HttpFront
from emceepee.front.http_wire import Connections, HttpConnection
from emceepee.front.settings import FrontSettings
from emceepee.runtime.clock import Timer
from emceepee.runtime.spawn import TaskScope

_log = logging.getLogger("emceepee.front")

_BACKLOG = 2048
_SWEEP_SECONDS = 1.0
"""How exactly a connection's deadline is kept; they are tens of seconds."""
_LAST_WORDS_SECONDS = 2.0


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


class HttpServer:
    """One front on its sockets. `serve` returns when `stop` was called and no exchange runs
    any more; the front is closed by whoever made it, with what is behind it."""

    def __init__(self, front: HttpFront, listening: Listening, settings: FrontSettings) -> None:
        self._front = front
        self._listening = listening
        self._settings = settings
        self._clock = front.shop.clock
        self._stopping = asyncio.Event()
        self._tasks = TaskScope("http")
        self._connections = Connections(front.serve, settings, self._clock, self._tasks, front.begin)
        self._sweeping: Timer | None = None
        self._returning: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """Of clients, busy or not."""
        return len(self._connections)

    async def serve(self, ready: Callable[[], None] | None = None) -> None:
        connections = self._connections
        accepting = await asyncio.get_running_loop().create_server(
            lambda: HttpConnection(connections), sock=self._listening.socket, backlog=_BACKLOG
        )
        try:
            self._front.start()
            self._sweep()
            if ready is not None:
                ready()
            await self._stopping.wait()
            await self._let_clients_return()
            accepting.close()
            await self._go_down()
        finally:
            accepting.close()
            if self._sweeping is not None:
                self._sweeping.cancel()
            connections.abort()
            await self._tasks.close()

    def _sweep(self) -> None:
        self._connections.sweep()
        self._sweeping = self._clock.after(_SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        """Once: go down in good order. Twice: at once."""
        if self._stopping.is_set():
            if self._returning is not None:
                self._returning.cancel()
            self._connections.cut_off()
        self._stopping.set()

    async def _let_clients_return(self) -> None:
        """Who was sent away with a question may still bring the answer: nobody else could."""
        shop = self._front.shop
        shop.leaving = True
        self._returning = self._tasks.spawn(shop.returned(self._settings.drain), "clients return")
        await asyncio.wait((self._returning,))

    async def _go_down(self) -> None:
        """No new work, a grace for the calls that run, and a word for those that outlive it."""
        connections = self._connections
        _log.info("draining", extra={"data": {"calls": self._front.modern.calls}})
        self._front.drain()
        connections.drain()
        try:
            async with asyncio.timeout(self._settings.drain):
                await connections.none_serving()
        except TimeoutError:
            connections.cut_off()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_SECONDS):
                    await connections.none_serving()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one; nothing depends on it."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
