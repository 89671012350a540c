"""URLs and header lines, as they go on the wire: where a request goes, and what may not go with it.

It opens nothing and resolves nothing. What a URL may not be is said to people by `definition.url_problem`; here the
same URL becomes host, port and target, or a `BadAddress` that never repeats the URL (it may hold a secret).

The one rule: nothing that came from outside is written into a head before it was checked here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote, urljoin, urlsplit

from emceepee.backends.transport import Header

Scheme: TypeAlias = Literal["http", "https"]

_DEFAULT_PORTS: dict[str, int] = {"http": 80, "https": 443}
_AS_THEY_ARE = "!#$%&'()*+,/:;=?@[]~"
"""What a target keeps unquoted: everything that has a meaning in it, and `%`, so that what is quoted stays so."""

_token = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_value = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")

OURS = frozenset(("connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive"))
"""Headers that say how a message is framed; only we know, so nobody else sets them."""


class BadAddress(ValueError):
    """A URL or header that cannot be used. The text is made for people and holds no part of a secret."""


@dataclass(slots=True, frozen=True)
class Address:
    """Where a request goes. `credentials` is the ready value of an Authorization header, from the URL's user info."""

    scheme: Scheme
    host: str
    port: int
    target: str = field(repr=False)
    credentials: str | None = field(default=None, repr=False)

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port always, as CONNECT wants them."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def host_header(self) -> str:
        return _bracketed(self.host) if self.port == _DEFAULT_PORTS[self.scheme] else self.authority

    @property
    def absolute(self) -> str:
        """The whole URL without user info, as a forwarding proxy wants it."""
        return f"{self.scheme}://{self.host_header}{self.target}"


def read_address(url: str) -> Address:
    """Raises `BadAddress`."""
    if any(ord(char) <= 0x20 or ord(char) == 0x7F for char in url):
        raise BadAddress("the URL contains a space or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
        name = unquote(parts.hostname or "")
        host = (name if name.isascii() else name.encode("idna").decode("ascii")).rstrip(".")
    except (ValueError, UnicodeError):
        raise BadAddress("the URL cannot be read; check its host and port") from None
    if parts.scheme not in ("http", "https"):
        raise BadAddress(f"the URL has the scheme '{parts.scheme[:20]}'; only http and https are reached")
    if not host or port == 0:
        raise BadAddress("the URL has no host, or the port 0")
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    target = quote(parts.path or "/", safe=_AS_THEY_ARE)
    if parts.query:
        target += "?" + quote(parts.query, safe=_AS_THEY_ARE)
    credentials = None
    if parts.username is not None:
        credentials = basic(unquote(parts.username), unquote(parts.password or ""))
    return Address(scheme, host, port or _DEFAULT_PORTS[scheme], target, credentials)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def follow(start: Address, location: str) -> Address | None:
    """Where a `Location` or an `endpoint` leads from here; None when it is unreadable or leaves the origin."""
    try:
        there = read_address(urljoin(start.absolute, location.strip()))
    except (BadAddress, ValueError):
        return None
    if there.origin != start.origin:
        return None
    return Address(there.scheme, there.host, there.port, there.target, start.credentials)


def write_lines(headers: Iterable[Header]) -> bytes:
    """Header lines. Raises `BadAddress` for what would break out of its line, and for names that are ours to set."""
    lines = []
    for name, value in headers:
        if not _token.match(name) or name.lower() in OURS:
            raise BadAddress(f"'{name[:40]!a}' cannot be sent as the name of a header")
        if not _value.match(value):
            raise BadAddress(f"the value of the header '{name[:40]}' holds a line break or a character beyond Latin-1")
        lines.append(f"{name}: {value.strip(' ')}\r\n")
    return "".join(lines).encode("latin-1")


def overlaid(defaults: Iterable[Header], configured: Iterable[Header]) -> list[Header]:
    """The configured headers, after those defaults whose names they do not take."""
    mine = list(configured)
    taken = {name.lower() for name, _ in mine}
    return [header for header in defaults if header[0].lower() not in taken] + mine


def _bracketed(host: str) -> str:
    # A zone means something on this machine only.
    return f"[{host.partition('%')[0]}]" if ":" in host else host
