"""Whether a URL leads back to this gateway, by every name under which a local listener can be called.

It asks no name server: a foreign name that resolves to us is not recognised here. This prevents a mistake that people
and models make; it is no defence against somebody who wants a loop.

The one rule: pure; listeners and URLs in, yes or no out.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import unquote, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LOOPBACK = "loopback"
_ANY = "any"


class OwnAddresses:
    def __init__(self, hostname: str) -> None:
        bare = hostname.lower().rstrip(".")
        self._hostnames = frozenset((bare, bare.split(".")[0], f"{bare.split('.')[0]}.local")) - {"", ".local"}
        self._listeners: set[tuple[str, int]] = set()

    def add(self, address: str) -> None:
        """`host:port` as one listens on it; IPv6 in brackets. Without a port it is no listener, and ignored."""
        host, _, port = address.rpartition(":")
        if port.isdigit():
            self._listeners.add((_canonical(host.strip("[]")), int(port)))

    def includes(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme.lower())
            host = parts.hostname
        except ValueError:
            return False
        if host is None or port is None:
            return False
        asked = _canonical(host)
        return any(port == own_port and self._same_host(asked, own) for own, own_port in self._listeners)

    def _same_host(self, asked: str, own: str) -> bool:
        if asked == own or asked in self._hostnames:
            return True
        # An unspecified address connects to loopback on every system we know; a listener on it hears loopback too.
        return {asked, own} <= {_LOOPBACK, _ANY}


def _canonical(host: str) -> str:
    name = _as_reached(host).lower().rstrip(".").partition("%")[0]
    if name in ("localhost", "localhost.localdomain", "ip6-localhost") or name.endswith(".localhost"):
        return _LOOPBACK
    address = _numeric(name)
    if address is None:
        return name or _ANY
    if address.is_unspecified:
        return _ANY
    return _LOOPBACK if address.is_loopback else str(address)


def _as_reached(host: str) -> str:
    """As it is connected to: percent signs undone, letters that only look different made those they stand for."""
    name = unquote(host)
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        return name


def _numeric(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        pass
    else:
        return getattr(address, "ipv4_mapped", None) or address
    try:
        # Spellings such as 127.1, 0x7f000001 and 2130706433, which sockets take and ip_address does not.
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except (OSError, UnicodeError):
        return None
