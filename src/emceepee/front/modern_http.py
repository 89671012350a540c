"""Modern clients over HTTP: one POST, one answer, nothing remembered.

What a request means is the desk's (`front/modern.py`). The one rule: a client that goes away has cancelled, in both
forms of an answer, and is told nothing more.
"""

from __future__ import annotations

import asyncio

from emceepee.eras.modern import towards_client as modern
from emceepee.errors import LimitReached
from emceepee.front import answers
from emceepee.front.exchange import Exchange
from emceepee.front.guards import Refused, read_accept
from emceepee.front.heads import Head, mcp_headers
from emceepee.front.modern import LISTEN, Headers, ModernDesk
from emceepee.front.reply import Reply
from emceepee.front.shop import Shop
from emceepee.front.stream import EventStream
from emceepee.protocol.messages import Notification, Request
from emceepee.relay.surface import Surface
from emceepee.sessions.in_flight import Running, until_called_off


class ModernHttp:
    def __init__(self, shop: Shop, desk: ModernDesk) -> None:
        self._shop = shop
        self._desk = desk

    async def post(
        self, exchange: Exchange, surface: Surface, head: Head, message: Request | Notification, principal: str
    ) -> None:
        headers = mcp_headers(exchange.headers)
        refusal = modern.check(message, headers)
        if refusal is not None:
            status, body = answers.refusal(refusal)
            await answers.plain_error(exchange, status, body)
        elif isinstance(message, Notification):
            # None that a client may send over HTTP means anything; it is accepted all the same.
            await answers.empty(exchange, 202)
        elif message.method == LISTEN:
            await self._listen(exchange, surface, head, message, principal)
        else:
            await self._request(exchange, surface, head, message, headers, principal)

    async def _request(
        self,
        exchange: Exchange,
        surface: Surface,
        head: Head,
        request: Request,
        headers: Headers,
        principal: str,
    ) -> None:
        reply = Reply(exchange, self._shop, read_accept(head.get(b"accept")))
        running = Running(asyncio.current_task())
        reply.watch(running.call_off)
        promise = reply.deliveries.promise
        work = self._desk.answer(surface, request, principal, reply.notice, promise, headers)
        ended = await until_called_off(running, work)
        if ended is None:
            reply.drop()
        else:
            await reply.answer(*ended)

    async def _listen(self, exchange: Exchange, surface: Surface, head: Head, request: Request, principal: str) -> None:
        if not read_accept(head.get(b"accept")).events:
            await answers.refuse(exchange, Refused(406, "Accept must name text/event-stream"))
            return
        shop = self._shop
        stream = EventStream(exchange, shop.tasks, shop.clock, shop.settings, [])
        try:
            listening = self._desk.listening(request, stream)
        except LimitReached as limit:
            stream.client_left()
            await answers.plain_error(exchange, *answers.modern_error(request.id, limit, LISTEN))
            return
        try:
            refusal = await answers.modern_check(request, listening.begin(surface, principal))
            if refusal is not None:
                stream.client_left()
                await answers.plain_error(exchange, *refusal)
                return
            await exchange.gone()
        finally:
            stream.client_left()
            await self._desk.ended(listening)
