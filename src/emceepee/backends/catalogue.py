"""What servers offer, as lists of raw entries: read, named, merged. Pure.

It asks nobody and remembers nothing; `relay.listing` does. An entry stays as the server wrote it, save that a merged
list needs another name in it.

The one rule: a merged name depends on the server's and the entry's own names alone, never on what else is listed, so
that it is the same tomorrow.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec import Raw

from emceepee.eras.peek import may_mention
from emceepee.vocabulary.names import ServerName
from emceepee.vocabulary.outcomes import CacheHints
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, to_raw, write

ListName: TypeAlias = Literal["tools", "prompts", "resources", "templates"]

SEPARATOR = "__"
MAX_NAME = 64
"""What model APIs take for a tool's name."""

_HASH_LENGTH = 6


@dataclass(slots=True, frozen=True)
class ListKindOf:
    """How one list is asked for: its method, the key of its entries, the capability that allows asking, and the entry's
    own key."""

    method: str
    key: str
    family: str
    identity: str


LISTS: dict[ListName, ListKindOf] = {
    "tools": ListKindOf("tools/list", "tools", "tools", "name"),
    "prompts": ListKindOf("prompts/list", "prompts", "prompts", "name"),
    "resources": ListKindOf("resources/list", "resources", "resources", "uri"),
    "templates": ListKindOf("resources/templates/list", "resourceTemplates", "resources", "uriTemplate"),
}


@dataclass(slots=True, frozen=True)
class ToolFacts:
    """What the relay itself needs to know of a tool."""

    input_schema: Raw | None = None
    wrapped: bool = False
    repeatable: bool = False
    annotations: Raw | None = None


@dataclass(slots=True, frozen=True, weakref_slot=True)
class Listed:
    """One whole list of one server, all pages drained. `extras` are the other keys of its first page."""

    name: ListName
    items: tuple[Raw, ...]
    extras: Fields = field(default_factory=dict)
    hints: CacheHints | None = None
    truncated: bool = False
    digest: bytes = b""
    _index: dict[str, Raw] = field(default_factory=dict, compare=False, repr=False)
    _facts: dict[str, ToolFacts] = field(default_factory=dict, compare=False, repr=False)
    _renamed: dict[str, Raw] = field(default_factory=dict, compare=False, repr=False)
    _originals: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _glances: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def may_wrap(self) -> bool:
        """Whether any tool may declare an output at all; looked for once, because it is asked for each call."""
        known = self._glances.get("wraps")
        if known is None:
            known = self._glances["wraps"] = any(may_mention(bytes(item), b'"outputSchema"') for item in self.items)
        return known

    def index(self) -> dict[str, Raw]:
        """Entries by their own name or URI; the first of two with the same one."""
        if not self._index and self.items:
            identity = LISTS[self.name].identity
            for item in self.items:
                own = identity_of(item, identity)
                if own is not None:
                    self._index.setdefault(own, item)
        return self._index

    def facts(self, tool: str) -> ToolFacts | None:
        """Of a listed tool; None when it is not listed."""
        known = self._facts.get(tool)
        if known is None:
            item = self.index().get(tool)
            if item is None:
                return None
            known = self._facts[tool] = read_facts(item)
        return known

    def renamed(self, server: ServerName) -> dict[str, Raw]:
        """Entries under their merged names, in order; kept, because a list is asked for more often than it changes."""
        if not self._renamed:
            for own, item in self.index().items():
                name = merged_name(server, own)
                self._renamed[name] = to_raw(read_fields(item) | {"name": to_raw(name)})
                self._originals[name] = own
        return self._renamed

    def original(self, server: ServerName, merged: str) -> str | None:
        if not self._originals:
            self.renamed(server)
        return self._originals.get(merged)


def make_listed(
    name: ListName, items: Iterable[Raw], extras: Fields, hints: CacheHints | None, *, truncated: bool = False
) -> Listed:
    kept = tuple(items)
    digest = hashlib.blake2b(digest_size=12)
    for item in kept:
        digest.update(item)
        digest.update(b"\n")
    return Listed(name, kept, extras, hints, truncated, digest.digest())


def identity_of(item: Raw, identity: str) -> str | None:
    """The name or URI of an entry; None when it has none or is no object at all."""
    try:
        return read_text(read_fields(item).get(identity))
    except NotThatShape:
        return None


def read_facts(item: Raw) -> ToolFacts:
    """Lenient: what is not of the right shape counts as absent."""
    fields = read_fields(item)
    output = fields.get("outputSchema")
    wrapped = output is not None and read_text(_get(output, "type")) != "object"
    hints = fields.get("annotations")
    repeatable = hints is not None and any(_get(hints, key) == _TRUE for key in ("readOnlyHint", "idempotentHint"))
    return ToolFacts(fields.get("inputSchema"), wrapped, repeatable, hints)


