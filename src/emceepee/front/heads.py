"""The head of one HTTP request: the few headers that matter, found in one pass.

The one rule: a header that decides who may speak counts only when it is there once.
"""

from __future__ import annotations

from typing import Final

from emceepee.front.exchange import Header
from emceepee.front.guards import Refused

_READ: Final = frozenset(
    (
        b"host",
        b"origin",
        b"accept",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"mcp-session-id",
        b"mcp-protocol-version",
    )
)
_ONCE: Final = frozenset((b"host", b"origin", b"mcp-session-id"))


class Head:
    __slots__ = ("_values", "doubled", "versions")

    def __init__(self, headers: list[Header]) -> None:
        values: dict[bytes, str] = {}
        versions: list[str] = []
        self.doubled: str | None = None
        for name, value in headers:
            if name not in _READ:
                continue
            text = value.decode("latin-1")
            if name == b"mcp-protocol-version":
                versions.append(text)
            elif name not in values:
                values[name] = text
            elif name in _ONCE:
                self.doubled = name.decode()
        self._values = values
        self.versions = versions

    def get(self, name: bytes) -> str | None:
        return self._values.get(name)

    def refused(self) -> Refused | None:
        return None if self.doubled is None else Refused(400, f"The header {self.doubled} is there twice")


def all_headers(headers: list[Header]) -> dict[str, list[str]]:
    """Every header, by lower-case name, with all its values in order."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key in found:
            found[key].append(text)
        else:
            found[key] = [text]
    return found
