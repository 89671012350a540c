"""The load generator against a server that gives wrong answers: they are counted, told, and nothing hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bench.answers import answer
from bench.connection import WrongAnswer
from bench.load import Load
from bench.wire import Errand, Place

Tamper = Callable[[int, bytes], bytes]
"""The number of the call and the right answer, to what is sent instead."""


@contextmanager
def _server(tamper: Tamper) -> Iterator[int]:
    """A modern server for one connection, in a thread that ends with the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        thread = threading.Thread(target=_serve, args=(listening, tamper))
        thread.start()
        yield listening.getsockname()[1]
    thread.join(10)
    assert not thread.is_alive()


def _serve(listening: socket.socket, tamper: Tamper) -> None:
    connection, _ = listening.accept()
    number = 0
    with connection:
        connection.settimeout(10)
        while request := connection.recv(1 << 16):
            said = answer(request.partition(b"\r\n\r\n")[2], "modern")
            assert said is not None
            said = tamper(number, said)
            if not said:
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
            number += 1


@contextmanager
def _load(tamper: Tamper) -> Iterator[Load]:
    with _server(tamper) as port:
        load = Load(Errand("modern", sessions=1), Place(port, "/modern"))
        try:
            yield load
        finally:
            load.close()


def test_right_answers_are_calls_and_none_is_wrong() -> None:
    with _load(lambda number, said: said) as load:
        load.prepare()
        said = load.run(0.05)
    assert said["calls"] > 0
    assert said["wrong"] == 0
    assert 0 < said["p50"] <= said["p99"]


def test_one_wrong_answer_is_counted_and_told() -> None:
    with _load(lambda number, said: said.replace(b"xxx", b"xyx", 1) if number == 5 else said) as load:
        load.prepare()
        said = load.run(0.05)
    assert said["wrong"] == 1
    assert "other words than were sent" in said["complaints"][0]


def test_a_connection_closed_in_the_middle_of_a_call_is_a_wrong_answer() -> None:
    with _load(lambda number, said: b"" if number == 6 else said) as load:
        load.prepare()
        said = load.run(5.0)
    assert said["wrong"] == 1
    assert said["seconds"] < 5.0


def test_nothing_is_measured_where_the_first_answer_is_wrong() -> None:
    with _load(lambda number, said: b'{"jsonrpc":"2.0","id":1,"result":{}}') as load, pytest.raises(WrongAnswer):
        load.prepare()
