"""Runs a program under cProfile with a clock that counts CPU only, so that other work on the machine is not counted.

    python -m bench.counted FILE PROGRAM ARGUMENTS…

The one rule: what was counted is written whatever ends the program.
"""

from __future__ import annotations

import cProfile
import runpy
import sys
from time import thread_time


def main(file: str, program: str, arguments: list[str]) -> None:
    sys.argv = [program, *arguments]
    profile = cProfile.Profile(thread_time)
    try:
        profile.runcall(runpy.run_path, program, run_name="__main__")
    finally:
        profile.dump_stats(file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