_TRUE = Raw(b"true")


def _get(raw: Raw, key: str) -> Raw | None:
    try:
        return read_fields(raw).get(key)
    except NotThatShape:
        return None


_unsafe = re.compile(r"[^A-Za-z0-9_-]")


def merged_name(server: ServerName, own: str) -> str:
    """`server__name` where that is at most 64 characters which every model API takes, and can only mean this one entry.
    Otherwise as much of it as fits and a hash of both names."""
    plain = f"{server}{SEPARATOR}{own}"
    safe = _unsafe.sub("_", plain)
    # A server's name has no "__" inside; one that ends in "_" would leave open where the tool's name begins.
    if safe == plain and len(plain) <= MAX_NAME and own and not server.endswith("_"):
        return plain
    tail = hashlib.sha256(f"{server}\0{own}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{safe[: MAX_NAME - _HASH_LENGTH - 1]}-{tail}"


def likely_server(merged: str) -> str:
    """The server whose entry this most likely is; only a first guess."""
    return merged.partition(SEPARATOR)[0]


@dataclass(slots=True, frozen=True)
class Merged:
    """Several servers' lists as one. `shadowed` names what was left out because an earlier server has the same URI."""

    items: tuple[Raw, ...]
    shadowed: tuple[tuple[ServerName, str], ...] = ()


def merge(lists: Sequence[tuple[ServerName, Listed]]) -> Merged:
    """In the servers' order, then each one's own. Tools and prompts are renamed; resources keep their URI, and the
    first server that lists one owns it."""
    if not lists:
        return Merged(())
    by_uri = LISTS[lists[0][1].name].identity != "name"
    taken: dict[str, Raw] = {}
    shadowed = []
    for server, listed in lists:
        entries = listed.index() if by_uri else listed.renamed(server)
        for name, item in entries.items():
            if name in taken:
                shadowed.append((server, name))
            else:
                taken[name] = item
    return Merged(tuple(taken.values()), tuple(shadowed))


def owner_of(uri: str, resources: Sequence[tuple[ServerName, Listed]]) -> ServerName | None:
    """The first server whose list has this URI, or else whose template fits it."""
    exact = (server for server, listed in resources if listed.name == "resources" and uri in listed.index())
    return next(exact, None) or next(_fitting(uri, resources), None)


def _fitting(uri: str, resources: Sequence[tuple[ServerName, Listed]]) -> Iterator[ServerName]:
    for server, listed in resources:
        if listed.name == "templates" and any(template_fits(template, uri) for template in listed.index()):
            yield server


_expression = re.compile(r"\{([^{}]*)\}")
_OPEN_OPERATORS = ("+", "#", "/", ".", ";", "?", "&")


def template_fits(template: str, uri: str) -> bool:
    """Whether a URI could come from a template: enough of RFC 6570 to find an owner. Each literal is looked for once,
    from left to right, so a hostile template costs no more than its length."""
    pieces = _expression.split(template)
    literals, expressions = pieces[::2], pieces[1::2]
    if not expressions:
        return template == uri
    if not uri.startswith(literals[0]):
        return False
    at = len(literals[0])
    for number, expression in enumerate(expressions):
        literal = literals[number + 1]
        last = number == len(expressions) - 1
        end = uri.find(literal, at) if literal and not last else len(uri) - len(literal) if last else at
        if end < at or not uri.startswith(literal, end):
            return False
        if "/" in uri[at:end] and not (expression.startswith(_OPEN_OPERATORS) or expression.endswith("*")):
            return False
        at = end + len(literal)
    return True


def tightest(hints: Iterable[CacheHints | None]) -> CacheHints | None:
    """For an answer made of several: the shortest time, and private if any part is or says nothing. None when no part
    says anything, or there is none."""
    parts = list(hints)
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) < len(parts):
        return CacheHints(0, "private")
    private = any(part.scope == "private" for part in known)
    return CacheHints(min(part.ttl_ms for part in known), "private" if private else "public")


def list_payload(name: ListName, items: Sequence[Raw], extras: Fields) -> bytes:
    """A list result: entries as they are, then whatever else belongs to it."""
    head = b'{"' + LISTS[name].key.encode() + b'":[' + b",".join(bytes(item) for item in items) + b"]"
    rest = b"".join(b"," + write(key) + b":" + bytes(value) for key, value in extras.items())
    return head + rest + b"}"
