"""Which proxy a request goes through, from the variables that every HTTP client of this world obeys.

`http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in small letters first. `HTTP_PROXY` in capitals is ignored
where `REQUEST_METHOD` is set, because there anybody who calls us could have set it. Loopback never goes to a proxy.

The one rule: pure; the environment is an argument, and no name is looked up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from emceepee.backends.http_address import Address, BadAddress, read_address


@dataclass(slots=True, frozen=True)
class Proxy:
    host: str
    port: int
    credentials: str | None = field(default=None, repr=False)


class UnusableProxy(ValueError):
    """The environment names a proxy that we cannot use; said when a request would go there, not before."""


class Proxies:
    def __init__(self, environment: Mapping[str, str]) -> None:
        cgi = "REQUEST_METHOD" in environment
        everything = _variable(environment, "all_proxy")
        http = environment.get("http_proxy") if cgi else _variable(environment, "http_proxy")
        self._urls = {"http": http or everything, "https": _variable(environment, "https_proxy") or everything}
        exempt = (entry.strip().lower() for entry in _variable(environment, "no_proxy").split(","))
        self._exempt = [entry for entry in exempt if entry]

    def for_address(self, address: Address) -> Proxy | None:
        """None to go straight there. Raises `UnusableProxy`."""
        url = self._urls[address.scheme]
        if not url or _is_loopback(address.host) or any(_covers(entry, address) for entry in self._exempt):
            return None
        return _read_proxy(url)


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _read_proxy(url: str) -> Proxy:
    try:
        address = read_address(url if "://" in url else f"http://{url}")
    except BadAddress as error:
        raise UnusableProxy(f"the proxy of the environment cannot be used: {error}") from None
    if address.scheme != "http":
        raise UnusableProxy("the proxy of the environment is reached by https; only http proxies are supported")
    return Proxy(address.host, address.port, address.credentials)


def _covers(entry: str, address: Address) -> bool:
    """`*`, a network, or a name that covers itself and what is below it; each but `*` may end in `:port`."""
    if entry == "*":
        return True
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.endswith("]")):
        if int(port) != address.port:
            return False
        entry = name
    entry = entry.strip("[]")
    number = _numeric(address.host)
    if number is not None:
        try:
            return number in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    suffix = entry.removeprefix("*").lstrip(".")
    return bool(suffix) and (address.host == suffix or address.host.endswith("." + suffix))


def _is_loopback(host: str) -> bool:
    number = _numeric(host)
    return host == "localhost" or host.endswith(".localhost") or (number is not None and number.is_loopback)


def _numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
