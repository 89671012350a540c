"""What a local server offers to be read: one URI, or a template whose last parts are names.

The one rule: a template matches whole segments; what it found is handed over decoded.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from emceepee.sampling.content import Json

Read: TypeAlias = Callable[..., Awaitable[str | bytes] | str | bytes]

_HOLE = re.compile(r"\{(\w+)\}")


@dataclass(slots=True, frozen=True)
class LocalResource:
    uri: str
    name: str
    read: Read
    mime_type: str = "text/plain"
    description: str | None = None

    @property
    def is_template(self) -> bool:
        return _HOLE.search(self.uri) is not None

    def entry(self) -> Json:
        key = "uriTemplate" if self.is_template else "uri"
        entry: Json = {key: self.uri, "name": self.name, "mimeType": self.mime_type}
        return entry | ({"description": self.description} if self.description else {})

    def match(self, uri: str) -> dict[str, Any] | None:
        """The names' values when the URI is this resource's, else None."""
        pieces = _HOLE.split(self.uri)
        pattern = "".join(re.escape(one) if index % 2 == 0 else f"(?P<{one}>[^/]+)" for index, one in enumerate(pieces))
        found = re.fullmatch(pattern, uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}
