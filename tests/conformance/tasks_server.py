"""FastMCP's own conformance server, with the tools that the tasks scenarios call. Run by an interpreter that has it.

    python tasks_server.py SOURCE PORT

The one rule: nothing of it is changed.
"""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    source, port = sys.argv[1:]
    sys.path.insert(0, source)
    import uvicorn

    server = importlib.import_module("tests.conformance.server")
    uvicorn.run(server.build_app(), host="127.0.0.1", port=int(port), log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main()
