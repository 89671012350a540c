"""The head of one HTTP request: the few headers that matter.

The one rule: a header that decides who may speak counts only when it is there once.
"""

from __future__ import annotations

from typing import Final

from emceepee.front.exchange import Header
from emceepee.front.guards import Refused, read_accept

VERSION: Final = b"mcp-protocol-version"
_ONCE: Final = (b"host", b"origin", b"mcp-session-id")


class Head:
    """Values as text, the first where there are several. Nearly no head has any header twice, so that is looked for
    only when the numbers differ."""

    __slots__ = ("_values", "acceptable", "doubled", "headers", "versions")

    def __init__(self, headers: list[Header]) -> None:
        values = dict(headers)
        self.headers = headers
        self.doubled: str | None = None
        if len(values) == len(headers):
            version = values.get(VERSION)
            self.versions = [] if version is None else [version.decode("latin-1")]
        else:
            values = dict(reversed(headers))
            self.versions = [value.decode("latin-1") for name, value in headers if name == VERSION]
            names = [name for name, _ in headers]
            self.doubled = next((name.decode() for name in _ONCE if names.count(name) > 1), None)
        self._values = values
        self.acceptable = read_accept(self.get(b"accept"))

    def get(self, name: bytes) -> str | None:
        value = self._values.get(name)
        return None if value is None else value.decode("latin-1")

    def refused(self) -> Refused | None:
        return None if self.doubled is None else Refused(400, f"The header {self.doubled} is there twice")


def mcp_headers(headers: list[Header]) -> dict[str, list[str]]:
    """Every header of ours, by lower-case name, with all its values in order."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if name.startswith(b"mcp-"):
            found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return found
