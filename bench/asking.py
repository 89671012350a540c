"""How long a server's question takes to whoever waits for it with `await_activity`, and a plain call beside it.

The one rule: the way of a question is timed from before its server writes it until the client has read the answer that
brings it, by one clock; a call from before it is written until its answer is read.
"""

from __future__ import annotations

import statistics
import sys
import time
from time import monotonic_ns
from typing import Any

import msgspec

from bench.backend_asking import A_MOMENT
from bench.connection import Connection, WrongAnswer, open_session
from bench.hops import Street
from bench.processes import free_port
from bench.starting import Compared
from bench.wire import Caller, Errand, Place, check, last_event

_NANO = 1e-9


class _Client:
    """A session on `/mcp` that uses its tools. Two of these share one session, each with a connection."""

    def __init__(self, port: int, caller: Caller) -> None:
        self._connection = Connection(port)
        self._caller = caller

    def open(self) -> None:
        open_session(self._connection, self._caller)

    def send(self, tool: str, arguments: dict[str, Any]) -> None:
        self._connection.socket.sendall(self._caller.use(tool, arguments))

    def read(self) -> list[Any]:
        """The blocks of the answer, each decoded where it is JSON."""
        answer = self._connection.exchange(b"")
        body = last_event(answer.body()) if answer.stream else answer.body()
        try:
            blocks = msgspec.json.decode(body)["result"]["content"]
        except (msgspec.DecodeError, LookupError, TypeError):
            raise WrongAnswer(f"status {answer.status}: {body[:300]!r}") from None
        return [_decoded(block["text"]) for block in blocks]

    def use(self, tool: str, /, **arguments: Any) -> list[Any]:
        self.send(tool, arguments)
        return self.read()

    def close(self) -> None:
        self._connection.close()


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def measure_asked(street: Street, rounds: int, times: int) -> Compared:
    """Medians of each round, in seconds."""
    port = free_port()
    street.program("asking", [sys.executable, "-m", "bench.backend_asking", str(port)], port)
    servers = {
        "asking": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
        "bench": street.http_server("/legacy"),
    }
    program, gateway = street.gateway(servers)
    caller = Caller(Errand("legacy"), Place(gateway, "/mcp"), 0)
    waiter = _Client(gateway, caller)
    waiter.open()
    worker = _Client(gateway, caller.elsewhere(Errand("legacy"), "asking"))
    plain = Caller(Errand("legacy"), Place(gateway, "/servers/bench/mcp"), 1)
    beside = Connection(gateway)
    open_session(beside, plain)
    took = []
    try:
        for turn in range(rounds + 1):
            asked = statistics.median(_asked(waiter, worker) for _ in range(times))
            called = statistics.median(_called(beside, plain) for _ in range(times))
            # The first round is for warming up.
            if turn:
                took.append((asked, called))
    finally:
        waiter.close()
        worker.close()
        beside.close()
        street.stop(program)
    return Compared(("a question", "a call"), tuple(mine for mine, _ in took), tuple(its for _, its in took))


def _asked(waiter: _Client, worker: _Client) -> float:
    task = worker.use("execute_tool", server="asking", tool="ask", args={}, timeout_ms=0)[0]["task"]["taskId"]
    waiter.send("await_activity", {"event_types": ["elicitation_request"], "timeout_ms": 5000})
    told = waiter.read()[0]
    arrived = monotonic_ns()
    (question,) = told["pending_client"]["elicitations"]
    if not told["events"]:
        raise WrongAnswer(f"the question was not told as an event: {told}")
    worker.use("respond_to_elicitation", request_id=question["requestId"], action="decline")
    if not str(worker.use("get_task_result", task_id=task, timeout_ms=5000)[0]).startswith("ask-"):
        raise WrongAnswer("the call that asked did not end")
    return (arrived - int(question["message"])) * _NANO


def _called(connection: Connection, caller: Caller) -> float:
    asked = caller.call()
    # As long as nothing happens before the question, so that everybody has to wake up here too.
    time.sleep(A_MOMENT)
    began = monotonic_ns()
    answer = connection.exchange(asked.data)
    took = monotonic_ns() - began
    if complaint := check(asked, answer.status, answer.body(), answer.stream):
        raise WrongAnswer(complaint)
    return took * _NANO
