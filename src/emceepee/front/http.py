"""The HTTP front: one exchange from its head to the desk that answers it.

The order is fixed: who may speak (guards), where to (path), how (method, types, size), what (JSON), in which era, and
only then the desk. Nothing here knows ASGI but `__call__`. The one rule: every exchange is answered exactly once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, MutableMapping
from typing import Any, Final, TypeAlias

from emceepee.eras.choose import choose_http
from emceepee.eras.refusal import Refusal
from emceepee.eras.revisions import LEGACY
from emceepee.framing.json_text import Limits, Unreadable, read_messages
from emceepee.front import answers
from emceepee.front.at_once import AtOnce, KnownPost
from emceepee.front.exchange import AsgiExchange, BodyTooLarge, ClientGone, Exchange, Receive, Send
from emceepee.front.guards import (
    Refused,
    check_accept,
    check_content_type,
    check_host,
    check_length,
    check_method,
    check_origin,
    too_large,
)
from emceepee.front.heads import Head
from emceepee.front.legacy import LegacyDesk
from emceepee.front.legacy_http import LegacyHttp
from emceepee.front.modern import ModernDesk
from emceepee.front.modern_http import ModernHttp
from emceepee.front.shop import Shop
from emceepee.protocol.messages import Message, Notification, Request
from emceepee.relay.surface import Surface
from emceepee.sessions.directory import Directory
from emceepee.vocabulary.names import LOCAL

_log = logging.getLogger("emceepee.front")

Surfaces: TypeAlias = Callable[[str], Surface | None]
"""The surface behind a path without a trailing slash, or None."""

PATHS: Final = ("/mcp", "/servers/{name}/mcp", "/direct/mcp", "/mcp/w/{workspace}", "/health")
_METHODS: Final = ("GET", "POST", "DELETE")
_MODERN_METHODS: Final = ("POST",)


def always(principal: str) -> Callable[[Exchange], str]:
    """Nobody authenticates: whoever reaches us is this principal."""
    return lambda exchange: principal


_LOCALLY = always(LOCAL)


class HttpFront:
    """An ASGI application. `drain` when going down, then let the exchanges end, then `close`."""

    def __init__(
        self,
        shop: Shop,
        directory: Directory,
        surfaces: Surfaces,
        identify: Callable[[Exchange], str] = _LOCALLY,
        health: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._shop = shop
        self._surfaces = surfaces
        self._identify = identify
        self._health = health
        self.legacy = LegacyDesk(shop, directory)
        self.modern = ModernDesk(shop)
        self._legacy_http = LegacyHttp(shop, self.legacy)
        self._modern_http = ModernHttp(shop, self.modern)
        self._at_once = AtOnce(shop, self.legacy, self.modern, surfaces, identify)
        self.begin = self._at_once.begin
        self._limits = Limits(max_bytes=shop.settings.max_body, max_depth=shop.settings.max_depth)

    @property
    def shop(self) -> Shop:
        return self._shop

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.serve(AsgiExchange(scope, receive, send))

    def start(self) -> None:
        """Begin what runs by itself: the sweep of idle sessions."""
        self.legacy.directory.watch_idle(self.legacy.clean)

    def drain(self) -> None:
        """No new work; listen streams end with their result. Calls that run go on."""
        self._shop.draining = True
        self.modern.end_listens()
        self.legacy.end_streams()

    async def close(self) -> None:
        """End all that is left."""
        self.drain()
        self._at_once.silent.close()
        await self.legacy.directory.close(self.legacy.clean)
        await self._shop.tasks.close()

    async def serve(self, exchange: Exchange) -> None:
        try:
            await self._serve(exchange)
        except ClientGone:
            return
        except asyncio.CancelledError:
            if not self._shop.draining:
                raise
            # Cut off at the end of the grace: whoever has not been answered anything yet is told.
            with contextlib.suppress(Exception):
                await answers.refuse(exchange, Refused(503, "Shutting down"))
        except Exception as error:  # noqa: BLE001 -- the last wall: a bug of the front itself
            _log.error("internal_error", exc_info=error, extra={"data": {"path": exchange.path[:100]}})
            await answers.refuse(exchange, Refused(500, "Internal error"))

    async def _serve(self, exchange: Exchange) -> None:
        known = exchange.memory.get("post")
        if known is not None and known.covers(exchange):
            # The same head as last time on this connection: what the guards say of it cannot have changed.
            surface = self._surfaces(known.path)
            if surface is not None and not self._shop.draining:
                await self._read_post(exchange, surface, known.path, known.head)
                return
        head = Head(exchange.headers)
        settings = self._shop.settings
        refused = (
            head.refused()
            or check_host(head.get(b"host"), settings.allowed_hosts)
            or check_origin(head.get(b"origin"), settings.allowed_origins)
        )
        if refused is not None:
            await answers.refuse(exchange, refused)
            return
        path = exchange.path.rstrip("/")
        surface = self._surfaces(path)
        if surface is None:
            await self._elsewhere(exchange, path)
        elif self._shop.draining:
            await answers.refuse(exchange, Refused(503, "Shutting down"))
        elif exchange.method == "POST":
            await self._post(exchange, surface, path, head)
        else:
            await self._other(exchange, surface, path, head)

    async def _elsewhere(self, exchange: Exchange, path: str) -> None:
        if path != "/health":
            told = {
                "error": "not_found",
                "message": f"Nothing is served at this path ({path[:100] or '/'})",
                "paths": PATHS,
            }
            await answers.plain(exchange, 404, told)
        elif self._shop.draining:
            await answers.plain(exchange, 503, {"status": "draining"})
        else:
            await answers.plain(exchange, 200, {"status": "ok", **self._health()})

    async def _other(self, exchange: Exchange, surface: Surface, path: str, head: Head) -> None:
        """GET and DELETE belong to legacy sessions; a client that names another revision has neither."""
        modern = any(version.strip() not in LEGACY for version in head.versions)
        refused = check_method(exchange.method, _MODERN_METHODS if modern else _METHODS)
        if refused is not None:
            await answers.refuse(exchange, refused)
            return
        principal = self._identify(exchange)
        if exchange.method == "GET":
            # What follows waits for the client to go away, and that is told only after the body.
            await exchange.read_body(self._limits.max_bytes, self._shop.settings.body_timeout)
            await self._legacy_http.get(exchange, surface, path, head, principal)
        else:
            await self._legacy_http.delete(exchange, path, head, principal)

    async def _post(self, exchange: Exchange, surface: Surface, path: str, head: Head) -> None:
        refused = (
            check_content_type(head.get(b"content-type"), head.get(b"content-encoding"))
            or check_accept(head.acceptable)
            or check_length(head.get(b"content-length"), self._limits.max_bytes)
        )
        if refused is not None:
            await answers.refuse(exchange, refused)
            return
        exchange.memory["post"] = KnownPost(exchange.path, path, head)
        await self._read_post(exchange, surface, path, head)

    async def _read_post(self, exchange: Exchange, surface: Surface, path: str, head: Head) -> None:
        try:
            body = await exchange.read_body(self._limits.max_bytes, self._shop.settings.body_timeout)
            message = read_messages(body, self._limits)
        except BodyTooLarge:
            await answers.refuse(exchange, too_large(self._limits.max_bytes))
        except TimeoutError:
            await answers.refuse(exchange, Refused(408, "The body did not arrive in time"))
        except Unreadable as problem:
            await answers.plain_error(exchange, 400, answers.unreadable(problem))
        else:
            await self._desk(exchange, surface, path, head, message)

    async def _desk(
        self, exchange: Exchange, surface: Surface, path: str, head: Head, message: Message | list[Message | Unreadable]
    ) -> None:
        era = choose_http(head.versions, message)
        principal = self._identify(exchange)
        if isinstance(era, Refusal):
            await answers.plain_error(exchange, *answers.refusal(era))
        elif era == "modern" and isinstance(message, Request | Notification):
            await self._modern_http.post(exchange, surface, head, message, principal)
        else:
            await self._legacy_http.post(exchange, surface, path, head, message, principal)
