"""Which call an ask belongs to, rule by rule."""

from __future__ import annotations

import pytest

from emceepee.backends.correlation import Running, belongs
from emceepee.backends.transport import GET, PIPE, Origin
from emceepee.vocabulary.asks import Belonging
from emceepee.vocabulary.calls import Call, Caller

DIG, CRAFT = (Call("tools/call", {}, Caller(principal=name)) for name in ("dig", "craft"))


def running(*asked: bool) -> list[Running]:
    return [Running(f"g{n}", call, was) for n, (call, was) in enumerate(zip((DIG, CRAFT), asked, strict=False))]


@pytest.mark.parametrize(
    ("origin", "asked", "found"),
    [
        (Origin("post", "g1"), (False, False), Belonging("exact", (CRAFT,))),
        (Origin("resume", "g0"), (False, False), Belonging("exact", (DIG,))),
        (Origin("post", "g0"), (True, False), Belonging("exact", (DIG,))),
        (Origin("post", "g9"), (False,), Belonging("over")),
        (PIPE, (False,), Belonging("exact", (DIG,))),
        (PIPE, (True,), Belonging("exact", (DIG,))),
        (GET, (False,), Belonging("presumed", (DIG,))),
        (PIPE, (True, False), Belonging("probable", (CRAFT,), (DIG,))),
        (GET, (False, True), Belonging("probable", (DIG,), (CRAFT,))),
        (PIPE, (False, False), Belonging("ambiguous", (DIG, CRAFT))),
        (GET, (True, True), Belonging("ambiguous", (DIG, CRAFT))),
        (PIPE, (), Belonging("orphan")),
        (GET, (), Belonging("orphan")),
    ],
)
def test_the_first_rule_that_fits_decides(origin: Origin, asked: tuple[bool, ...], found: Belonging) -> None:
    assert belongs(origin, running(*asked), False) == found


def test_one_that_came_on_the_stream_of_another_request_is_nobodys() -> None:
    assert belongs(Origin("post", "g9"), running(False), True) == Belonging("orphan")
