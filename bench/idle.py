"""Memory of idle legacy sessions: many are opened, the gateway's memory is read before and after.

Nothing is called, or, where each is to have connections to servers, one tool of each server once. PSS is what is read:
pages of its own, and its share of those it shares. The one rule: the sessions that are counted are alive, which a ping
of each one shows afterwards.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.connection import Connection, WrongAnswer, open_session
from bench.figures import per_each
from bench.hops import Street
from bench.processes import Program
from bench.wire import Caller, Errand, Place, check

WARM_UP = 100
"""Sessions before the first reading, so that what is made once is not divided among those that are counted."""
_STEADY = 0.002
_SETTLE_SECONDS = 6.0
_LOOK_SECONDS = 0.25


@dataclass(slots=True, frozen=True)
class Idle:
    """`grown` maps a number of sessions to the bytes of each."""

    streams: bool
    empty: int
    grown: dict[int, float]


def measure_idle(street: Street, numbers: tuple[int, ...], streams: bool, servers: int = 0, path: str = "") -> Idle:
    """A gateway of its own, and ever more sessions, each connected to so many servers at that path of the backend."""
    names = [f"bench{number}" for number in range(servers)]
    program, port = street.gateway({name: street.http_server(path) for name in names})
    crowd = _Crowd(Place(port, "/mcp"), streams, names)
    try:
        empty = program.memory()
        crowd.grow_to(WARM_UP)
        before = _settled(program)
        grown = {}
        for number in numbers:
            crowd.grow_to(WARM_UP + number)
            grown[number] = per_each(before, _settled(program), number)
        crowd.must_be_alive()
        return Idle(streams, empty, grown)
    finally:
        crowd.close()
        street.stop(program)


class _Crowd:
    """Sessions, and for each one an open stream when that is wanted, and connections to servers."""

    def __init__(self, place: Place, streams: bool, servers: list[str]) -> None:
        self._place = place
        self._has_streams = streams
        self._servers = servers
        self._callers: list[Caller] = []
        self._streams: list[Connection] = []

    def grow_to(self, number: int) -> None:
        connection = Connection(self._place.port)
        while len(self._callers) < number:
            caller = Caller(Errand("legacy"), self._place, len(self._callers))
            open_session(connection, caller)
            self._callers.append(caller)
            for server in self._servers:
                _use(connection, caller, server)
            if self._has_streams:
                self._open_stream(caller)
        connection.close()

    def must_be_alive(self) -> None:
        connection = Connection(self._place.port)
        for caller in self._callers:
            answer = connection.exchange(caller.ping())
            if answer.status != 200:
                raise WrongAnswer(f"an idle session is gone: status {answer.status}: {answer.body()[:200]!r}")
        connection.close()

    def close(self) -> None:
        for stream in self._streams:
            stream.close()

    def _open_stream(self, caller: Caller) -> None:
        stream = Connection(self._place.port)
        self._streams.append(stream)
        answer = stream.opening(caller.listening())
        if answer.status != 200 or not answer.stream:
            raise WrongAnswer(f"no stream: status {answer.status}: {answer.body()[:200]!r}")


def _use(connection: Connection, of: Caller, server: str) -> None:
    """One call, so that the session is connected to that server."""
    caller = of.elsewhere(Errand("legacy", via="execute_tool"), server)
    asked = caller.call()
    answer = connection.exchange(asked.data)
    if complaint := check(asked, answer.status, answer.body(), answer.stream, wrapped=True):
        raise WrongAnswer(complaint)


def _settled(program: Program) -> int:
    """The memory once it no longer changes, or after a while whatever it is."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    last = program.memory()
    while time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        now = program.memory()
        if abs(now - last) <= _STEADY * last:
            return now
        last = now
    return last
