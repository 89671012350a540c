"""An HTTP client for an ASGI application in the same process: streams, disconnects, and a client that stops reading."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

from emceepee.framing.sse import SseEvent, SseReader

PATIENCE = 30.0


class AsgiAnswer:
    """One exchange while it runs and after. `events()` reads what an event stream has carried so far."""

    def __init__(self, method: str, path: str, headers: list[tuple[bytes, bytes]], body: bytes | None) -> None:
        self.scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": headers,
            "query_string": b"",
            "http_version": "1.1",
        }
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.complete = False
        self.reading = asyncio.Event()
        self.reading.set()
        self.task: asyncio.Task[None] | None = None
        self._inbox: list[dict[str, Any]] = []
        self._woken = asyncio.Event()
        self._changed = asyncio.Event()
        self._left = False
        if body is not None:
            self.send_body(body, more=False)

    def send_body(self, part: bytes, more: bool) -> None:
        self._inbox.append({"type": "http.request", "body": part, "more_body": more})
        self._woken.set()

    def leave(self) -> None:
        """The client closes its connection."""
        self._left = True
        self.reading.set()
        self._woken.set()

    async def receive(self) -> dict[str, Any]:
        while True:
            if self._left or self.complete:
                return {"type": "http.disconnect"}
            if self._inbox:
                return self._inbox.pop(0)
            self._woken.clear()
            await self._woken.wait()

    async def send(self, message: dict[str, Any]) -> None:
        await self.reading.wait()
        if self._left:
            return
        if message["type"] == "http.response.start":
            assert self.status == 0, "a second head"
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            assert self.status != 0, "a body before its head"
            assert not self.complete, "a body after the end"
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                self.complete = True
                self._woken.set()
        self._changed.set()

    async def done(self) -> AsgiAnswer:
        """Until the application has returned."""
        assert self.task is not None
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait((self.task,))
        self.task.result()
        return self

    async def until(self, condition: Callable[[], bool]) -> AsgiAnswer:
        """Until something that was sent makes it true."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"it never came; so far {self.status} {self.body!r}") from None
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The JSON of each event so far; comments, and events that only say their place, left out."""
        return [json.loads(event.data) for event in self.sse if event.data]

    @property
    def sse(self) -> list[SseEvent]:
        """Each event so far, as it was written."""
        return SseReader().feed(self.body)

    @property
    def last_id(self) -> str:
        """Where a client that was cut off here goes on."""
        reader = SseReader()
        reader.feed(self.body)
        return reader.last_id

    @property
    def comments(self) -> int:
        return sum(line.startswith(":") for line in self.body.decode().split("\n"))


class AsgiClient:
    def __init__(self, app: Any, path: str = "/mcp") -> None:
        self.app = app
        self.path = path
        self._answers: list[AsgiAnswer] = []

    def start(
        self, method: str, headers: dict[str, str] | list[tuple[str, str]], body: bytes | None, path: str | None = None
    ) -> AsgiAnswer:
        """Begin an exchange; a body of None means that the test sends it in parts."""
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs]
        if not any(name == b"host" for name, _ in raw):
            raw.append((b"host", b"127.0.0.1:8000"))
        answer = AsgiAnswer(method, path or self.path, raw, body)
        answer.task = asyncio.create_task(self.app(answer.scope, answer.receive, answer.send))
        self._answers.append(answer)
        return answer

    def post(
        self, message: Any, headers: dict[str, str] | list[tuple[str, str]] | None = None, path: str | None = None
    ) -> AsgiAnswer:
        """POST a message (or bytes as they are) with the headers every client sends, unless given otherwise."""
        given = list((headers or {}).items()) if isinstance(headers, dict | None) else headers
        names = {name.lower() for name, _ in given}
        usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
        given = [*given, *((name, value) for name, value in usual if name not in names)]
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.start("POST", [pair for pair in given if pair[1] != ""], body, path)

    def forget_ended(self) -> int:
        """Keep only the exchanges that still run; how many these are."""
        self._answers = [answer for answer in self._answers if answer.task is not None and not answer.task.done()]
        return len(self._answers)

    async def close(self) -> None:
        """Leave whatever is still open."""
        for answer in self._answers:
            answer.leave()
        tasks = [answer.task for answer in self._answers if answer.task is not None]
        if tasks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await asyncio.wait(tasks)
