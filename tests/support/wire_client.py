"""The same client as `AsgiClient`, over our own wire: bytes on connections that are kept and used again.

What is served without waiting (`front/at_once.py`) is reached only this way. The one rule: a request goes out on a
connection that has nothing to do, the one used last first, so that its head has been seen before.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools

from emceepee.front.http import HttpFront
from emceepee.front.http_wire import Connections, HttpConnection
from emceepee.runtime.spawn import TaskScope
from tests.support.asgi_client import PATIENCE, AsgiAnswer, AsgiClient


class _Line:
    """One connection: the transport towards us, and the parser of what comes from there."""

    def __init__(self, connections: Connections) -> None:
        self.connection = HttpConnection(connections)
        self.answer: WireAnswer | None = None
        self.open = True
        self._parser = httptools.HttpResponseParser(self)
        self.connection.connection_made(self)  # type: ignore[arg-type]

    def write(self, data: bytes) -> None:
        if self.open:
            self._parser.feed_data(data)

    def writelines(self, parts: Any) -> None:
        self.write(b"".join(parts))

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self.answer is not None, "an answer that nobody asked for"
        self.answer.headers[name.decode().lower()] = value.decode()

    def on_headers_complete(self) -> None:
        assert self.answer is not None
        self.answer.status = self._parser.get_status_code()
        self.answer.changed()

    def on_body(self, body: bytes) -> None:
        assert self.answer is not None
        self.answer.body += body
        self.answer.changed()

    def on_message_complete(self) -> None:
        assert self.answer is not None
        self.answer.complete = True
        self.answer.changed()

    def close(self) -> None:
        if self.open:
            self.open = False
            asyncio.get_running_loop().call_soon(self._lost)

    abort = close

    def _lost(self) -> None:
        self.connection.connection_lost(None)
        # It holds our methods: a circle of the test's own making.
        del self._parser

    def is_closing(self) -> bool:
        return not self.open

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str) -> None: ...

    def can_write_eof(self) -> bool:
        return False


class WireAnswer(AsgiAnswer):
    def __init__(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes | None, line: _Line
    ) -> None:
        super().__init__(method, path, headers, body)
        self.line = line

    def changed(self) -> None:
        self._changed.set()

    def leave(self) -> None:
        super().leave()
        self.line.close()
        self._changed.set()

    async def over(self) -> None:
        """Until it is complete and nothing more is done for it."""
        async with asyncio.timeout(PATIENCE):
            while not (self.complete or not self.line.open) or self.line.connection.serving:  # noqa: ASYNC110
                await asyncio.sleep(0)
        if not self.line.open:
            self.line.answer = None


class WireClient(AsgiClient):
    def __init__(self, front: HttpFront, path: str = "/mcp") -> None:
        super().__init__(front, path)
        shop = front.shop
        self.tasks = TaskScope("wire client")
        self.connections = Connections(front.serve, shop.settings, shop.clock, self.tasks, front.begin)
        self._lines: list[_Line] = []

    def start(
        self, method: str, headers: dict[str, str] | list[tuple[str, str]], body: bytes | None, path: str | None = None
    ) -> WireAnswer:
        assert body is not None, "it is sent whole"
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        line = self._idle()
        where = path or self.path
        answer = WireAnswer(method, where, [], body, line)
        line.answer = answer
        lines = [f"{method} {where} HTTP/1.1", "host: 127.0.0.1:8000"]
        lines += [f"{name}: {value}" for name, value in [*pairs, ("content-length", str(len(body)))]]
        answer.task = asyncio.create_task(answer.over())
        self._answers.append(answer)
        line.connection.data_received("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        return answer

    def _idle(self) -> _Line:
        self._lines = [line for line in self._lines if line.open and not line.connection.closing]
        for line in self._lines:
            if not line.connection.serving and (line.answer is None or line.answer.complete):
                return line
        self._lines.append(_Line(self.connections))
        return self._lines[-1]

    async def close(self) -> None:
        for line in self._lines:
            line.close()
        await super().close()
        await self.tasks.close()
