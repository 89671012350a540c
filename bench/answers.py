"""What the cheapest possible MCP server says: bytes in, bytes out, for both eras and every transport.

It judges nothing (a hop must not be helped by a backend that forgives, but it must not be slowed by one that checks
either), keeps nothing, and copies the id and the words as they came. The one rule: as little work as still is MCP.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from bench.wire import BIG_TEXT, LEGACY_REVISION, MODERN_REVISION, Era

_TEXT = b'{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
_TOOLS = (
    b'"tools":[{"name":"echo","description":"Gives back the text.","inputSchema":' + _TEXT + b"},"
    b'{"name":"big","description":"A result of one mebibyte.","inputSchema":{"type":"object"}}]'
)
_INFO = b'{"name":"bench-backend","version":"1"}'
_WELCOME = b'{"protocolVersion":"%b","capabilities":{"tools":{}},"serverInfo":%b}' % (LEGACY_REVISION.encode(), _INFO)
_DISCOVERED = (
    b'{"resultType":"complete","supportedVersions":["%b"],"capabilities":{"tools":{}},"ttlMs":3600000,'
    b'"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":%b}}' % (MODERN_REVISION.encode(), _INFO)
)
_CACHED = b',"resultType":"complete","ttlMs":3600000,"cacheScope":"public"'
_UNSUPPORTED = (
    b'{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["%b"],"requested":""}}'
    % (MODERN_REVISION.encode())
)
_BIG = b'"%b"' % BIG_TEXT.encode()


class _Arguments(msgspec.Struct, frozen=True, gc=False):
    text: Raw = Raw(b'""')


class _Params(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    arguments: _Arguments = _Arguments()


class _Message(msgspec.Struct, frozen=True, gc=False):
    method: str = ""
    id: Raw = Raw()
    params: _Params = _Params()


_decode = msgspec.json.Decoder(_Message).decode


def answer(data: bytes, era: Era) -> bytes | None:
    """The answer to one message; None to a notification."""
    message = _decode(data)
    if not message.id:
        return None
    ends = b',"resultType":"complete"}' if era == "modern" else b"}"
    if message.method == "tools/call":
        text = _BIG if message.params.name == "big" else message.params.arguments.text
        return b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":%b}]%b}' % (message.id, text, ends)
    return b'{"jsonrpc":"2.0","id":%b,%b}' % (message.id, _other(message.method, era))


def _other(method: str, era: Era) -> bytes:
    """A result or an error, as a member."""
    if method == "tools/list":
        return b'"result":{%b%b}' % (_TOOLS, _CACHED if era == "modern" else b"")
    if era == "modern":
        if method == "server/discover":
            return b'"result":' + _DISCOVERED
        if method == "initialize":
            return b'"error":' + _UNSUPPORTED
    elif method == "initialize":
        return b'"result":' + _WELCOME
    elif method == "ping":
        return b'"result":{}'
    return b'"error":{"code":-32601,"message":"Method not found"}'
