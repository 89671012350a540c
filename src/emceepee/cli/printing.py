"""Text for people and JSON for programs.

The one rule: what a server sent is shown without the control characters that could rewrite a terminal; JSON is the only
thing on standard output when it was asked for.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

_control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_json(value: Any) -> None:
    """One object, indented; `msgspec.Raw` inside is written as it came."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.flush()


def plain(text: str) -> str:
    """The text with only line breaks and tabs left of its control characters."""
    return _control.sub("", text)


def one_line(text: str) -> str:
    """The first sentence's worth of a text, on one line."""
    return " ".join(plain(text).split())


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Columns as wide as needed; the last one is cut at the edge of the terminal, when there is one."""
    limit = width if width is not None else shutil.get_terminal_size((10_000, 24)).columns
    lines = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "\n".join(_row(line, widths, limit) for line in lines)


def _row(cells: Sequence[str], widths: Sequence[int], limit: int) -> str:
    left = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=False))
    room = max(limit - len(left), 20)
    last = cells[-1]
    return (left + (last if len(last) <= room else last[: room - 1] + "…")).rstrip()


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def how_to_connect(url: str, program: str = "emceepee") -> str:
    """What to paste where, so that a client finds the gateway that has just started. `program` is how we were
    called."""
    entry = f'{{"mcpServers": {{"emceepee": {{"type": "http", "url": "{url}"}}}}}}'
    code = f'{{"servers": {{"emceepee": {{"type": "http", "url": "{url}"}}}}}}'
    root = url.removesuffix("/mcp")
    return "\n".join(
        (
            f"emceepee serves {url}",
            f"  one server alone   {root}/servers/NAME/mcp",
            f"  all servers merged {root}/direct/mcp",
            "",
            f"  Claude Code        claude mcp add --transport http emceepee {url}",
            f"  Cursor             .cursor/mcp.json   {entry}",
            f"  VS Code            .vscode/mcp.json   {code}",
            f"  a terminal         {program} tools {url}",
            "",
        )
    )
