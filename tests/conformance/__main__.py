"""Runs the suite directly and through the gateway, in the four combinations of eras, and says what is lost.

    python -m tests.conformance [--client legacy|modern] [--backend legacy|modern] [--tasks] [--keep FOLDER]

Exit status 0: nothing scored is lost. 1: something is. 2: it could not be done, and why.

The one rule: direct and through differ in nothing but the gateway: same server process, same suite, same revision.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conformance import tasks
from tests.conformance.suite import PACKAGE, VERSION, Suite, SuiteFailed
from tests.conformance.verdicts import Row, Run, compare, idle_excuses, kept, lost, table
from tests.support.children import free_port, running
from tests.support.third_party import CannotInstall, python_with, source_of

HERE = Path(__file__).parent
SDK = "2.3.0"
ERAS = ("legacy", "modern")
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
OTHER_ERA: dict[str, dict[str, str]] = json.loads((HERE / "other_era.json").read_text())["cells"]


def excuses(client: str, backend: str) -> dict[str, str]:
    """The scenarios whose tool fails by itself where its server is spoken to in that era."""
    return OTHER_ERA.get(f"{client} client, {backend} backend", {})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__.split("\n")[0])
    parser.add_argument("--client", choices=ERAS, action="append", help="only this era of client")
    parser.add_argument("--backend", choices=ERAS, action="append", help="only this era of backend")
    parser.add_argument("--tasks", action="store_true", help="only the scenarios of the tasks extension")
    parser.add_argument("--keep", type=Path, help="leave the logs of gateway and reference there")
    options = parser.parse_args(argv)
    whole = not (options.client or options.backend)
    try:
        missed = _judge_tasks(options.keep) if whole or options.tasks else 0
        if options.tasks:
            return missed
        return _judge(options.client or ERAS, options.backend or ERAS, options.keep) or missed
    except (CannotInstall, SuiteFailed, RuntimeError) as error:
        print(f"the suite could not be run: {error}", file=sys.stderr)
        return 2


def _judge_tasks(keep: Path | None) -> int:
    rows, direct = tasks.judge(Suite(), keep)
    good, of = kept(rows, direct)
    print(f"tasks, in front of FastMCP {tasks.FASTMCP}'s server ({tasks.COMPOSITION}: of ours)\n{table(rows)}")
    skipped = [name for name, one in direct.items() if one.outcome == "skip"]
    left = len(skipped)
    print(f"\nkept {good - left} of {of - left}; the suite itself skips {', '.join(skipped) or 'none'}\n")
    return 1 if lost(rows) else 0


def _judge(clients: Sequence[str], backends: Sequence[str], keep: Path | None) -> int:
    began = time.monotonic()
    suite = Suite()
    print(f"{PACKAGE} {VERSION}, in front of the everything-server of mcp {SDK}")
    with _serving(keep) as (references, gateway):
        direct = {era: suite.run(references[era], REVISIONS[era]) for era in clients}
        broken = [name for run in direct.values() for name, one in run.items() if one.scored and not one.good]
        if broken:
            raise SuiteFailed(f"the reference itself does not pass {', '.join(broken)}")
        cells = {
            (client, backend): compare(
                direct[client],
                suite.run(f"{gateway}/servers/{backend}/mcp", REVISIONS[client]),
                excuses(client, backend),
            )
            for client in clients
            for backend in backends
        }
    return _report(cells, direct, time.monotonic() - began)


def _report(cells: dict[tuple[str, str], list[Row]], direct: dict[str, Run], seconds: float) -> int:
    for (client, backend), rows in cells.items():
        print(f"\n{client} client ({REVISIONS[client]}), {backend} backend\n{table(rows)}")
    print("\nclient  backend  kept   lost")
    for (client, backend), rows in cells.items():
        good, of = kept(rows, direct[client])
        excused = sum(row.word == "other era" for row in rows)
        beside = f" but {excused} whose tool cannot do it in that era" if excused else ""
        print(f"{client:7} {backend:8} {good:2}/{of:2}  {', '.join(lost(rows)) or f'nothing{beside}'}")
    named = sorted(
        {
            (row.name, excuses(*cell)[row.name])
            for cell, rows in cells.items()
            for row in rows
            if row.word == "other era"
        }
    )
    if named:
        print("\nfail by themselves in the other era (see other_era.json):")
        print("\n".join(f"  {name}: {why}" for name, why in named))
    everything = [row for rows in cells.values() for row in rows]
    idle = [name for cell, rows in cells.items() for name in idle_excuses(excuses(*cell), rows)]
    if idle:
        print(f"\nnot lost any more, to be taken out of other_era.json: {', '.join(idle)}")
    print(f"\n{seconds:.0f} s")
    return 1 if lost(everything) or idle else 0


@contextmanager
def _serving(keep: Path | None) -> Iterator[tuple[dict[str, str], str]]:
    """A reference of each era and one gateway in front of both; their addresses."""
    python = python_with("conformance-reference", f"mcp[cli]=={SDK}", "click>=8.2")
    source = source_of("mcp", SDK) / "examples" / "servers" / "everything-server"
    with ExitStack() as stack:
        logs = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        logs.mkdir(parents=True, exist_ok=True)
        references = {}
        for era in ERAS:
            port = free_port()
            program = [str(python), str(HERE / "everything.py"), str(source), str(port), era]
            stack.enter_context(running(program, logs / f"{era}.log", port))
            references[era] = f"http://127.0.0.1:{port}/mcp"
        config = logs / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {era: {"url": url} for era, url in references.items()}}))
        port = free_port()
        program = [
            sys.executable,
            "-m",
            "emceepee",
            "serve",
            "--config",
            str(config),
            "--port",
            str(port),
            "--no-state",
        ]
        gateway = stack.enter_context(running(program, logs / "gateway.log", port))
        yield references, f"http://127.0.0.1:{port}"
        if gateway.poll() is not None:
            raise RuntimeError(f"the gateway ended by itself:\n{(logs / 'gateway.log').read_text()[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
