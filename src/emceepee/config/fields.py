"""The fields of one object in a configuration, taken one by one and checked for their type.

It knows no field's meaning (that is `entry`). It remembers where each value stands, so that a mistake found later, in
the finished definition, is still told with its place.

The one rule: a value of the wrong type is reported and then absent; nothing here raises, and no value is ever repeated
in a report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emceepee.config.jsonc import Node
from emceepee.config.problems import Report
from emceepee.config.variables import expand

_head = re.compile(r"[^.\[]*")


class Fields:
    """What of an object was taken so far, where each field's value stands, and how its texts are expanded. A `lenient`
    reader (of a disabled entry) finds what the environment lacks worth a note only."""

    def __init__(self, node: Node, where: str, report: Report, environment: Mapping[str, str]) -> None:
        self.node = node
        self.where = where
        self.report = report
        self.environment = environment
        self.lenient = False
        self.seen: dict[str, Node] = {}
        self.spelled: dict[str, str] = {}
        self._taken: set[str] = set()

    def path(self, field: str) -> str:
        """Where a field stands, under the key by which this file calls it."""
        head = _head.match(field)
        key = head.group() if head else field
        return f"{self.where}.{self.spelled.get(key, key)}{field[len(key) :]}" if field else self.where

    def take(self, *keys: str) -> Node | None:
        """The value under the first of these keys; a second one is a mistake. The field is named by the key found."""
        found = [key for key in keys if key in self.node.members]
        self._taken.update(found)
        if not found:
            return None
        member = self.node.members[found[0]]
        for other in found[1:]:
            extra = self.node.members[other]
            what = f"means the same as '{found[0]}', which is given too"
            self.report.at_key(extra, f"{self.where}.{other}", what, "keep one")
        for key in keys:
            self.seen[key] = member
            self.spelled[key] = found[0]
        return member

    def rest(self) -> dict[str, Any]:
        return {key: node.plain() for key, node in self.node.members.items() if key not in self._taken}

    def wrong(self, node: Node, field: str, what: str, cure: str = "") -> None:
        self.report.error(node, self.path(field), what, cure)

    def text(self, node: Node | None, field: str) -> str | None:
        """A string with its variables replaced. A number or a truth value is taken as it would be typed."""
        if node is None:
            return None
        self.seen[field] = node
        if node.kind in ("number", "boolean"):
            value = str(node.value).lower() if node.kind == "boolean" else str(node.value)
            self.report.note(node, self.path(field), f"{a(node.kind)} is taken as the text it looks like", "put quotes")
            return value
        if node.kind != "string":
            self.wrong(node, field, f"this has to be a text, not {a(node.kind)}", 'write "…"')
            return None
        value, complaints = expand(node.value, self.environment)
        for what, cure in complaints:
            self.missing(node, field, what, cure)
        return value

    def texts(self, node: Node | None, field: str) -> list[str]:
        if node is None:
            return []
        if node.kind != "array":
            self.wrong(node, field, f"this has to be a list, not {a(node.kind)}", 'write ["…", "…"]')
            return []
        values = [self.text(item, f"{field}[{index}]") for index, item in enumerate(node.items)]
        return [value for value in values if value is not None]

    def table(self, node: Node | None, field: str) -> dict[str, str]:
        if node is None:
            return {}
        if node.kind != "object":
            what = f"this has to be a map of names to texts, not {a(node.kind)}"
            self.wrong(node, field, what, 'write {"NAME": "…"}')
            return {}
        values = {name: self.text(member, f"{field}.{name}") for name, member in node.members.items()}
        return {name: value for name, value in values.items() if value is not None}

    def truth(self, node: Node | None, field: str) -> bool | None:
        if node is None:
            return None
        if node.kind == "boolean":
            return bool(node.value)
        if node.kind == "string" and node.value.lower() in ("true", "false"):
            self.report.note(node, self.path(field), "a text is taken as true or false", "remove the quotes")
            return bool(node.value.lower() == "true")
        self.wrong(node, field, f"this has to be true or false, not {a(node.kind)}")
        return None

    def number(self, node: Node | None, field: str) -> float | None:
        if node is None:
            return None
        self.seen[field] = node
        if node.kind == "number":
            return float(node.value)
        self.wrong(node, field, f"this has to be a number, not {a(node.kind)}")
        return None

    def missing(self, node: Node, field: str, what: str, cure: str) -> None:
        """Something outside of the file is not there."""
        say = self.report.note if self.lenient else self.report.error
        say(node, self.path(field), what, cure)


def a(kind: str) -> str:
    """A kind of node as a person would say it, for sentences such as "this has to be a text, not {a(kind)}"."""
    return {"null": "null", "string": "a text", "boolean": "true or false", "object": "a map { … }"}.get(
        kind, "a list [ … ]" if kind == "array" else f"a {kind}"
    )
