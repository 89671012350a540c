"""Whether dead servers slow down living ones: `make bench-dead`, or `python -m bench.dead [--rounds N] [--seconds N]`.

Two gateways take turns in one run: one with five healthy servers, and one with the same five and five more that are
dead or hang, each in its own way. Measured are `initialize` and `list_tools` of new sessions at the second, and calls
to the healthy five at both. It ends with 1 when a target is missed.

The one rule: what is compared differs in nothing but the five dead servers.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.comparisons import Pace, measure
from bench.connection import Connection, WrongAnswer, open_session
from bench.figures import Measured, cpu_per_call, median_latency
from bench.hops import Hop, Street
from bench.processes import free_port
from bench.wire import Caller, Errand, Place

HEALTHY = tuple(f"good{number}" for number in range(5))
GREETED_SECONDS = 0.1
LISTED_SECONDS = 2.5
"""The budget for listing, 2 s, and what it takes to say so."""
SLOWED = 1.1
_GREETINGS = 50
_LISTINGS = 5


@dataclass(frozen=True)
class Finding:
    what: str
    value: float
    target: float
    unit: str

    @property
    def missed(self) -> bool:
        return self.value > self.target

    def line(self) -> str:
        verdict = "MISSED" if self.missed else "reached"
        return f"{self.what:62} {self.value:8.3f} {self.unit:2} (at most {self.target:g}): {verdict}"


@contextmanager
def dead_servers() -> Iterator[dict[str, Any]]:
    """Nobody listens; it listens and never answers; it starts and is silent; it ends at once; there is no program."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(128)
        yield {
            "refused": {"type": "http", "url": f"http://127.0.0.1:{free_port()}/mcp"},
            "hanging": {"type": "http", "url": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"},
            "silent": {"command": "sleep", "args": ["600"]},
            "ending": {"command": "false"},
            "missing": {"command": "/no/such/program"},
        }


def measure_dead(street: Street, pace: Pace) -> list[Finding]:
    healthy = {name: street.http_server("/legacy") for name in HEALTHY}
    with dead_servers() as dead:
        alone, alone_port = street.gateway(healthy)
        beside, beside_port = street.gateway({**healthy, **dead})
        place = Place(beside_port, "/mcp", server=HEALTHY[0])
        findings = [
            Finding("initialize, the slowest of 50", _slowest_greeting(place), GREETED_SECONDS, "s"),
            Finding("list_tools of a new session, the slowest of 5", _slowest_listing(place), LISTED_SECONDS, "s"),
        ]
        errand = Errand("legacy", via="execute_tool", sessions=8)
        ways = [
            (Hop(f"{name} at {server}", program, Place(port, "/mcp", server=server)), errand)
            for server in HEALTHY
            for name, program, port in (("alone", alone, alone_port), ("beside the dead", beside, beside_port))
        ]
        measured = measure(ways, pace)
        return findings + _slowed(measured[::2], measured[1::2])


def _slowed(alone: list[Measured], beside: list[Measured]) -> list[Finding]:
    """Over all servers and rounds: a round of one server is a short time on a machine that does other things too."""
    for one in (*alone, *beside):
        if one.wrong:
            raise WrongAnswer(f"{one.hop}: {one.wrong} wrong answers: {one.samples[-1].complaints}")
    quantities = {"median latency": median_latency, "CPU of a call": cpu_per_call}
    return [
        Finding(
            f"{what}, beside the dead to alone",
            statistics.median(
                quantity(slow) / quantity(fast)
                for ours, theirs in zip(beside, alone, strict=True)
                for slow, fast in zip(ours.samples, theirs.samples, strict=True)
            ),
            SLOWED,
            "",
        )
        for what, quantity in quantities.items()
    ]


def _slowest_greeting(place: Place) -> float:
    connection = Connection(place.port)
    slowest = 0.0
    for number in range(_GREETINGS):
        caller = Caller(Errand("legacy"), place, number)
        began = perf_counter()
        welcome = connection.exchange(caller.hello())
        slowest = max(slowest, perf_counter() - began)
        if welcome.status != 200:
            raise WrongAnswer(f"initialize: status {welcome.status}: {welcome.body()[:200]!r}")
        caller.welcomed(welcome.session)
        connection.exchange(caller.goodbye())
    connection.close()
    return slowest


def _slowest_listing(place: Place) -> float:
    """Each of the healthy has to be listed; of the dead it is said that they are."""
    slowest = 0.0
    for number in range(_LISTINGS):
        connection, caller = Connection(place.port), Caller(Errand("legacy"), place, number)
        open_session(connection, caller)
        began = perf_counter()
        listed = connection.exchange(caller.use("list_tools", {}))
        slowest = max(slowest, perf_counter() - began)
        missing = [name for name in (*HEALTHY, "hanging") if name.encode() not in listed.body()]
        if listed.status != 200 or missing:
            raise WrongAnswer(f"list_tools: status {listed.status}, without {missing}: {listed.body()[:300]!r}")
        connection.exchange(caller.goodbye())
        connection.close()
    return slowest


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-dead")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="emceepee-bench-") as home:
        street = Street(Path(home))
        try:
            findings = measure_dead(street, Pace(options.rounds, options.seconds))
        finally:
            street.close()
    for finding in findings:
        print(finding.line())
    return 1 if any(finding.missed for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
