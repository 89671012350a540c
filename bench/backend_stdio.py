"""The cheapest MCP server on standard streams: read what is there, answer each line, write once.

    python -m bench.backend_stdio legacy|modern

No loop, no threads. The one rule: as `backend_http`, it must be the cheapest part of what is measured with it.
"""

from __future__ import annotations

import os
import sys

from bench.answers import answer
from bench.wire import Era


def _serve(era: Era) -> None:
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        said = [found for line in lines if line.strip() and (found := answer(line, era)) is not None]
        unsent = b"".join(line + b"\n" for line in said)
        while unsent:
            unsent = unsent[os.write(1, unsent) :]


if __name__ == "__main__":
    _serve("modern" if sys.argv[1] == "modern" else "legacy")
