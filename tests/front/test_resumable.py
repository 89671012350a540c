"""A stream that was lost is had again: legacy clients over HTTP that come back with `Last-Event-ID`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from emceepee.front.settings import FrontSettings
from emceepee.vocabulary.notices import ListChanged, LogLine, Progress
from emceepee.vocabulary.raw_json import to_raw
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import settle
from tests.support.fake_surface import Held
from tests.support.front_bench import Bench, call, notification

Session = dict[str, str]
GAP = "messages_dropped"


def progress(value: int) -> Progress:
    return Progress(value, {"progress": to_raw(value)})


def log(text: str) -> LogLine:
    return LogLine("info", {"level": to_raw("info"), "data": to_raw(text)})


def resumed(bench: Bench, session: Session, last_id: str) -> AsgiAnswer:
    return bench.stream({**session, "last-event-id": last_id})


async def streaming(bench: Bench, held: Held, session: Session, request_id: int = 1, token: str = "p") -> AsgiAnswer:
    """A call whose answer has become a stream: one notice of progress is there."""
    before = len(held.tellers)
    answer = bench.client.post(call(id=request_id, progressToken=token), session)
    await settle()
    held.notice(progress(1), before)
    return await answer.until(lambda: len(answer.events) == 1)


async def standing(bench: Bench, session: Session) -> AsgiAnswer:
    stream = bench.stream(session)
    return await stream.until(lambda: stream.status == 200 and len(bench.surface.listeners) > 0)


async def left(answer: AsgiAnswer) -> str:
    answer.leave()
    await settle()
    return answer.last_id


def values(answer: AsgiAnswer) -> list[Any]:
    """What it said, shortened: the value of progress, the text of a log line, else the method or "answer"."""
    return [_short(event) for event in answer.events]


def _short(event: Any) -> Any:
    params = event.get("params", {})
    if isinstance(params.get("data"), dict):
        return params["data"]["event"]
    return params.get("progress") or params.get("data") or event.get("method", "answer")


# -- the stream of a request


@pytest.mark.shows("EB-E12", "A-SSE-10", "X-CON-06", "X-BUG-52")
async def test_a_call_survives_its_connection_and_its_answer_waits_for_the_client() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    held.notice(progress(2))
    held.go_on()
    await lost.done()
    assert bench.surface.cancelled == []
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.complete)
    assert again.status == 200
    assert [event.get("id", "notice") for event in again.events] == ["notice", 1]
    assert values(again) == [2, "answer"]
    assert all(event["jsonrpc"] == "2.0" for event in again.events)
    await bench.close()


@pytest.mark.shows("A-SSE-01", "A-SSE-09", "A-TST-10")
async def test_what_was_missed_comes_before_what_is_new_under_the_original_ids_without_a_seam() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    first = await streaming(bench, held, session)
    held.notice(progress(2))
    held.notice(progress(3))
    await first.until(lambda: len(first.events) == 3)
    ids = [event.id for event in first.sse]
    seen_two = ids[2]
    assert seen_two is not None
    again = resumed(bench, session, seen_two)
    held.notice(progress(4))
    await again.until(lambda: len(again.events) == 2)
    held.notice(progress(5))
    held.go_on()
    await again.until(lambda: again.complete)
    assert values(again) == [3, 4, 5, "answer"]
    assert again.sse[0].id == ids[3]
    places = [int((event.id or "").rpartition(".")[2]) for event in again.sse]
    assert places == [3, 4, 5, 6]
    await bench.close()


async def test_a_client_that_comes_back_takes_the_stream_with_it() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    first = await streaming(bench, held, session)
    again = resumed(bench, session, first.last_id)
    await again.until(lambda: again.status == 200)
    await first.until(lambda: first.complete)
    held.go_on()
    await again.until(lambda: again.complete)
    assert (values(first), values(again)) == ([1], ["answer"])
    await bench.close()


@pytest.mark.shows("A-SSE-05")
async def test_the_same_place_twice_gives_the_same_twice_under_the_same_ids() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    held.notice(progress(2))
    held.go_on()
    await lost.done()
    one, two = resumed(bench, session, last_id), resumed(bench, session, last_id)
    three = resumed(bench, session, last_id)
    await three.until(lambda: three.complete)
    four = resumed(bench, session, last_id)
    await four.until(lambda: four.complete)
    assert three.body == four.body
    assert values(three) == [2, "answer"]
    for replaced in (one, two):
        await replaced.done()
    await bench.close()


async def test_two_streams_of_one_session_never_mix() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    one = await streaming(bench, held, session, 1, "one")
    two = await streaming(bench, held, session, 2, "two")
    last_id = await left(one)
    await left(two)
    held.notice(progress(2), 1)
    held.go_on(0)
    held.go_on(1)
    await one.done()
    await two.done()
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.complete)
    assert [event["id"] for event in again.events] == [1]
    await bench.close()


async def test_the_first_event_of_2025_11_25_says_where_to_go_on_and_when() -> None:
    held = Held()
    bench = Bench(answering=held, settings=FrontSettings(retry_ms=250))
    session = await bench.hello()
    answer = bench.client.post(call(), session)
    await bench.clock.advance(15.1)
    (primed,) = answer.sse
    assert (primed.data, primed.retry, answer.events) == (b"", 250, [])
    last_id = await left(answer)
    assert primed.id == last_id != ""
    held.go_on()
    await answer.done()
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.complete)
    assert values(again) == ["answer"]
    await bench.close()


async def test_older_revisions_get_ids_with_their_messages_and_no_event_without_data() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello("2025-03-26")
    answer = await streaming(bench, held, session)
    assert [(bool(event.data), event.retry) for event in answer.sse] == [(True, 1000)]
    last_id = await left(answer)
    held.go_on()
    await answer.done()
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.complete)
    assert values(again) == ["answer"]
    await bench.close()


async def test_the_oldest_revision_has_no_ids() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello("2024-11-05")
    answer = await streaming(bench, held, session)
    held.go_on()
    await answer.done()
    assert [event.id for event in answer.sse] == [None, None]
    await bench.close()


async def test_a_stream_that_is_kept_no_longer_is_answered_honestly() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    held.go_on()
    await lost.done()
    await bench.clock.advance(301.0)
    other = await streaming(bench, held, session, 2)
    again = await resumed(bench, session, last_id).done()
    assert again.status == 410
    assert "kept no longer" in again.json["error"]["message"]
    held.go_on(1)
    await other.done()
    await bench.close()


async def test_what_had_to_go_is_told_in_its_place() -> None:
    held = Held()
    bench = Bench(answering=held, settings=FrontSettings(max_kept_messages=3))
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    for number in range(6):
        held.notice(log(str(number)))
    held.go_on()
    await lost.done()
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.complete)
    assert values(again) == [GAP, "4", "5", "answer"]
    assert again.sse[0].id == last_id
    await bench.close()


async def test_a_call_that_is_called_off_while_its_client_is_away_has_an_end_too() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.status == 200)
    await bench.ask(notification("notifications/cancelled", {"requestId": 1}), session)
    await again.until(lambda: again.complete)
    await lost.done()
    assert again.events == []
    await bench.close()


async def test_a_client_that_never_takes_its_last_bytes_is_given_up_and_may_come_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = Held()
    bench = Bench(answering=held, settings=FrontSettings(stalled_after=0.01))
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    lost.reading.clear()
    held.go_on()
    await lost.done()
    assert "client_does_not_read" in [record.message for record in caplog.records]
    again = resumed(bench, session, lost.last_id)
    await again.until(lambda: again.complete)
    assert values(again) == ["answer"]
    await bench.close()


async def test_a_plain_answer_keeps_nothing(bench: Bench) -> None:
    session = await bench.hello()
    for number in range(3):
        assert (await bench.ask(call(id=number), session)).headers["content-type"] == "application/json"
    assert all(one.streams is None for one in bench.directory.sessions())


# -- the standing stream


@pytest.mark.shows("A-SSE-01", "A-SSE-09")
async def test_the_standing_stream_goes_on_where_it_was_lost(bench: Bench) -> None:
    session = await bench.hello()
    lost = await standing(bench, session)
    bench.surface.tell(log("a"))
    await lost.until(lambda: len(lost.events) == 1)
    last_id = await left(lost)
    bench.surface.tell(log("b"))
    bench.surface.tell(ListChanged("tools"))
    again = resumed(bench, session, last_id)
    await again.until(lambda: len(again.events) == 2)
    bench.surface.tell(log("c"))
    await again.until(lambda: len(again.events) == 3)
    assert values(again) == ["b", "notifications/tools/list_changed", "c"]
    assert not again.complete


@pytest.mark.shows("A-SSE-07")
async def test_without_an_id_nothing_is_replayed_and_the_stream_is_a_normal_one(bench: Bench) -> None:
    session = await bench.hello()
    lost = await standing(bench, session)
    bench.surface.tell(log("a"))
    await lost.until(lambda: len(lost.events) == 1)
    await left(lost)
    bench.surface.tell(log("b"))
    fresh = await standing(bench, session)
    bench.surface.tell(log("c"))
    await fresh.until(lambda: len(fresh.events) == 1)
    assert values(fresh) == ["c"]


@pytest.mark.shows("A-SSE-03")
@pytest.mark.parametrize("unknown", ["nonsense", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
async def test_an_unknown_id_gets_all_that_is_kept(
    bench: Bench, caplog: pytest.LogCaptureFixture, unknown: str
) -> None:
    session = await bench.hello()
    lost = await standing(bench, session)
    bench.surface.tell(log("a"))
    bench.surface.tell(log("b"))
    await lost.until(lambda: len(lost.events) == 2)
    await left(lost)
    again = resumed(bench, session, unknown)
    await again.until(lambda: len(again.events) == 2)
    assert values(again) == ["a", "b"]
    told = [record.__dict__["data"] for record in caplog.records if record.message == "event_cursor_not_found"]
    assert told == [{"lastEventId": unknown, "action": "returning_all_events"}]


@pytest.mark.shows("A-SSE-06")
async def test_what_one_session_was_told_never_reaches_another(bench: Bench) -> None:
    one, other = await bench.hello(), await bench.hello()
    lost = await standing(bench, one)
    bench.surface.tell(log("for one"))
    await lost.until(lambda: len(lost.events) == 1)
    first_id = lost.sse[0].id
    assert first_id is not None
    stolen = resumed(bench, other, first_id)
    await stolen.until(lambda: stolen.status == 200)
    await settle()
    assert stolen.events == []


@pytest.mark.shows("A-SSE-08")
async def test_an_unknown_session_is_refused_whatever_it_saw_last(bench: Bench) -> None:
    session = await bench.hello()
    lost = await standing(bench, session)
    bench.surface.tell(log("a"))
    await lost.until(lambda: len(lost.events) == 1)
    refused = await resumed(bench, {**session, "mcp-session-id": "slot0000.no"}, lost.sse[0].id or "").done()
    assert (refused.status, refused.events) == (404, [])


async def test_who_knows_where_he_was_takes_the_place_of_the_connection_he_lost(bench: Bench) -> None:
    session = await bench.hello()
    lost = await standing(bench, session)
    bench.surface.tell(log("a"))
    await lost.until(lambda: len(lost.events) == 1)
    again = resumed(bench, session, lost.last_id)
    await lost.until(lambda: lost.complete)
    bench.surface.tell(log("b"))
    await again.until(lambda: len(again.events) == 1)
    assert (values(lost), values(again)) == (["a"], ["b"])
    assert (await bench.stream(session).done()).status == 409


async def test_changes_are_said_again_when_the_log_of_them_has_a_gap() -> None:
    bench = Bench(settings=FrontSettings(max_kept_messages=2))
    session = await bench.hello()
    lost = await standing(bench, session)
    last_id = await left(lost)
    for text in ("a", "b", "c"):
        bench.surface.tell(log(text))
    bench.surface.tell(ListChanged("tools"))
    bench.surface.tell(log("d"))
    again = resumed(bench, session, last_id)
    await again.until(lambda: len(again.events) >= 3)
    changed = "notifications/tools/list_changed"
    assert values(again) == [GAP, changed, changed]
    await bench.close()


async def test_a_session_that_ends_ends_what_is_being_shown_of_it() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    lost = await streaming(bench, held, session)
    last_id = await left(lost)
    again = resumed(bench, session, last_id)
    await again.until(lambda: again.status == 200)
    assert (await bench.client.start("DELETE", session, b"").done()).status == 204
    await again.until(lambda: again.complete)
    await lost.done()
    await asyncio.sleep(0)
    assert bench.shop.kept_streams.bytes == 0
    await bench.close()
