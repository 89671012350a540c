"""Notifications and log lines: bounded per server, and consumed only by what was returned."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.state.buffers import Buffers, KeptLog, KeptNotification, is_at_least, read_level
from emceepee.state.settings import BufferSettings
from emceepee.vocabulary.names import LogLevel
from tests.support.fake_clock import FakeClock


def note(number: int, server: str = "a") -> KeptNotification:
    return KeptNotification(server, FakeClock().wall(), f"notifications/{number}")


def line(number: int, level: LogLevel = "info", server: str = "a", data: Any = None) -> KeptLog:
    text = Raw(data) if data is not None else Raw(b'"line %d"' % number)
    return KeptLog(server, FakeClock().wall(), level, text)


def methods(items: list[KeptNotification]) -> list[int]:
    return [int(item.method.rpartition("/")[2]) for item in items]


@pytest.mark.shows("A-BUF-01", "A-BUF-02", "X-CON-05")
def test_items_show_their_fields() -> None:
    assert set(note(1).shown()) == {"server", "timestamp", "method"}
    shown = line(1, "warning", data=b'{"message":"full","left":0}').shown()
    assert set(shown) == {"server", "timestamp", "level", "message", "data", "source"}
    assert (shown["level"], shown["message"]) == ("warning", "full")
    assert line(1, data=b'{"left":0}').message == '{"left":0}'


@pytest.mark.shows("A-BUF-03", "A-BUF-04", "X-CON-03", "X-BUG-14")
def test_each_server_keeps_its_newest_and_what_was_pushed_out_is_counted() -> None:
    settings = BufferSettings()
    assert (settings.max_notifications, settings.max_logs) == (100, 500)
    kept: Buffers[KeptNotification] = Buffers(3)
    for number in range(5):
        kept.add(note(number))
    kept.add(note(9, "b"))
    taken = kept.take("a")
    assert (methods(taken.items), taken.dropped) == ([2, 3, 4], 2)
    assert kept.take("a").dropped == 0
    assert methods(kept.take("b").items) == [9]


@pytest.mark.shows("A-BUF-06", "A-BUF-08", "A-RACE-02", "A-TST-03")
def test_reading_returns_each_once_in_order_of_arrival() -> None:
    kept: Buffers[KeptNotification] = Buffers(10)
    for number in range(6):
        kept.add(note(number, "ab"[number % 2]))
    first = kept.take()
    assert methods(first.items) == [0, 1, 2, 3, 4, 5]
    kept.add(note(6))
    first.items.clear()
    assert methods(kept.take().items) == [6]
    assert kept.take().items == []


@pytest.mark.shows("A-BUF-07", "X-CON-04", "A-TOOL-13")
def test_what_a_filter_or_a_limit_left_out_stays() -> None:
    kept: Buffers[KeptLog] = Buffers(10)
    levels: list[LogLevel] = ["debug", "error", "warning", "info", "critical"]
    for number, level in enumerate(levels):
        kept.add(line(number, level))
    severe = kept.take(fits=is_at_least("warning"), limit=2)
    assert ([item.level for item in severe.items], severe.left) == (["warning", "critical"], 1)
    assert [item.level for item in kept.take(server="a").items] == ["debug", "error", "info"]


@pytest.mark.shows("X-BUG-13", "X-PY-07")
def test_a_limit_of_nothing_is_nothing() -> None:
    kept: Buffers[KeptNotification] = Buffers(10)
    kept.add(note(1))
    assert kept.take(limit=0).items == []
    assert len(kept) == 1


@pytest.mark.shows("A-BUF-09", "X-BUG-13", "X-BUG-14", "A-BUF-10")
def test_new_since_the_last_check_is_only_that() -> None:
    kept: Buffers[KeptNotification] = Buffers(3)
    assert kept.new_since_check("a") == []
    assert not kept.has_new
    for number in range(5):
        kept.add(note(number))
    assert kept.has_new
    assert methods(kept.new_since_check("a")) == [2, 3, 4]
    assert kept.new_since_check("a") == []
    assert not kept.has_new
    kept.add(note(5))
    assert methods(kept.new_since_check("a")) == [5]
    assert methods(kept.take().items) == [3, 4, 5], "checking took nothing"


@pytest.mark.shows("A-BUF-11", "A-BUF-12", "X-BUG-16")
def test_rings_appear_on_use_are_listed_as_copies_and_cleared_one_by_one() -> None:
    kept: Buffers[KeptNotification] = Buffers(3)
    assert kept.by_server() == {}
    kept.add(note(1))
    kept.add(note(2, "b"))
    kept.by_server()["a"].clear()
    assert {server: methods(items) for server, items in kept.by_server().items()} == {"a": [1], "b": [2]}
    kept.clear("a")
    assert list(kept.by_server()) == ["b"]
    kept.clear()
    assert len(kept) == 0


@pytest.mark.shows("X-CON-05")
@pytest.mark.parametrize(
    ("written", "meant"), [("warn", "warning"), ("WARNING", "warning"), ("emergency", "emergency"), ("loud", None)]
)
def test_levels_are_read_as_people_write_them(written: str, meant: str | None) -> None:
    assert read_level(written) == meant
