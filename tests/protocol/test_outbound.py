"""The pending table: ids, deadlines, and that nothing stays in it."""

from __future__ import annotations

import gc
import weakref

import pytest

from emceepee.protocol.faults import LocalMisuse, PeerClosed
from emceepee.protocol.outbound import Outbound


@pytest.mark.shows("C-DISP-04", "X-CON-51")
def test_ids_are_prefixed_strings_of_a_counter_and_never_come_twice() -> None:
    out = Outbound("g-")
    asks = [out.open("ping", None) for _ in range(100)]
    for asked in asks[:50]:
        out.take(asked.id)
    asks += [out.open("ping", None) for _ in range(100)]
    assert [asked.id for asked in asks] == [f"g-{number}" for number in range(1, 201)]


def test_a_prefix_is_required_because_the_other_side_counts_too() -> None:
    with pytest.raises(LocalMisuse):
        Outbound("")


@pytest.mark.shows("C-DISP-05", "X-BUG-62")
def test_an_ask_is_found_by_the_value_of_its_id_whatever_object_carries_it() -> None:
    out = Outbound("g-")
    asked = out.open("ping", None)
    another_object = "".join(["g", "-", str(1)])
    assert another_object is not asked.id
    assert out.find(another_object) is asked
    assert out.take(another_object) is asked


@pytest.mark.shows("X-BUG-67", "X-CON-51")
@pytest.mark.parametrize("wrong", [1, "1", '"7-1"', "7-1 ", "7-01", None])
def test_an_id_that_only_looks_alike_finds_nothing(wrong: int | str | None) -> None:
    out = Outbound("7-")
    out.open("ping", None)
    assert out.find(wrong) is None
    assert out.take(wrong) is None
    assert len(out) == 1


@pytest.mark.shows("C-DISP-12")
def test_an_id_that_came_twice_would_not_overwrite_the_ask_that_waits() -> None:
    out = Outbound("g-")
    first = out.open("ping", None)
    out.count = 0
    with pytest.raises(LocalMisuse):
        out.open("other", None)
    assert out.find("g-1") is first


def test_taking_an_ask_ends_it_for_everybody_else() -> None:
    out = Outbound("g-")
    asked = out.open("ping", 5.0)
    assert out.end(asked)
    assert not out.end(asked)
    assert out.take(asked.id) is None
    assert out.expire(10.0) == []
    assert out.close("over") == []


def test_ending_an_ask_of_another_conversation_is_our_bug_and_said() -> None:
    with pytest.raises(LocalMisuse):
        Outbound("g-").end(Outbound("g-").open("ping", None))


def test_the_next_deadline_is_the_earliest_of_those_still_waiting() -> None:
    out = Outbound("g-")
    late, early, never = out.open("a", 9.0), out.open("b", 3.0), out.open("c", None)
    assert out.next_deadline() == 3.0
    out.end(early)
    assert out.next_deadline() == 9.0
    out.end(late)
    assert out.next_deadline() is None
    assert not never.ended


def test_asks_expire_at_their_deadline_earliest_first_and_those_without_one_never() -> None:
    out = Outbound("g-")
    third, first, second, never = (out.open("x", deadline) for deadline in (7.0, 2.0, 7.0 - 1e-9, None))
    assert out.expire(1.999) == []
    assert out.expire(7.0) == [first, second, third]
    assert out.expire(1e12) == []
    assert not never.ended
    assert len(out) == 1


def test_asks_with_one_deadline_expire_in_the_order_in_which_they_were_asked() -> None:
    out = Outbound("g-")
    asks = [out.open("x", 5.0) for _ in range(12)]
    assert out.expire(5.0) == asks


@pytest.mark.shows("C-DISP-14", "C-DISP-16")
def test_closing_ends_all_in_order_and_a_second_time_none() -> None:
    out = Outbound("g-")
    asks = [out.open("x", 1.0 * number) for number in range(5)]
    assert out.close("end of input") == asks
    assert all(asked.ended for asked in asks)
    assert out.close("again") == []
    assert out.closed == "end of input"
    assert out.next_deadline() is None


@pytest.mark.shows("C-DISP-15")
def test_nothing_can_be_asked_after_closing_and_the_refusal_says_why() -> None:
    out = Outbound("g-")
    out.close("the child exited")
    with pytest.raises(PeerClosed, match="the child exited"):
        out.open("ping", None)
    assert len(out) == 0


def test_a_long_life_of_short_asks_keeps_no_memory_of_their_deadlines() -> None:
    out = Outbound("g-")
    for number in range(10_000):
        out.take(out.open("x", 60.0 + number).id)
    assert len(out._deadlines) < 200
    assert out.next_deadline() is None


def test_an_ended_ask_is_not_kept_alive_by_its_deadline() -> None:
    class Waiter:
        pass

    out = Outbound("g-")
    asked = out.open("x", 1000.0)
    asked.waiter = Waiter()
    alive = weakref.ref(asked.waiter)
    out.take(asked.id)
    del asked
    gc.collect()
    assert alive() is None


def test_an_ask_says_where_it_stands() -> None:
    out = Outbound("g-")
    asked = out.open("tools/call", None)
    assert repr(asked) == "Asked('g-1', 'tools/call', open)"
    asked.sent = True
    assert repr(asked) == "Asked('g-1', 'tools/call', sent)"
    out.end(asked)
    assert repr(asked) == "Asked('g-1', 'tools/call', ended)"
