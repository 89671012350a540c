"""The scenarios of the tasks extension, which no revision requires: FastMCP's server, directly and through the gateway.

The server makes tasks of calls by itself; through the gateway they are ours. The one rule: as everywhere here, what
passes directly and not through us is lost.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conformance.suite import Suite
from tests.conformance.verdicts import Row, Run, compare
from tests.support.children import free_port, running
from tests.support.third_party import python_with, source_of

FASTMCP = "4.1.2"
REVISION = "2026-07-28"
HERE = Path(__file__).parent


def judge(suite: Suite, keep: Path | None = None) -> tuple[list[Row], Run]:
    """One row for each scenario, and the direct run."""
    with _serving(keep) as (reference, gateway):
        direct = suite.run_tasks(f"{reference}/mcp", REVISION)
        return compare(direct, suite.run_tasks(f"{gateway}/servers/tasks/mcp", REVISION), {}), direct


@contextmanager
def _serving(keep: Path | None) -> Iterator[tuple[str, str]]:
    python = python_with("conformance-tasks", f"fastmcp[tasks]=={FASTMCP}")
    source = source_of("fastmcp", FASTMCP)
    with ExitStack() as stack:
        logs = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-tasks-")))
        logs.mkdir(parents=True, exist_ok=True)
        behind, port = free_port(), free_port()
        program = [str(python), str(HERE / "tasks_server.py"), str(source), str(behind)]
        stack.enter_context(running(program, logs / "tasks.log", behind))
        config = logs / "tasks.json"
        config.write_text(json.dumps({"mcpServers": {"tasks": {"url": f"http://127.0.0.1:{behind}/mcp"}}}))
        program = [sys.executable, "-m", "emceepee", "serve", "--config", str(config), "--port", str(port)]
        stack.enter_context(running([*program, "--no-state"], logs / "tasks-gateway.log", port))
        yield f"http://127.0.0.1:{behind}", f"http://127.0.0.1:{port}"
