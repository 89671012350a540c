"""Beginnings: how long `initialize` takes with many servers configured, and how long a client waits for us on stdio.

The one rule: what is compared takes turns, as calls do in `comparisons`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from time import perf_counter

from bench.connection import Connection, WrongAnswer
from bench.hops import EMCEEPEE, Street
from bench.processes import ROOT, CannotMeasure
from bench.wire import LEGACY_REVISION, Caller, Errand, Place

_SERVERS = 10
_START_SECONDS = 60.0


@dataclass(slots=True, frozen=True)
class Compared:
    """Seconds of each, one value a round."""

    what: tuple[str, str]
    one: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(mine / its for mine, its in zip(self.one, self.other, strict=True))


def measure_hello(street: Street, path: str, rounds: int, times: int) -> Compared:
    """`initialize` with ten HTTP servers configured, and with none."""
    many, many_port = street.gateway({f"bench{n}": street.http_server("/legacy") for n in range(_SERVERS)})
    none, none_port = street.gateway({})
    took: list[tuple[float, float]] = []
    try:
        _median_hello(Place(many_port, path), times)
        _median_hello(Place(none_port, path), times)
        for _ in range(rounds):
            took.append((_median_hello(Place(many_port, path), times), _median_hello(Place(none_port, path), times)))
    finally:
        street.stop(many)
        street.stop(none)
    return Compared((f"{_SERVERS} servers", "no server"), tuple(m for m, _ in took), tuple(n for _, n in took))


def _median_hello(place: Place, times: int) -> float:
    """Each session is opened, timed, and closed again."""
    connection = Connection(place.port)
    took = []
    for number in range(times):
        caller = Caller(Errand("legacy"), place, number)
        started = perf_counter()
        welcome = connection.exchange(caller.hello())
        took.append(perf_counter() - started)
        if welcome.status != 200 or welcome.session is None:
            raise WrongAnswer(f"initialize: status {welcome.status}: {welcome.body()[:200]!r}")
        caller.welcomed(welcome.session)
        if (gone := connection.exchange(caller.goodbye())).status >= 300:
            raise WrongAnswer(f"DELETE: status {gone.status}: {gone.body()[:200]!r}")
    connection.close()
    return statistics.median(took)


def measure_start(street: Street, rounds: int) -> Compared:
    """From starting `emceepee` to its first answer, and `python -c "import mcp"` beside it."""
    config = str(street.config({}))
    _first_answer(config)
    _import_mcp()
    took = [(_first_answer(config), _import_mcp()) for _ in range(rounds)]
    return Compared(("emceepee", "import mcp"), tuple(ours for ours, _ in took), tuple(its for _, its in took))


def _first_answer(config: str) -> float:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY_REVISION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    }
    started = perf_counter()
    process = subprocess.Popen(
        [EMCEEPEE, "--config", config],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    line = process.stdout.readline()
    took = perf_counter() - started
    process.stdin.close()
    process.wait(_START_SECONDS)
    process.stdout.close()
    if b'"protocolVersion"' not in line:
        raise CannotMeasure(f"emceepee on stdio answered {line[:200]!r}")
    return took


def _import_mcp() -> float:
    started = perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp"], cwd=ROOT, check=True, timeout=_START_SECONDS)
    return perf_counter() - started
