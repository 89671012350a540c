"""One keep-alive connection of a client, and sessions opened over it. Plain blocking sockets.

It measures nothing. The one rule: nothing waits longer than `PATIENCE`, and what went wrong is said with what came.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from bench.http_answer import HttpAnswer
from bench.wire import Caller

PATIENCE = 30.0
"""Seconds. A hop that takes longer for one answer has failed."""
_CHUNK = 1 << 18


class WrongAnswer(RuntimeError):
    """A hop gave no answer, or not the right one, where nothing can be measured without it."""


class Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, data: bytes) -> HttpAnswer:
        """The whole answer."""
        for answer in self._reading(data):
            if answer.ended:
                return answer
        raise WrongAnswer("the connection was closed before the answer was complete")

    def opening(self, data: bytes) -> HttpAnswer:
        """The answer as soon as its head is there: that of a stream which stays open."""
        for answer in self._reading(data):
            if answer.begun:
                return answer
        raise WrongAnswer("the connection was closed before there was an answer")

    def close(self) -> None:
        self.socket.close()

    def _reading(self, data: bytes) -> Iterator[HttpAnswer]:
        try:
            self.socket.sendall(data)
            answer = HttpAnswer()
            while chunk := self.socket.recv(_CHUNK):
                answer.feed(chunk)
                yield answer
        except OSError as error:
            raise WrongAnswer(f"no answer: {error}") from error


def open_session(connection: Connection, caller: Caller) -> None:
    """The handshake of a legacy client, both halves."""
    welcome = connection.exchange(caller.hello())
    if welcome.status != 200 or b'"protocolVersion"' not in welcome.body():
        raise WrongAnswer(f"initialize: status {welcome.status}: {welcome.body()[:300]!r}")
    accepted = connection.exchange(caller.welcomed(welcome.session))
    if accepted.status != 202:
        raise WrongAnswer(f"notifications/initialized: status {accepted.status}: {accepted.body()[:300]!r}")
