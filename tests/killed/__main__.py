"""From a terminal: `python -m tests.killed [--number N] [--era legacy|modern] [--seed N]`.

It prints what happened to whom, and ends with 1 when something was lost or came twice.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.killed.run import run

NUMBER = 500
ERAS = ("legacy", "modern")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.killed")
    parser.add_argument("--number", type=int, default=NUMBER, help="clients of each era")
    parser.add_argument("--era", choices=ERAS, action="append")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311 -- repeatable, not secret
    failed = False
    for era in options.era or ERAS:
        with tempfile.TemporaryDirectory() as folder:
            account = asyncio.run(run(era, options.number, seed, Path(folder)))
        problems = account.problems()
        failed = failed or bool(problems)
        title = f"{era}, {options.number} clients, seed {seed}"
        for line in (title, *account.lines(), *(f"WRONG: {problem}" for problem in problems), ""):
            sys.stdout.write(line + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
