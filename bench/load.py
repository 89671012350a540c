"""The load generator: N clients in one process of its own, each with a connection and a session, one call at a time.

    python -m bench.load ERRAND PLACE

Both are JSON. Then commands come on standard input, and each is answered with a line of JSON on standard output:
`prepare` opens what is not open and makes some calls that are not counted; `run SECONDS` measures. It knows nothing of
hops. The one rule: every answer is checked, and one that is wrong or missing is counted as wrong, never left out.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import select
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from bench.connection import PATIENCE, Connection, WrongAnswer, open_session
from bench.figures import at_share
from bench.http_answer import HttpAnswer, NotHttp
from bench.wire import Asked, Caller, Errand, Place, check

_CHUNK = 1 << 18
_COMPLAINTS_TOLD = 3
_WARM_UP_CALLS = 4


class _Client:
    """One session and its connection, as long as that lives."""

    __slots__ = ("answer", "asked", "caller", "connection", "sent_at")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.connection: Connection | None = None
        self.asked = Asked(b"", 0, "")
        self.answer = HttpAnswer()
        self.sent_at = 0.0

    def send(self) -> None:
        assert self.connection is not None
        self.asked = self.caller.call()
        self.answer = HttpAnswer()
        self.sent_at = perf_counter()
        self.connection.socket.sendall(self.asked.data)


class Load:
    def __init__(self, errand: Errand, place: Place) -> None:
        self._errand = errand
        self._place = place
        self._clients = [_Client(Caller(errand, place, number)) for number in range(errand.sessions)]
        self._strangers = True
        """No session has been opened yet."""
        self._took: list[float] = []
        self._complaints: list[str] = []
        self._wrong = 0

    def prepare(self) -> dict[str, Any]:
        """New connections (an idle one may have been closed by the other end), sessions once, and a few calls."""
        for client in self._clients:
            if client.connection is not None:
                client.connection.close()
            client.connection = Connection(self._place.port)
            if self._strangers and self._errand.era == "legacy":
                open_session(client.connection, client.caller)
            for _ in range(_WARM_UP_CALLS if self._strangers else 1):
                asked = client.caller.call()
                if complaint := self._judge(asked, client.connection.exchange(asked.data)):
                    raise WrongAnswer(complaint)
        self._strangers = False
        return {"sessions": len(self._clients)}

    def run(self, seconds: float) -> dict[str, Any]:
        self._took, self._complaints, self._wrong = [], [], 0
        gc.collect()
        gc.disable()
        started = perf_counter()
        self._call_until(started + seconds)
        lasted = perf_counter() - started
        gc.enable()
        took = sorted(self._took)
        return {
            "calls": len(took),
            "wrong": self._wrong,
            "complaints": self._complaints,
            "seconds": lasted,
            "p50": at_share(0.50, took),
            "p99": at_share(0.99, took),
        }

    def close(self) -> None:
        for client in self._clients:
            if client.connection is not None:
                client.connection.close()

    def _call_until(self, deadline: float) -> None:
        """Keeps every client calling until then, and waits for the last answers."""
        poll = select.epoll()
        waiting: dict[int, _Client] = {}
        for client in self._clients:
            assert client.connection is not None
            waiting[client.connection.socket.fileno()] = client
            poll.register(client.connection.socket, select.EPOLLIN)
            client.send()
        while waiting:
            ready = poll.poll(PATIENCE)
            if not ready:
                self._note(f"no answer within {PATIENCE:.0f} s", len(waiting))
                break
            for descriptor, _ in ready:
                if self._is_done(waiting[descriptor], deadline):
                    poll.unregister(descriptor)
                    del waiting[descriptor]
        poll.close()

    def _is_done(self, client: _Client, deadline: float) -> bool:
        """Reads what has come for a client, and lets it go on; whether it will not."""
        assert client.connection is not None
        try:
            chunk = client.connection.socket.recv(_CHUNK)
            client.answer.feed(chunk)
        except (OSError, NotHttp) as error:
            self._note(f"no answer that can be read: {error}")
            return True
        if not chunk:
            self._note("the connection was closed in the middle of a call")
            return True
        if not client.answer.ended:
            return False
        now = perf_counter()
        self._took.append(now - client.sent_at)
        if complaint := self._judge(client.asked, client.answer):
            self._note(complaint)
        if now >= deadline:
            return True
        client.send()
        return False

    def _judge(self, asked: Asked, answer: HttpAnswer) -> str | None:
        return check(asked, answer.status, answer.body(), answer.stream, self._errand.via == "execute_tool")

    def _note(self, complaint: str, calls: int = 1) -> None:
        self._wrong += calls
        if len(self._complaints) < _COMPLAINTS_TOLD:
            self._complaints.append(complaint)


def main(errand: str, place: str) -> None:
    load = Load(Errand(**json.loads(errand)), Place(**json.loads(place)))
    does: dict[str, Callable[..., dict[str, Any]]] = {"prepare": load.prepare, "run": load.run}
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            said = does[command](*map(float, arguments))
        except (WrongAnswer, NotHttp, OSError) as error:
            said = {"failed": str(error)}
        print(json.dumps(said), flush=True)


def as_arguments(errand: Errand, place: Place) -> tuple[str, str]:
    """What `main` is started with."""
    return json.dumps(dataclasses.asdict(errand)), json.dumps(dataclasses.asdict(place))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
