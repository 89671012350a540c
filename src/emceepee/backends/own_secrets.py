"""The secrets we give a server, taken out of the words that it gives us back: pure.

A proxy that repeats the request in its error page, a program that prints its token when it starts: their words go into
our errors, listings and logs, where other people read them. Results are not our words and are not touched.

The one rule: what is hidden is what this server was given, whole; nothing is guessed from what a text looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from emceepee.backends.transport import Header
from emceepee.observability.masking import HIDDEN, is_secret

_SHORTEST: Final = 6
"""Shorter ones are no secrets, and taking them out would make holes in ordinary words."""

_PUBLIC_HEADERS: Final = frozenset(("accept", "accept-language", "content-type", "user-agent"))


class OwnSecrets:
    __slots__ = ("_values",)

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values for form in (value, unquote(value), quote(value)) if len(form) >= _SHORTEST}
        # The longest first: one may be a part of another.
        self._values = sorted(forms, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def hide_in(self, body: bytes) -> bytes:
        return self.hide(body.decode("latin-1")).encode("latin-1", "replace") if self._values else body


def of_endpoint(url: str, headers: Sequence[Header]) -> OwnSecrets:
    """Header values, with and without their scheme; user, password and query of the URL."""
    values = [value for name, value in headers if name.lower() not in _PUBLIC_HEADERS]
    values += [value.rpartition(" ")[2] for value in values]
    try:
        parts = urlsplit(url)
    except ValueError:
        return OwnSecrets(values)
    query = [pair.partition("=") for pair in parts.query.split("&")]
    values += [value if equals else name for name, equals, value in query]
    return OwnSecrets([*values, parts.username or "", parts.password or ""])


def of_environment(env: Mapping[str, str]) -> OwnSecrets:
    """The values of variables whose names say that they are secrets."""
    return OwnSecrets(value for name, value in env.items() if is_secret(name))
