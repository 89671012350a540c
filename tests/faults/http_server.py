"""An HTTP MCP server that breaks on command: legacy, modern, or the old HTTP+SSE; in this process, or as a program.

    python http_server.py legacy|modern|sse PORT LEDGER     (port 0 for any; prints it)

Tools: `echo` (at once), `slow` (after `seconds`, says its `key`), `work` (never answers by itself), `ask` (elicits, and
answers with what it was answered). Each `tools/call` that is taken is written into the ledger by its `key`, so that a
call made twice shows. `break_` says how it goes wrong from now on, for what is open and what comes; `heal` ends that.
As a program it tells of a changed resource at SIGUSR2.

The one rule: it imports nothing of ours, and repairs nothing by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
URI = "file:///watched"
GIANT = 2**18
"""More than an answer may have where this is used."""
DRIP_SECONDS = 0.03

LONG = ("work", "ask")
EVENTS = "text/event-stream"
JSON = "application/json"


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> tuple[str, str, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split(" ", 2)
        lines = (line.partition(":") for line in head.split("\r\n")[1:])
        headers = {name.lower(): value.strip() for name, _, value in lines}
        return method, path, headers, await self.reader.readexactly(int(headers.get("content-length", 0)))

    def reply(self, status: int, body: bytes = b"", media: str = JSON, **headers: str) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {media}\r\n{more}content-length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)

    def open_stream(self, **headers: str) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {EVENTS}\r\n{more}transfer-encoding: chunked\r\n\r\n"
        self.writer.write(head.encode())

    def chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))

    def event(self, message: Json) -> None:
        self.chunk(b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n\n")

    def end_stream(self) -> None:
        self.writer.write(b"0\r\n\r\n")

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    async def drip(self) -> None:
        """A byte at a time, and never the last."""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\ncontent-length: 100000\r\n\r\n".encode()
        for byte in itertools.chain(head, itertools.repeat(0x20)):
            if self.reader.at_eof() or self.writer.is_closing():
                return
            self.writer.write(bytes((byte,)))
            await asyncio.sleep(DRIP_SECONDS)

    async def giant(self, before: bytes) -> None:
        self.chunk(before)
        for _ in range(GIANT >> 16):
            self.chunk(b"x" * 2**16)
            await self.writer.drain()


class Hangs(Exception):
    """Nothing more is said on this connection."""


class Over(Exception):
    """This connection ends here."""


class HttpServer:
    def __init__(
        self,
        kind: str,
        note: Callable[[str], None],
        port: int = 0,
        unnote: Callable[[str], None] = lambda key: None,
    ) -> None:
        self.kind = kind
        self.note = note
        self.unnote = unnote
        self.port = port
        self.tools = ["echo", "work", "ask"]
        self.version = "1"
        self.fault = ""
        self.page = False
        self.brief = False
        """Whether every tool answers at once."""
        self.sessions: set[str] = set()
        self.standing: dict[str, Wire] = {}
        """Where what comes unasked goes: by session, or by the id of a listening request."""
        self.subscribed: set[str] = set()
        self.answers: dict[str, asyncio.Future[Json]] = {}
        self.open: dict[asyncio.Task[Any], Wire] = {}
        self._numbers = itertools.count(1)
        self._server: asyncio.Server | None = None
        self._broken = asyncio.Event()

    # -- how it stands

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=2**22, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """As when its process ends: nobody listens, and every connection is closed."""
        if self._server is not None:
            self._server.close()
        self._server = None
        tasks = list(self.open)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.sessions.clear()
        self.subscribed.clear()
        self.standing.clear()

    async def restart(self, tools: tuple[str, ...] = (), version: str = "1") -> None:
        await self.stop()
        self.tools += tools
        self.version = version
        await self.start()

    async def break_(self, fault: str) -> None:
        match fault:
            case "refused":
                await self.stop()
            case "other tools":
                await self.restart(tools=("new",))
            case "other version":
                await self.restart(version="2")
            case "port taken":
                await self.stop()
                self.page = True
                await self.start()
            case "404 session":
                self.sessions.clear()
                self.subscribed.clear()
                self._break(fault)
                self.fault = ""
            case _:
                self._break(fault)

    def _break(self, fault: str) -> None:
        self.fault = fault
        broken, self._broken = self._broken, asyncio.Event()
        self._fault_of_open = fault
        broken.set()

    async def heal(self) -> None:
        self.fault = ""
        # What drips byte by byte has to have come to its end.
        await asyncio.sleep(2 * DRIP_SECONDS)
        if self.page:
            await self.stop()
            self.page = False
        if self._server is None:
            await self.start()

    def update(self) -> None:
        """The watched resource changed: whoever subscribed is told."""
        for session in self.subscribed & self.standing.keys():
            meta = {"_meta": {META + "subscriptionId": json.loads(session)}} if self.kind == "modern" else {}
            self.standing[session].event({"method": "notifications/resources/updated", "params": {"uri": URI, **meta}})

    # -- connections

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        wire = self.open[task] = Wire(reader, writer)
        try:
            while True:
                await self._exchange(wire, *await wire.request())
                await writer.drain()
        except Hangs:
            await wire.gone()
        except (Over, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            del self.open[task]
            writer.close()

    async def _exchange(self, wire: Wire, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        if self.page:
            wire.reply(200, b"<!doctype html><title>Welcome to another program</title>", "text/html")
            return
        message = json.loads(body) if body else {}
        session = path.partition("?s=")[2] if self.kind == "sse" else headers.get("mcp-session-id", "")
        known = self.kind == "modern" or session in self.sessions
        if message.get("method") == "tools/call" and known and self.fault != "401":
            self.note(message["params"].get("arguments", {}).get("key", ""))
        if self.fault:
            await self._fail(wire, self.fault, message, session)
        elif method == "POST":
            await self._post(wire, message, session)
        elif method == "DELETE":
            self.sessions.discard(session)
            self.subscribed.discard(session)
            wire.reply(200)
        elif self.kind == "sse":
            await self._stand(wire, f"s{next(self._numbers)}")
        elif self.kind == "legacy" and session in self.sessions:
            await self._stand(wire, session)
        else:
            wire.reply(405)

    async def _stand(self, wire: Wire, session: str) -> None:
        wire.open_stream()
        if self.kind == "sse":
            self.sessions.add(session)
            wire.chunk(f"event: endpoint\ndata: /messages?s={session}\n\n".encode())
        await self._hold(wire, session)

    async def _hold(self, wire: Wire, session: str) -> None:
        self.standing[session] = wire
        try:
            while True:
                await self._fail_stream(wire, await self._until_broken(wire))
        finally:
            if self.standing.get(session) is wire:
                del self.standing[session]

    async def _until_broken(self, wire: Wire) -> str:
        """The fault that came over it. Raises `Over` when the client went away."""
        broken = asyncio.ensure_future(self._broken.wait())
        gone = asyncio.ensure_future(wire.gone())
        try:
            await asyncio.wait((broken, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            came = broken.done()
            broken.cancel()
            gone.cancel()
            # Two may not read one connection.
            await asyncio.wait((broken, gone))
        if not came:
            raise Over
        return self._fault_of_open

    # -- answers

    async def _post(self, wire: Wire, message: Json, session: str) -> None:
        method, request = message.get("method"), message.get("id")
        if method == "initialize" and self.kind != "modern":
            await self._greet(wire, message, session)
        elif self.kind != "modern" and session not in self.sessions:
            known = method != "server/discover" or self.kind == "sse"
            wire.reply(
                404 if session and known else 405 if self.kind == "sse" else 400, b"no such session", "text/plain"
            )
        elif method is None:
            waiting = self.answers.pop(f"{session} {request}", None)
            if waiting is not None:
                waiting.set_result(message.get("result") or message)
            wire.reply(202)
        elif request is None:
            wire.reply(202)
        elif method == "tools/call" and message["params"]["name"] in LONG and not self.brief:
            await self._long(wire, message, session)
        elif method == "subscriptions/listen":
            await self._listen(wire, message)
        elif method == "tools/call" and message["params"]["name"] == "slow":
            await asyncio.sleep(message["params"]["arguments"]["seconds"])
            self._say(wire, session, {"id": message["id"], "result": self._stamped(method, done(message))})
        else:
            self._say(wire, session, self._answer(message, session))

    async def _greet(self, wire: Wire, message: Json, session: str) -> None:
        session = session or f"s{next(self._numbers)}"
        self.sessions.add(session)
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
            "serverInfo": {"name": "faulty", "version": self.version},
        }
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if self.kind == "sse":
            self._say(wire, session, reply)
        else:
            wire.reply(200, json.dumps(reply).encode(), mcp_session_id=session)

    def _say(self, wire: Wire, session: str, reply: Json) -> None:
        """Over the old transport everything comes on the one stream."""
        if self.kind == "sse":
            wire.reply(202)
            if session in self.standing:
                self.standing[session].event(reply)
        else:
            wire.reply(200, json.dumps({"jsonrpc": "2.0"} | reply).encode())

    def _answer(self, message: Json, session: str) -> Json:
        method, params = message["method"], message.get("params") or {}
        found = self._result(method, params, session)
        if found is None:
            return {"id": message["id"], "error": {"code": -32601, "message": "no such method"}}
        return {"id": message["id"], "result": self._stamped(method, found)}

    def _result(self, method: str, params: Json, session: str) -> Json | None:
        match method:
            case "server/discover" if self.kind == "modern":
                capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
                return {"supportedVersions": [MODERN], "capabilities": capabilities}
            case "tools/list":
                return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]}
            case "resources/list":
                return {"resources": [{"uri": URI, "name": "watched"}]}
            case "resources/templates/list":
                return {"resourceTemplates": []}
            case "resources/subscribe":
                self.subscribed.add(session)
                return {}
            case "tools/call" if params["name"] in self.tools:
                return {"content": [{"type": "text", "text": f"done by {self.version}"}]}
            case "ping" if self.kind != "modern":
                return {}
        return None

    def _stamped(self, method: str, result: Json) -> Json:
        if self.kind != "modern":
            return result
        hints = {"ttlMs": 0, "cacheScope": "private"} if method.endswith("/list") or "discover" in method else {}
        info = {META + "serverInfo": {"name": "faulty", "version": self.version}}
        return {"resultType": "complete", "_meta": info, **hints, **result}

    async def _listen(self, wire: Wire, message: Json) -> None:
        wished = message["params"].get("notifications") or {}
        key = json.dumps(message["id"])
        if URI in wished.get("resourceSubscriptions", ()):
            self.subscribed.add(key)
        wire.open_stream()
        meta = {META + "subscriptionId": message["id"]}
        params = {"notifications": wished, "_meta": meta}
        wire.event({"method": "notifications/subscriptions/acknowledged", "params": params})
        try:
            await self._hold(wire, key)
        finally:
            self.subscribed.discard(key)

    async def _long(self, wire: Wire, message: Json, session: str) -> None:
        """A call that is under way until something breaks, or until what it asked is answered."""
        if message["params"]["name"] == "work":
            fault = await self._until_broken(wire)
            if fault == "404 session":
                # Which says that it was not done; the next time it is.
                self.unnote(message["params"]["arguments"]["key"])
                self.brief = True
            await self._fail(wire, fault, message, session)
            return
        key = f"{session} ask-{message['id']}"
        answered = self.answers[key] = asyncio.get_running_loop().create_future()
        asked = {"id": f"ask-{message['id']}", "method": "elicitation/create", "params": QUESTION}
        if self.kind == "sse":
            wire.reply(202)
            self.standing[session].event(asked)
            answered.add_done_callback(lambda done: self._late(session, message, done.result()))
            return
        wire.open_stream()
        wire.event(asked)
        broken = asyncio.ensure_future(self._until_broken(wire))
        try:
            await asyncio.wait((broken, answered), return_when=asyncio.FIRST_COMPLETED)
            while not answered.done():
                await self._fail_stream(wire, await broken)
                broken = asyncio.ensure_future(self._until_broken(wire))
                await asyncio.wait((broken, answered), return_when=asyncio.FIRST_COMPLETED)
            wire.event(self._asked(message, answered.result()))
            wire.end_stream()
        finally:
            broken.cancel()
            with contextlib.suppress(Over, asyncio.CancelledError):
                await broken

    def _late(self, session: str, message: Json, answer: Json) -> None:
        if session in self.standing:
            self.standing[session].event(self._asked(message, answer))

    def _asked(self, message: Json, answer: Json) -> Json:
        text = {"type": "text", "text": json.dumps(answer)}
        return {"id": message["id"], "result": {"content": [text]}}

    # -- going wrong

    async def _fail(self, wire: Wire, fault: str, message: Json, session: str) -> None:
        """Instead of the answer to a request. Returns where the connection goes on."""
        stream = self.standing.get(session) if self.kind == "sse" and message else None
        match fault:
            case "reset before the answer":
                if stream is not None:
                    stream.reset()
                wire.reset()
                raise Over
            case "reset in the middle" if stream is not None:
                wire.reply(202)
                stream.chunk(HALF_AN_EVENT)
                await stream.writer.drain()
                stream.reset()
            case "reset in the middle":
                wire.writer.write(half_an_answer() if message else half_a_stream())
                await wire.writer.drain()
                wire.reset()
                raise Over
            case "slow loris":
                await wire.drip()
                raise Over
            case "500" | "401" | "404 session":
                wire.reply(int(fault[:3]), b"not now", "text/plain")
            case "rubbish" | "oversized" if stream is not None:
                wire.reply(202)
                await self._fail_stream(stream, fault)
            case "rubbish":
                wire.reply(200, b"listening on port 3000")
            case "oversized":
                wire.writer.write(ENDLESS)
                await wire.giant(b'{"jsonrpc":"2.0","id":%b,"result":{"x":"' % json.dumps(message.get("id")).encode())
                raise Over
            case "hang":
                raise Hangs

    async def _fail_stream(self, wire: Wire, fault: str) -> None:
        """A stream that was open when it broke. Returns where it goes on."""
        match fault:
            case "reset before the answer":
                wire.reset()
                raise Over
            case "reset in the middle":
                wire.chunk(HALF_AN_EVENT)
                await wire.writer.drain()
                wire.reset()
                raise Over
            case "slow loris":
                for byte in itertools.chain(b"data: {", itertools.repeat(0x20)):
                    if wire.reader.at_eof() or wire.writer.is_closing() or not self.fault:
                        break
                    wire.chunk(bytes((byte,)))
                    await asyncio.sleep(DRIP_SECONDS)
                wire.chunk(b"}\n\n")
            case "rubbish":
                wire.chunk(b"event: message\ndata: listening on port 3000\n\n")
            case "oversized":
                await wire.giant(b"data: ")
                wire.chunk(b"\n\n")
            case "404 session":
                raise Over


HALF_AN_EVENT = b'event: message\ndata: {"jsonrpc":'
ENDLESS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


def half_an_answer() -> bytes:
    return b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"js'


def half_a_stream() -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n" % (len(HALF_AN_EVENT), HALF_AN_EVENT)


def done(message: Json) -> Json:
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["key"]}]}


QUESTION = {
    "message": "Which one?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}


async def main(kind: str, port: int, ledger: Path) -> None:
    def note(key: str) -> None:
        with ledger.open("a", encoding="utf-8") as file:
            file.write(key + "\n")

    server = HttpServer(kind, note, port)
    await server.start()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, server.update)
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
