"""`emceepee audit`: what was asked of models, by whom, what was decided, and what it cost.

The one rule: it reads and prints; nothing that it finds makes it write.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from emceepee.cli.printing import counted, print_json, table
from emceepee.config.load import load
from emceepee.errors import OperatorFault
from emceepee.sampling.audit_files import Found, Wanted, read_audit
from emceepee.sampling.content import Json


def audit(options: argparse.Namespace) -> int:
    path = _path(options)
    wanted = Wanted(options.server, options.outcome, options.workspace)
    try:
        found = read_audit(path, wanted, options.limit)
    except FileNotFoundError:
        raise OperatorFault(f"there is no {path}: nothing was recorded yet, or it is another file") from None
    except (OSError, sqlite3.Error) as error:
        raise OperatorFault(f"{path} cannot be read: {error}") from None
    if options.json:
        print_json({"file": str(path), "records": found.entries, "unreadable": found.unread})
    else:
        _print(found)
    return 0


def _path(options: argparse.Namespace) -> Path:
    if options.file:
        return Path(options.file).expanduser()
    loaded = load(getattr(options, "config", None) or [], os.environ, Path.cwd())
    file = loaded.settings.sampling.audit.file
    if file is None:
        raise OperatorFault("no records are kept: give 'sampling.audit.file' in the configuration, or name a file")
    return Path(file).expanduser()


def _print(found: Found) -> None:
    head = ("WHEN", "SERVER", "WORKSPACE", "OUTCOME", "MODEL", "TOKENS", "COST", "WHY")
    if found.entries:
        print(table(head, [_row(entry) for entry in found.entries]))
    tokens = sum(_figure(entry, "inputTokens") + _figure(entry, "outputTokens") for entry in found.entries)
    cost = sum(_figure(entry, "cost") for entry in found.entries)
    unread = f", {counted(found.unread, 'line')} that cannot be read" if found.unread else ""
    print(f"{counted(len(found.entries), 'record')}, {tokens:g} tokens, cost {cost:.4g}{unread}")


def _row(entry: Json) -> Sequence[str]:
    tokens = f"{_figure(entry, 'inputTokens'):g}+{_figure(entry, 'outputTokens'):g}"
    cost = f"{_figure(entry, 'cost'):.4g}" if "cost" in entry else "-"
    plain = [str(entry.get(key, "-")) for key in ("timestamp", "server", "workspace", "outcome", "model")]
    return (*plain, tokens, cost, _why(entry))


def _why(entry: Json) -> str:
    """The step at which it ended, or how the model was chosen."""
    match entry:
        case {"message": str(message), "steps": [*_, {"step": str(step), "outcome": str(outcome)}]}:
            return f"{step}: {outcome.removeprefix('refused: ') or message}"
        case {"message": str(message)}:
            return message
        case {"why": [*_, last]}:
            return str(last)
    return "-"


def _figure(entry: Json, key: str) -> float:
    value = entry.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
