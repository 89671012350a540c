"""The scenarios of the tasks extension, which no revision requires: FastMCP's server, directly and through the gateway.

The server makes tasks of calls by itself; through the gateway they are ours. The scenario that it fails by itself runs
in front of a server of ours (`asks_first.py`). The one rule: as everywhere here, what passes directly and not through
us is lost.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conformance.suite import Suite, SuiteFailed
from tests.conformance.verdicts import Row, Run, compare
from tests.support.children import free_port, running
from tests.support.third_party import python_with, source_of

FASTMCP = "4.1.2"
REVISION = "2026-07-28"
COMPOSITION = "tasks-mrtr-composition"
HERE = Path(__file__).parent


def judge(suite: Suite, keep: Path | None = None) -> tuple[list[Row], Run]:
    """One row for each scenario, and the direct run; of `COMPOSITION` what was seen in front of our server."""
    with _serving(keep) as (fastmcp, asks_first, gateway):
        direct = {
            **suite.run_tasks(f"{fastmcp}/mcp", REVISION),
            **suite.run_one(f"{asks_first}/mcp", COMPOSITION),
        }
        if not direct[COMPOSITION].good:
            raise SuiteFailed(f"asks_first.py itself does not pass: {direct[COMPOSITION].complaints()}")
        through = {
            **suite.run_tasks(f"{gateway}/servers/tasks/mcp", REVISION),
            **suite.run_one(f"{gateway}/servers/asks-first/mcp", COMPOSITION),
        }
        return compare(direct, through, {}), direct


@contextmanager
def _serving(keep: Path | None) -> Iterator[tuple[str, str, str]]:
    """FastMCP's server, ours, and a gateway in front of both."""
    python = python_with("conformance-tasks", f"fastmcp[tasks]=={FASTMCP}")
    source = source_of("fastmcp", FASTMCP)
    with ExitStack() as stack:
        logs = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-tasks-")))
        logs.mkdir(parents=True, exist_ok=True)
        fastmcp, asks_first, port = free_port(), free_port(), free_port()
        program = [str(python), str(HERE / "tasks_server.py"), str(source), str(fastmcp)]
        stack.enter_context(running(program, logs / "tasks.log", fastmcp))
        program = [sys.executable, str(HERE / "asks_first.py"), str(asks_first)]
        stack.enter_context(running(program, logs / "asks-first.log", asks_first))
        behind = {"tasks": fastmcp, "asks-first": asks_first}
        servers = {name: {"url": f"http://127.0.0.1:{one}/mcp"} for name, one in behind.items()}
        config = logs / "tasks.json"
        config.write_text(json.dumps({"mcpServers": servers}))
        program = [sys.executable, "-m", "emceepee", "serve", "--config", str(config), "--port", str(port)]
        stack.enter_context(running([*program, "--no-state"], logs / "tasks-gateway.log", port))
        yield f"http://127.0.0.1:{fastmcp}", f"http://127.0.0.1:{asks_first}", f"http://127.0.0.1:{port}"
