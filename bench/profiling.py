"""Where the gateway's CPU goes: one errand over one surface, with a profiler on the gateway.

    .venv/bin/python -m bench.profiling --surface /servers --era legacy           samples (py-spy, installed once)
    .venv/bin/python -m bench.profiling --exact                                   every call counted (cProfile)

Samples show what is dear without changing it, and find time in C; counting makes small functions look dearer than they
are, but it knows how often each one ran. It prints shares, and no figure of it belongs in a comparison. The one rule:
the gateway is started and called exactly as in `comparisons`.
"""

from __future__ import annotations

import argparse
import collections
import pstats
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.comparisons import Comparison, Pace, measure
from bench.hops import SURFACES, Street
from bench.measures import ERAS
from bench.processes import ROOT, CannotMeasure
from bench.wire import Errand

_HOME = ROOT / ".cache" / "py-spy"
_RATE = 500
_FILES = 40
_MICRO = 1_000_000
_FRAME = re.compile(r"(?P<name>.+) \((?P<file>.+):(?P<line>\d+)\)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.profiling", description=__doc__.partition("\n")[0])
    parser.add_argument("--surface", choices=[name.removeprefix("emceepee ") for name in SURFACES], default="/servers")
    parser.add_argument("--era", choices=ERAS, default="legacy")
    parser.add_argument("--tool", choices=("echo", "big"), default="echo")
    parser.add_argument("--backend", choices=("http", "stdio"), default="http")
    parser.add_argument("--answers", choices=("json", "sse"), default="json")
    parser.add_argument("--sessions", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--lines", type=int, default=45, help="of each table")
    parser.add_argument("--native", action="store_true", help="sample C functions too")
    parser.add_argument("--exact", action="store_true", help="count every call (cProfile)")
    return parser.parse_args()


def _comparison(found: argparse.Namespace, street: Street, under: list[str]) -> Comparison:
    errand = Errand(found.era, found.tool, found.sessions, answers=found.answers, backend=found.backend)
    return Comparison(street, errand).emceepee((f"emceepee {found.surface}",), under)


def _count(found: argparse.Namespace, street: Street, home: Path) -> None:
    """Under cProfile, which writes what it counted when the gateway has stopped."""
    file = home / "counted"
    under = [sys.executable, "-m", "bench.counted", str(file)]
    comparison = _comparison(found, street, under)
    [one] = comparison.measure(Pace(1, found.seconds))
    street.close()
    calls = one.samples[0].calls
    stats = pstats.Stats(str(file))
    print(f"{calls:,} calls; what is listed as run {calls:,} times ran once a call\n")
    _print_rooms(stats, calls)
    _print_functions(stats, calls, found.lines)


def _print_rooms(stats: pstats.Stats, calls: int) -> None:
    """Time and function calls by file; a builtin counts for the file that called it."""
    took: collections.defaultdict[str, float] = collections.defaultdict(float)
    ran: collections.Counter[str] = collections.Counter()
    for (file, _, _), (_, number, own, _, callers) in _functions(stats).items():
        if file != "~":
            took[file] += own * _MICRO
            ran[file] += number
            continue
        for (caller, _, _), (_, times, its, _) in callers.items():
            took[caller] += its * _MICRO
            ran[caller] += times
    print("µs and function calls for each call, by file (start and stop of the gateway included):")
    for file, micro in sorted(took.items(), key=lambda item: item[1], reverse=True)[:_FILES]:
        print(f"  {micro / calls:6.1f}  {ran[file] / calls:6.1f}  {_short(file)}")
    print(f"  {sum(took.values()) / calls:6.1f}  {sum(ran.values()) / calls:6.1f}  all of it\n")


def _print_functions(stats: pstats.Stats, calls: int, lines: int) -> None:
    dearest = sorted(_functions(stats).items(), key=lambda item: item[1][2], reverse=True)[:lines]
    print("µs for each call in the function itself, and with what it calls; how often it ran for each:")
    for (file, line, name), (_, number, own, whole, _) in dearest:
        micro = (own * _MICRO / calls, whole * _MICRO / calls, number / calls)
        print(f"  {micro[0]:6.1f}  {micro[1]:7.1f}  {micro[2]:6.1f}  {name} ({_short(file)}:{line})")


def _functions(stats: pstats.Stats) -> dict[tuple[str, int, str], tuple[int, int, float, float, dict[Any, Any]]]:
    found: dict[tuple[str, int, str], tuple[int, int, float, float, dict[Any, Any]]] = vars(stats)["stats"]
    return found


def _short(file: str) -> str:
    return re.sub(r".*/(?:site-packages|src|lib/python3\.\d+)/", "", file)


def _sample(found: argparse.Namespace, street: Street, home: Path) -> None:
    """With py-spy beside it."""
    file = home / "sampled"
    comparison = _comparison(found, street, [])
    [(hop, errand)] = comparison.ways
    command = [_py_spy(), "record", "--pid", str(hop.program.pid), "--duration", str(round(found.seconds) + 2)]
    command += ["--rate", str(_RATE), "--format", "raw", "--output", str(file), *(["--native"] if found.native else [])]
    watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    measure([(hop, errand)], Pace(1, found.seconds + 3))
    watcher.wait(60)
    _print_samples(file.read_text(), found.lines)


def _print_samples(text: str, lines: int) -> None:
    own: collections.Counter[str] = collections.Counter()
    below: collections.Counter[str] = collections.Counter()
    total = 0
    for line in text.splitlines():
        stack, _, times = line.rpartition(" ")
        frames = [_function(frame) for frame in stack.split(";")]
        total += int(times)
        own[frames[-1]] += int(times)
        for frame in set(frames):
            below[frame] += int(times)
    for title, counted in (("in the function itself", own), ("in it and what it calls", below)):
        print(f"{title}, of {total} samples:")
        for name, number in counted.most_common(lines):
            print(f"  {100 * number / total:5.1f} %  {name}")
        print()


def _function(frame: str) -> str:
    """The frame without its line, so that a function is one."""
    found = _FRAME.fullmatch(frame)
    return f"{found['name']} ({found['file'].replace(str(ROOT) + '/', '')})" if found else frame


def _py_spy() -> str:
    if found := shutil.which("py-spy"):
        return found
    program = _HOME / "bin" / "py-spy"
    if not program.exists():
        subprocess.run(["sh", "tools/make_venv.sh", str(_HOME)], cwd=ROOT, check=True)
        subprocess.run([str(_HOME / "bin" / "python"), "-m", "pip", "install", "-q", "py-spy"], cwd=ROOT, check=True)
    return str(program)


def main() -> None:
    found = _arguments()
    with tempfile.TemporaryDirectory(prefix="emceepee-bench-") as home:
        street = Street(Path(home))
        try:
            (_count if found.exact else _sample)(found, street, Path(home))
        except CannotMeasure as error:
            sys.exit(str(error))
        finally:
            street.close()


if __name__ == "__main__":
    main()
