"""One mistake in a configuration: where it is, what it is, and what to do about it; and the collecting of them.

The one rule: a problem never repeats a value, only names and places; values are where secrets are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from emceepee.config.jsonc import Document, Node

Severity: TypeAlias = Literal["error", "note"]


@dataclass(slots=True, frozen=True)
class Problem:
    """`where` is the path inside the file (`mcpServers.files.args[1]`), empty for the file as a whole. A note changes
    nothing; an error costs the server, or the file, that it is in."""

    file: str
    line: int
    column: int
    where: str
    what: str
    cure: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: {self.severity}: "
        where = f"{self.where}: " if self.where else ""
        return place + where + self.what + (f" ({self.cure})" if self.cure else "")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Report:
    """What was found in one file. Whoever reads the file goes on after reporting, so that all mistakes come at once."""

    def __init__(self, file: str, document: Document) -> None:
        self.file = file
        self._document = document
        self.problems: list[Problem] = []
        for mistake in document.mistakes:
            self._add(mistake.offset, "", mistake.what, mistake.cure, "error")

    def error(self, node: Node, where: str, what: str, cure: str = "") -> None:
        self._add(node.offset, where, what, cure, "error")

    def note(self, node: Node, where: str, what: str, cure: str = "") -> None:
        self._add(node.offset, where, what, cure, "note")

    def at_key(self, node: Node, where: str, what: str, cure: str = "", severity: Severity = "error") -> None:
        """As the others, but about the key in front of a value."""
        self._add(node.key_offset if node.key_offset >= 0 else node.offset, where, what, cure, severity)

    def _add(self, offset: int, where: str, what: str, cure: str, severity: Severity) -> None:
        line, column = self._document.place(offset)
        self.problems.append(Problem(self.file, line, column, where, what, cure, severity))

    @property
    def errors(self) -> int:
        return sum(problem.severity == "error" for problem in self.problems)
