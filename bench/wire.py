"""The requests of a client as bytes, in both eras, and the check of what comes back. Pure.

An `Errand` says what is done, so that two figures can be told like from unlike. The one rule: every call carries words
of its own, and only an answer that has the call's id and gives back exactly these words is right.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import msgspec

Era: TypeAlias = Literal["legacy", "modern"]

LEGACY_REVISION = "2025-11-25"
MODERN_REVISION = "2026-07-28"
BIG_SIZE = 1024 * 1024
BIG_TEXT = ("a mebibyte of words, " * (BIG_SIZE // 21 + 1))[:BIG_SIZE]
_BIG_BYTES = BIG_TEXT.encode()
_PADDING = "x" * 96
"""Makes the body of a legacy call about 300 bytes long, as people's calls are."""

_ENVELOPE = (
    ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{},'
    '"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}'
)


@dataclass(slots=True, frozen=True)
class Errand:
    """One kind of work. Every field is a way in which two measurements can be unlike."""

    era: Era
    tool: Literal["echo", "big"] = "echo"
    sessions: int = 32
    via: Literal["tools/call", "execute_tool"] = "tools/call"
    """`execute_tool`: the call is wrapped in one of the gateway's own tools."""
    answers: Literal["json", "sse"] = "json"
    """How the backend answers."""
    backend: Literal["http", "stdio"] = "http"


@dataclass(slots=True, frozen=True)
class Place:
    """Where calls go, and how the tool is called there."""

    port: int
    path: str
    prefix: str = ""
    server: str = "bench"


@dataclass(slots=True, frozen=True)
class Asked:
    """One call as it is sent, and what makes its answer right."""

    data: bytes
    id: int
    words: str | None
    """None: the big text."""


class Unlike(ValueError):
    """Two measurements of different work were about to be compared."""


def must_be_alike(one: Errand, other: Errand, but: frozenset[str] = frozenset()) -> None:
    """Raises `Unlike` when they differ in more than what is named."""
    unlike = [f.name for f in fields(one) if f.name not in but and getattr(one, f.name) != getattr(other, f.name)]
    if unlike:
        raise Unlike(f"{one} and {other} differ in {', '.join(unlike)}")


class Caller:
    """One client's side of the wire: writes requests, checks answers. It has no socket."""

    def __init__(self, errand: Errand, place: Place, number: int) -> None:
        self._errand = errand
        self._place = place
        self._number = number
        self._last = 0
        self._session = ""
        self._head = b""
        self._set_head("")

    def hello(self) -> bytes:
        """`initialize`, which also asks for a new session."""
        self._last += 1
        body = (
            f'{{"jsonrpc":"2.0","id":{self._last},"method":"initialize","params":{{"protocolVersion":'
            f'"{LEGACY_REVISION}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}'
        ).encode()
        self._set_head("")
        return self._post(body)

    def welcomed(self, session: str | None) -> bytes:
        """Takes the session's id; gives `notifications/initialized`."""
        self._set_head(f"Mcp-Session-Id: {session}\r\n" if session else "")
        return self._post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def elsewhere(self, errand: Errand, server: str) -> Caller:
        """Another errand of the same session, at another server."""
        other = Caller(errand, dataclasses.replace(self._place, server=server), self._number)
        other._last = self._last + 1000
        other._set_head(self._session)
        return other

    def ping(self) -> bytes:
        self._last += 1
        return self._post(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % self._last)

    def goodbye(self) -> bytes:
        return b"DELETE" + self._head[4:] + b"\r\n"

    def listening(self) -> bytes:
        """The GET that opens a session's standing stream."""
        return b"GET" + self._head[4:].replace(b"application/json, ", b"") + b"\r\n"

    def call(self) -> Asked:
        self._last += 1
        words = None if self._errand.tool == "big" else f"{self._number}.{self._last}.{_PADDING}"
        arguments = "{}" if words is None else f'{{"text":"{words}"}}'
        tool = self._place.prefix + self._errand.tool
        if self._errand.via == "execute_tool":
            arguments = f'{{"server":"{self._place.server}","tool":"{self._errand.tool}","arguments":{arguments}}}'
            tool = "execute_tool"
        envelope = _ENVELOPE if self._errand.era == "modern" else ""
        body = (
            f'{{"jsonrpc":"2.0","id":{self._last},"method":"tools/call",'
            f'"params":{{"name":"{tool}","arguments":{arguments}{envelope}}}}}'
        ).encode()
        return Asked(self._post(body), self._last, words)

    def use(self, tool: str, arguments: dict[str, Any]) -> bytes:
        """A call of one of the gateway's own tools."""
        self._last += 1
        params = {"name": tool, "arguments": arguments}
        return self._post(
            msgspec.json.encode({"jsonrpc": "2.0", "id": self._last, "method": "tools/call", "params": params})
        )

    def _post(self, body: bytes) -> bytes:
        return b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(body), body)

    def _set_head(self, session: str) -> None:
        self._session = session
        errand, place = self._errand, self._place
        if errand.era == "modern":
            tool = "execute_tool" if errand.via == "execute_tool" else place.prefix + errand.tool
            era = f"MCP-Protocol-Version: {MODERN_REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        else:
            era = session and f"MCP-Protocol-Version: {LEGACY_REVISION}\r\n{session}"
        self._head = (
            f"POST {place.path} HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{era}"
        ).encode()


def check(asked: Asked, status: int, body: bytes, is_stream: bool, wrapped: bool = False) -> str | None:
    """What is wrong with an answer, in words; None when it is right. `wrapped`: own blocks may follow the tool's."""
    if status != 200:
        return f"status {status}: {body[:200]!r}"
    message = last_event(body) if is_stream else body
    if asked.words is None:
        return _check_big(asked, message)
    try:
        answer: Any = msgspec.json.decode(message)
        result = answer["result"]
        content = result["content"]
        first = content[0]
    except (msgspec.DecodeError, LookupError, TypeError):
        return f"no result of a tool: {message[:200]!r}"
    if answer.get("id") != asked.id or type(answer["id"]) is not int:
        return f"the id is {answer.get('id')!r}, not {asked.id}"
    if result.get("isError"):
        return f"the tool failed: {message[:200]!r}"
    if first != {"type": "text", "text": asked.words} or (len(content) != 1 and not wrapped):
        return f"other words than were sent: {message[:200]!r}"
    return None


def _check_big(asked: Asked, message: bytes) -> str | None:
    """Decoding a mebibyte would make the load generator the slowest part, so the bytes are compared."""
    start = message.find(_BIG_BYTES[:64])
    if start < 0 or message[start : start + BIG_SIZE] != _BIG_BYTES:
        return f"not the big text: {message[:200]!r} ({len(message)} bytes)"
    try:
        answer: Any = msgspec.json.decode(message[:start] + message[start + BIG_SIZE :])
        right = answer["id"] == asked.id and answer["result"]["content"][0] == {"type": "text", "text": ""}
    except (msgspec.DecodeError, LookupError, TypeError):
        right = False
    return None if right else f"not the answer to {asked.id}: {message[:100]!r} … {message[-100:]!r}"


def last_event(body: bytes) -> bytes:
    """The data of the last event that has some: the response comes last on a call's stream."""
    for event in reversed(body.replace(b"\r\n", b"\n").split(b"\n\n")):
        data = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        if any(data):
            return b"\n".join(data)
    return b""
