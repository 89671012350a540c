"""The soak from a terminal: `python -m tests.soak [--sessions N] [--calls N] [--at-once N] [--seed N]`.

It prints its figures and ends with 1 when anything is more than before, or memory grew beyond its bound.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.load import Size
from tests.soak.run import soak
from tests.soak.verdict import problems

FULL = Size(sessions=1_000, calls=10_000, at_once=64)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--sessions", type=int, default=FULL.sessions)
    parser.add_argument("--calls", type=int, default=FULL.calls)
    parser.add_argument("--at-once", type=int, default=FULL.at_once)
    parser.add_argument("--seed", type=int, help="default: another one each time")
    options = parser.parse_args()
    size = Size(options.sessions, options.calls, options.at_once)
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311 -- repeatable, not secret
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(soak(size, seed, Path(folder)))
    found = problems(report)
    for line in (*report.lines(), *(f"LEAK: {problem}" for problem in found)):
        sys.stdout.write(line + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
