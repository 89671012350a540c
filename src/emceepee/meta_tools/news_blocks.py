"""What every answer of our tools carries besides its result: events, then what waits for the client.

The one rule: with nothing to report there is exactly the result; an event that rides on an answer is leased to it, and
delivered only when that answer was.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.meta_tools.answers import text_block
from emceepee.sessions.workspace import Workspace
from emceepee.state.events import Lease
from emceepee.vocabulary.outcomes import Delivery, Done
from emceepee.vocabulary.raw_json import NotThatShape, read_items, write


class Handover:
    """Joins the fate of the events with that of whatever else depends on the answer."""

    def __init__(self, workspace: Workspace, lease: Lease, other: Delivery | None) -> None:
        self._workspace = workspace
        self._lease = lease
        self._other = other

    def committed(self) -> None:
        self._workspace.commit(self._lease)
        if self._other is not None:
            self._other.committed()

    def lost(self) -> None:
        self._workspace.give_back(self._lease)
        if self._other is not None:
            self._other.lost()


def with_news(done: Done, workspace: Workspace) -> Done:
    """The answer with its blocks. Nothing may be awaited between this and handing the answer to the front."""
    reminders = workspace.asks.reminders()
    lease = workspace.lease() if workspace.events.has_new else None
    if lease is None and reminders is None:
        return done
    blocks: list[Any] = [] if lease is None else [text_block(write(events_block(lease)))]
    if reminders is not None:
        blocks.append(text_block(write({"pending_client_action": reminders})))
    payload = done.payload.changed({"content": [*_content(done), *blocks]})
    delivery = done.delivery if lease is None else Handover(workspace, lease, done.delivery)
    return Done(payload, done.hints, done.wrapped, delivery)


def events_block(lease: Lease) -> dict[str, Any]:
    said: dict[str, Any] = {"events_since_last_response": [event.shown() for event in lease.events]}
    return said if lease.gap is None else said | {"events_dropped": lease.gap.shown()}


def _content(done: Done) -> list[Raw]:
    try:
        return read_items(done.payload.get("content") or b"[]")
    except NotThatShape:
        return []
