"""What is refused before anybody looks into a body: pure.

Each guard takes plain values and returns a `Refused` or None. It never reads a body and never touches an era. The one
rule: who may not speak to us learns nothing else from us.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "[::1]", "::1"))


@dataclass(slots=True, frozen=True)
class Refused:
    """An HTTP refusal that no JSON-RPC request caused. `allow` is for 405 only."""

    status: int
    message: str
    allow: str | None = None


_host = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]\\]+)(?::[0-9]{0,5})?\Z", re.IGNORECASE)


def host_name(host: str) -> str:
    """The name without the port; an IPv6 literal keeps its brackets. Empty when it is no host at all: what others read
    differently (`localhost:80@evil`, `[::1].evil`) is nobody's name."""
    found = _host.match(host)
    return found[1].lower() if found is not None else ""


def check_host(host: str | None, allowed: Collection[str]) -> Refused | None:
    """A page that rebinds its DNS name to us still sends its own name here."""
    if "*" in allowed:
        return None
    if host is None:
        return Refused(400, "The Host header is missing")
    name = host_name(host)
    if name in LOOPBACK or name in allowed or host.lower() in allowed:
        return None
    return Refused(403, "This Host is not served here; allow it in the configuration (allowed_hosts)")


def check_origin(origin: str | None, allowed: Collection[str]) -> Refused | None:
    """Only browsers send one. Loopback pages may call, any other page only when configured."""
    if origin is None or "*" in allowed or origin.lower() in allowed:
        return None
    scheme, separator, rest = origin.partition("://")
    if separator and scheme.lower() in ("http", "https") and host_name(rest) in LOOPBACK:
        return None
    return Refused(403, "This Origin may not call; allow it in the configuration (allowed_origins)")


def check_method(method: str, allowed: tuple[str, ...]) -> Refused | None:
    if method in allowed:
        return None
    return Refused(405, f"{method[:16]} is not served here", ", ".join(allowed))


def check_content_type(content_type: str | None, encoding: str | None = None) -> Refused | None:
    if content_type == "application/json" and not encoding:
        return None
    kind, *parameters = (content_type or "").lower().split(";")
    if kind.strip() != "application/json":
        return Refused(415, "Content-Type must be application/json")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            return Refused(415, "The body must be UTF-8")
    if encoding and encoding.lower() != "identity":
        return Refused(415, "Content-Encoding is not supported; send the body as it is")
    return None


@dataclass(slots=True, frozen=True)
class Acceptable:
    """Which of the two forms of an answer the client takes."""

    json: bool
    events: bool


_BOTH: Final = Acceptable(json=True, events=True)


def read_accept(accept: str | None) -> Acceptable:
    """Lenient: no header at all means both, and a list that names one of the two gets that one."""
    if accept is None or accept == "application/json, text/event-stream" or accept == "*/*":
        return _BOTH
    kinds = set()
    for item in accept.lower().split(","):
        kind, _, parameters = item.partition(";")
        if parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            kinds.add(kind.strip())
    if "*/*" in kinds:
        return _BOTH
    return Acceptable(
        json=not kinds.isdisjoint(("application/json", "application/*")),
        events=not kinds.isdisjoint(("text/event-stream", "text/*")),
    )


def check_accept(acceptable: Acceptable) -> Refused | None:
    if acceptable.json or acceptable.events:
        return None
    return Refused(406, "Accept must name application/json and text/event-stream")


def check_length(content_length: str | None, limit: int) -> Refused | None:
    """The declared length; what really comes is counted while it is read."""
    if content_length is None:
        return None
    if not content_length.isascii() or not content_length.isdigit():
        return Refused(400, "Content-Length is not a number")
    return too_large(limit) if len(content_length) > 18 or int(content_length) > limit else None


def too_large(limit: int) -> Refused:
    return Refused(413, f"The body is larger than {limit} bytes")
