"""Read one server's list to its end, whatever pages it comes in.

The one rule: a server decides neither how often nor how much we read: pages and bytes are bounded and a cursor is
followed once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from msgspec import Raw

from emceepee.backends.catalogue import LISTS, Listed, ListName, make_listed, tightest
from emceepee.errors import BackendViolation
from emceepee.relay.ports import Connection
from emceepee.relay.settings import RelaySettings
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import Scope, ServerName
from emceepee.vocabulary.outcomes import CacheHints, Done, Failed, settled
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_items

_log = logging.getLogger("emceepee.relay")


async def drain(
    server: ServerName, scope: Scope, name: ListName, connection: Connection, settings: RelaySettings
) -> Listed | Failed:
    """All pages as one list, or the error that the server answered. Raises `BackendFault`."""
    kind = LISTS[name]
    if not connection.about.offers(kind.family):
        return make_listed(name, (), {}, None)
    pages = _Pages(server, name, settings)
    params: Fields = {}
    while True:
        asked = Call(kind.method, params, Caller(scope))
        outcome = settled(await connection.request(asked, None, settings.list_timeout))
        if isinstance(outcome, Failed):
            return outcome
        cursor = pages.add(outcome)
        if cursor is None:
            return pages.whole()
        params = {"cursor": cursor}


class _Pages:
    def __init__(self, server: ServerName, name: ListName, settings: RelaySettings) -> None:
        self._server = server
        self._name = name
        self._settings = settings
        self._items: list[Raw] = []
        self._extras: Fields = {}
        self._hints: list[CacheHints | None] = []
        self._cursors: set[bytes] = set()
        self._bytes = 0
        self._truncated: str | None = None

    def add(self, page: Done) -> Raw | None:
        """Keep a page; the cursor of the next one, or None at the end. An empty string is a cursor like any other."""
        fields = dict(_fields(self._server, self._name, page))
        key = LISTS[self._name].key
        items = _entries(self._server, fields.pop(key, None), key)
        cursor = fields.pop("nextCursor", None)
        if not self._hints:
            self._extras = fields
        self._hints.append(page.hints)
        self._items.extend(items)
        self._bytes += sum(len(bytes(item)) for item in items)
        if cursor is None or bytes(cursor) == b"null":
            return None
        self._truncated = self._reason_to_stop(bytes(cursor))
        return None if self._truncated else cursor

    def _reason_to_stop(self, cursor: bytes) -> str | None:
        if cursor in self._cursors:
            return "the same cursor came twice"
        self._cursors.add(cursor)
        if len(self._hints) >= self._settings.max_pages:
            return f"more than {self._settings.max_pages} pages"
        if self._bytes > self._settings.max_list_bytes:
            return f"more than {self._settings.max_list_bytes} bytes"
        return None

    def whole(self) -> Listed:
        hints = tightest(self._hints)
        if self._truncated is None:
            return make_listed(self._name, self._items, self._extras, hints)
        data = {"server": self._server, "list": self._name, "reason": self._truncated, "kept": len(self._items)}
        _log.warning("list_truncated", extra={"data": data})
        return make_listed(self._name, self._items, self._extras, hints, truncated=True)


def _fields(server: ServerName, name: ListName, page: Done) -> Fields:
    try:
        return page.payload.fields()
    except NotThatShape:
        raise BackendViolation(server, f"its answer to {LISTS[name].method} is no object") from None


def _entries(server: ServerName, raw: Raw | None, key: str) -> list[Raw]:
    try:
        items = read_items(raw if raw is not None else b"[]")
    except NotThatShape:
        raise BackendViolation(server, f"'{key}' in its answer is no list") from None
    return list(_objects(server, key, items))


def _objects(server: ServerName, key: str, items: list[Raw]) -> Iterator[Raw]:
    """What is no object at all cannot be shown to anybody; its neighbours can."""
    for item in items:
        try:
            read_fields(item)
        except NotThatShape:
            _log.warning("list_entry_dropped", extra={"data": {"server": server, "list": key}})
        else:
            yield item
