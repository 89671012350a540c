"""What every client read, and what must follow from it.

The one rule: a thing counts as read when all of the response that carried it was.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_SIZE = re.compile(rb"content-length: (\d+)")


def read_response(memory: bytes) -> Json | None:
    """The JSON-RPC response in what was read; None when that is not all of it."""
    head, found, rest = memory.partition(b"\r\n\r\n")
    if not found:
        return None
    if b"transfer-encoding: chunked" in head.lower():
        body = _joined(rest)
        events = [] if body is None else [line[6:] for line in body.split(b"\n") if line.startswith(b"data: {")]
        return json.loads(events[-1]) if events else None
    size = _SIZE.search(head.lower())
    if size is None or len(rest) < int(size[1]):
        return None
    read: Json = json.loads(rest)
    return read


def _joined(chunked: bytes) -> bytes | None:
    body = b""
    while True:
        size, found, rest = chunked.partition(b"\r\n")
        if not found or len(rest) < int(size, 16) + 2:
            return None
        if not int(size, 16):
            return body
        body += rest[: int(size, 16)]
        chunked = rest[int(size, 16) + 2 :]


@dataclass
class Account:
    """`sent` are the tokens of calls that a client was to make, `came` those that it lived to make, `told` those of
    notifications that were to come."""

    sent: set[str] = field(default_factory=set)
    came: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    notified: set[str] = field(default_factory=set)
    tasks: Counter[str] = field(default_factory=Counter)
    cancelled: set[str] = field(default_factory=set)
    gaps: int = 0
    deaths: Counter[str] = field(default_factory=Counter)

    def read(self, response: Json) -> Any:
        """Note what a response carried; returns its first block, decoded if it is JSON."""
        blocks = [_decoded(block["text"]) for block in response["result"]["content"]]
        for block in blocks:
            if isinstance(block, dict):
                self._note(block)
        if isinstance(blocks[0], str) and blocks[0] in self.sent:
            self.answers[blocks[0]] += 1
        return blocks[0]

    def _note(self, block: Json) -> None:
        events = [event for of_server in block.get("events", ()) for event in of_server["events"]]
        for event in (*events, *block.get("events_since_last_response", ())):
            self.events[event["id"]] += 1
            if event["type"] == "notification":
                self.notified.add(event["data"]["params"]["token"])
        self.gaps += "events_dropped" in block

    def told_by_server(self, noted: Path) -> None:
        lines = [line.split() for line in noted.read_text().splitlines()]
        self.came = {token for what, token in lines if what == "came"}
        self.cancelled = {token for what, token in lines if what == "cancelled"}

    def problems(self) -> list[str]:
        answered, kept = set(self.answers), set(self.tasks)
        lost = self.came - answered - kept - self.cancelled
        found = {
            "calls whose result nobody can get": lost,
            "results that came twice": {*(answered & kept), *_twice(self.answers), *_twice(self.tasks)},
            "events that never came": self.told - self.notified,
            "events that came twice to clients that read them": _twice(self.events),
        }
        said = [f"{what}: {len(which)}, as {sorted(which)[:5]}" for what, which in found.items() if which]
        return said + ([f"gaps in the events: {self.gaps}"] if self.gaps else [])

    def lines(self) -> Iterable[str]:
        for how, number in sorted(self.deaths.items()):
            yield f"killed {how}: {number}"
        yield (
            f"calls that came: {len(self.came)}; results read {len(self.answers)}, kept as tasks {len(self.tasks)}, "
            + (f"cancelled by leaving {len(self.cancelled - set(self.answers) - set(self.tasks))}")
        )
        yield f"notifications: {len(self.told)}, arrived {len(self.notified)}; events read: {len(self.events)}"


def _twice(counted: Counter[str]) -> set[str]:
    return {name for name, number in counted.items() if number > 1}


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
