"""The log of one workspace: order, retention, eviction, delivery, cursors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec import Raw

from emceepee.state.events import EVENT_TYPES, Event
from emceepee.state.settings import EventSettings
from tests.state.logs import TestedLog

SMALL = EventSettings(max_events=10)


def ids(events: object) -> list[str]:
    return [event.id for event in events]  # type: ignore[attr-defined]


@pytest.mark.shows("A-EVT-16", "X-CON-34")
def test_there_are_fifteen_types_and_none_of_them_is_a_log() -> None:
    assert len(EVENT_TYPES) == 15
    assert "log" not in EVENT_TYPES


@pytest.mark.shows("A-EVT-17", "X-GAP-22")
def test_a_stored_event_has_its_fields_and_dates_end_in_z() -> None:
    log = TestedLog()
    log.add("server_added", "files")
    (event,) = log.all()
    said = event.described()
    assert set(said) == {"id", "type", "server", "data", "createdAt"}
    assert said["createdAt"].endswith("Z")
    log.deliver()
    assert event.described()["sentAt"].endswith("Z")


@pytest.mark.shows("A-EVT-18")
def test_adding_returns_the_id_and_text_order_is_order_of_creation() -> None:
    log = TestedLog()
    made = [log.add() for _ in range(500)]
    assert made == sorted(made)
    assert ids(log.all()) == made


@pytest.mark.shows("A-EVT-22", "A-EVT-24", "X-CON-21", "A-EVT-30")
def test_a_replay_read_gives_what_came_after_and_delivers_nothing() -> None:
    log = TestedLog()
    made = [log.add("notification" if n % 3 else "server_added") for n in range(9)]
    assert ids(log.since(None)[0]) == made
    assert ids(log.since(made[3])[0]) == made[4:]
    assert log.since(made[-1]) == ([], True)
    assert log.deliver() == made, "reading had not counted as delivery"
    assert ids(log.since(made[3])[0]) == made[4:], "delivered events stay for replay"


@pytest.mark.shows("A-EVT-23")
def test_an_unknown_cursor_gives_all_that_is_kept_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = TestedLog()
    made = [log.add() for _ in range(3)]
    with caplog.at_level(logging.WARNING, "emceepee.state"):
        events, known = log.since("01JUNKNOWN0000000000000000")
    assert (ids(events), known) == (made, False)
    (record,) = caplog.records
    assert record.message == "event_cursor_not_found"
    assert record.data["action"] == "returning_all_events"  # type: ignore[attr-defined]
    assert record.data["lastEventId"] == "01JUNKNOWN0000000000000000"  # type: ignore[attr-defined]


@pytest.mark.shows("A-EVT-25", "A-EVT-27", "A-DEL-07")
def test_each_event_is_delivered_once_and_asking_whether_there_are_new_ones_changes_nothing() -> None:
    log = TestedLog()
    first, second = log.add(), log.add()
    assert log.has_new
    assert log.has_new
    assert log.deliver() == [first, second]
    assert not log.has_new
    assert log.deliver() == []
    third = log.add()
    assert log.deliver() == [third]


@pytest.mark.shows("A-EVT-26", "X-BUG-06", "A-DEL-16")
def test_two_responses_never_carry_one_event_and_a_lost_one_gives_them_back() -> None:
    log = TestedLog()
    made = [log.add(), log.add()]
    first, second = log.lease(), log.lease()
    assert ids(first.events) == made
    assert not second
    later = log.add()
    assert log.give_back(first)
    assert log.deliver() == [*made, later], "they are back at their old places"
    assert log.commit(first, log.clock.wall()) == [], "a lease ends once"


def test_what_came_back_moves_the_sequence_so_that_waiters_look_again() -> None:
    log = TestedLog()
    log.add()
    lease = log.lease()
    seen = log.sequence
    log.give_back(lease)
    assert log.sequence > seen


@pytest.mark.shows("A-EVT-28", "X-BUG-12")
async def test_the_first_sending_counts_whichever_way_it_went() -> None:
    log = TestedLog()
    by_stream, by_response = log.add(), log.add()
    at_first = log.clock.wall()
    log.mark_sent(by_stream, at_first)
    await log.clock.advance(5)
    log.mark_sent("unknown", log.clock.wall())
    log.mark_sent(by_stream, log.clock.wall())
    log.deliver()
    sent = {event.id: event.sent_at for event in log.all()}
    assert sent == {by_stream: at_first, by_response: at_first + timedelta(seconds=5)}


@pytest.mark.shows("A-EVT-29")
def test_a_returned_list_is_a_copy() -> None:
    log = TestedLog()
    log.add()
    log.since(None)[0].clear()
    log.pending().clear()
    assert len(log) == 1
    assert len(log.deliver()) == 1


@pytest.mark.shows("A-EVT-31", "A-EVT-32", "A-EVT-33", "X-CON-36", "A-LOG-16")
def test_a_full_log_lets_its_oldest_tenth_go_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    log = TestedLog()
    made = [log.add() for _ in range(1000)]
    with caplog.at_level(logging.WARNING, "emceepee.state"):
        newest = log.add()
    assert len(log) == 901
    assert ids(log.all()) == [*made[100:], newest]
    (record,) = [one for one in caplog.records if one.message == "event_store_eviction"]
    data = {"evictedCount": 100, "reason": "event_limit", "totalCount": 1000, "maxEvents": 1000}
    assert record.data == data  # type: ignore[attr-defined]
    assert record.levelname == "WARNING"


@pytest.mark.shows("A-EVT-34", "X-BUG-04")
def test_the_warning_comes_once_per_crossing(caplog: pytest.LogCaptureFixture) -> None:
    log = TestedLog(SMALL)
    with caplog.at_level(logging.WARNING, "emceepee.state"):
        for _ in range(10):
            log.add()
        warnings = [one for one in caplog.records if one.message == "event_store_approaching_limit"]
        assert [one.data for one in warnings] == [  # type: ignore[attr-defined]
            {"totalCount": 8, "maxEvents": 10, "percentFull": 80}
        ]
        for _ in range(5):
            log.add()
        assert sum(one.message == "event_store_approaching_limit" for one in caplog.records) == 1
        log.evict(6, "total_limit")
        for _ in range(4):
            log.add()
    assert sum(one.message == "event_store_approaching_limit" for one in caplog.records) == 2


@pytest.mark.shows("A-EVT-35", "X-BUG-01")
def test_eviction_skips_no_undelivered_event_and_repeats_no_delivered_one() -> None:
    log = TestedLog(SMALL)
    for _ in range(5):
        log.add()
    log.deliver()
    kept = [log.add() for _ in range(6)]
    assert len(log) == 10
    assert log.deliver() == kept


@pytest.mark.shows("X-BUG-02")
def test_undelivered_events_that_had_to_go_are_counted_and_told_with_the_next_response() -> None:
    log = TestedLog(SMALL)
    made = [log.add() for _ in range(12)]
    lease = log.lease()
    assert lease.gap is not None
    assert lease.gap.shown() == {"count": 2, "oldestId": made[0], "newestId": made[1]}
    log.give_back(lease)
    again = log.lease()
    assert again.gap == lease.gap, "a lost response loses no gap either"
    log.commit(again, log.clock.wall())
    assert not log.has_new


@pytest.mark.shows("X-BUG-02")
def test_notifications_go_before_anything_that_a_client_cannot_find_out_otherwise() -> None:
    log = TestedLog(SMALL)
    kept = [log.add("task_completed") for _ in range(5)]
    for _ in range(5):
        log.add("notification")
    for _ in range(4):
        log.add("notification")
    assert [event.id for event in log.all() if event.type == "task_completed"] == kept


def test_what_is_evicted_while_leased_is_delivered_or_counted_but_never_both() -> None:
    log = TestedLog(SMALL)
    made = [log.add() for _ in range(10)]
    lost, arrived = log.lease(lambda event: event.id in made[:2]), log.lease()
    log.evict(4, "total_limit")
    assert log.give_back(lost)
    log.commit(arrived, log.clock.wall())
    gap = log.lease().gap
    assert gap is not None
    assert gap.shown() == {"count": 2, "oldestId": made[0], "newestId": made[1]}


@pytest.mark.shows("X-CON-23", "A-ACT-14")
def test_a_cursor_gives_again_what_was_delivered_and_takes_what_was_not() -> None:
    log = TestedLog()
    made = [log.add() for _ in range(3)]
    log.deliver()
    new = log.add()
    lease, known = log.lease_since(made[0])
    assert known
    assert ids(lease.events) == [*made[1:], new]
    assert not log.has_new
    log.give_back(lease)
    assert log.deliver() == [new]


def test_a_lease_takes_only_what_is_wanted() -> None:
    log = TestedLog()
    task, server = log.add("task_failed"), log.add("server_removed")
    lease = log.lease(lambda event: event.type == "task_failed")
    assert ids(lease.events) == [task]
    assert log.deliver() == [server]


@pytest.mark.shows("A-ACT-13")
def test_the_newest_id_that_was_given_is_known() -> None:
    log = TestedLog()
    assert log.given_id is None
    log.add()
    last = log.add()
    log.deliver()
    log.add()
    assert log.given_id == last


def test_a_closed_log_is_empty_and_counts_for_nothing() -> None:
    log = TestedLog()
    log.append("server_added", "a", Raw(b"{}"), log.ulids.next(), log.clock.wall())
    log.close()
    assert len(log) == 0
    assert not log.has_new


class NotLookedThrough(dict[int, Event]):
    """A shelf that fails whoever goes through it."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("looked through")

    def values(self) -> Any:
        raise AssertionError("looked through")

    items = values


@pytest.mark.shows("X-BUG-03")
def test_whether_something_is_new_and_what_costs_nothing_of_what_is_kept() -> None:
    log = TestedLog()
    for _ in range(500):
        log.add()
    log.deliver()
    log._others, log._notifications = NotLookedThrough(log._others), NotLookedThrough(log._notifications)
    assert not log.has_new
    assert not log.lease()
    newest = log.add()
    assert log.has_new
    assert log.deliver() == [newest]


@pytest.mark.shows("X-BUG-03")
def test_when_the_last_delivered_one_is_gone_all_that_is_undelivered_comes_and_nothing_twice() -> None:
    log = TestedLog(SMALL)
    log.add()
    log.deliver()
    made = [log.add() for _ in range(9)]
    log.evict(1, "total_limit")
    assert log.deliver() == made
    assert log.deliver() == []
