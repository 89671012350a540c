"""What the relay asks of the backends is what the backends have, and what the tests' fakes pretend."""

from __future__ import annotations

import inspect

import pytest

from emceepee.backends import connection, pool
from emceepee.relay import ports
from tests.support import fake_backends


@pytest.mark.parametrize(
    ("port", "kept_by"),
    [
        (ports.Pool, pool.Pool),
        (ports.Pool, fake_backends.FakePool),
        (ports.Connection, connection.Connection),
        (ports.Connection, fake_backends.FakeConnection),
    ],
)
def test_each_method_takes_the_same_parameters(port: type, kept_by: type) -> None:
    methods = [(name, member) for name, member in vars(port).items() if inspect.isfunction(member) and name[0] != "_"]
    assert methods
    for name, member in methods:
        kept = getattr(kept_by, name)
        assert list(inspect.signature(kept).parameters) == list(inspect.signature(member).parameters), name
        assert inspect.iscoroutinefunction(kept) == inspect.iscoroutinefunction(member), name
