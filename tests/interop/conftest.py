"""The gateway of the interop tests, and the tables they print at the end.

The one rule: what cannot be installed because its registry does not answer is skipped with that reason; any other
failure to install fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import DRIVERS, MCP1, MCP2
from tests.support.third_party import CannotInstall, python_with

Row = tuple[str, ...]
TABLES: dict[str, list[Row]] = {}


def installed(install: Callable[..., Any], *wanted: Any) -> Any:
    try:
        return install(*wanted)
    except CannotInstall as error:
        if error.unreachable:
            pytest.skip(str(error)[:300])
        raise


@pytest.fixture(scope="session")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers write down which calls were cancelled."""
    return tmp_path_factory.mktemp("interop") / "left"


@pytest.fixture(scope="session")
def config(left: Path) -> Path:
    """A server of each era on stdio, both on the official SDK."""
    servers = {
        name: {
            "command": str(installed(python_with, *requirement)),
            "args": [str(DRIVERS / "backend.py")],
            "env": {"NAME": name, "LEFT": str(left)},
        }
        for name, requirement in (("legacy", MCP1), ("modern", MCP2))
    }
    file = left.with_name("mcp.json")
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    for title, rows in TABLES.items():
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        terminalreporter.section(title)
        for row in rows:
            terminalreporter.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    return (yield)
