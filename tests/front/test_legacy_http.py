"""Legacy clients over HTTP: sessions by header, POST, the GET stream, DELETE."""

from __future__ import annotations

import pytest

from emceepee.front.settings import FrontSettings
from emceepee.sessions.settings import SessionSettings
from emceepee.vocabulary.notices import ListChanged, LogLine, Progress, ResourceUpdated
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import settle
from tests.support.fake_surface import Held
from tests.support.front_bench import Bench, call, notification, request


def progress(value: int) -> Progress:
    return Progress(value, {"progress": to_raw(value)})


@pytest.mark.shows("EB-A10", "A-SES-01", "X-CON-40")
async def test_initialize_negotiates_and_opens_a_session(bench: Bench) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    answer = await bench.ask(request("initialize", params, id="one"))
    slot, _, secret = answer.headers["mcp-session-id"].partition(".")
    assert (answer.status, slot, len(secret)) == (200, "slot0000", 26)
    assert answer.json["id"] == "one"
    result = answer.json["result"]
    assert result["protocolVersion"] == "2025-06-18"
    assert result["serverInfo"] == {"name": "bench", "version": "1"}
    assert result["instructions"] == "Use me"
    assert "resultType" not in result
    assert bench.surface.calls == []


@pytest.mark.shows("EB-A11")
async def test_a_modern_proposal_in_initialize_gets_the_newest_legacy_revision(bench: Bench) -> None:
    session = await bench.hello("2026-07-28")
    assert session["mcp-protocol-version"] == "2025-11-25"


@pytest.mark.shows("X-GAP-12")
async def test_initialize_without_a_session_id_always_opens_a_new_session(bench: Bench) -> None:
    first, second = await bench.hello(), await bench.hello()
    assert first["mcp-session-id"] != second["mcp-session-id"]
    assert len(bench.directory) == 2


async def test_initialize_of_a_wrong_shape_opens_no_session(bench: Bench) -> None:
    answer = await bench.ask(request("initialize", {"protocolVersion": 3}))
    assert answer.json["error"]["code"] == -32602
    assert len(bench.directory) == 0


async def test_a_surface_that_cannot_describe_itself_leaves_no_session(bench: Bench) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("secret")

    bench.surface.describing = broken
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    answer = await bench.ask(request("initialize", params))
    assert answer.json["error"] == {"code": -32603, "message": "Internal error"}
    await settle()
    assert len(bench.directory) == 0


@pytest.mark.shows("X-GAP-11")
async def test_too_many_sessions_are_refused_with_a_clear_error() -> None:
    bench = Bench(session_settings=SessionSettings(max_sessions=1))
    await bench.hello()
    answer = await bench.ask(request("initialize", {"protocolVersion": "2025-11-25"}, id=7))
    assert (answer.status, answer.json["id"]) == (503, 7)
    assert answer.json["error"]["message"] == "Too many sessions: the limit is 1"
    await bench.close()


async def test_a_call_is_answered_as_json_with_its_id_in_its_own_type(bench: Bench) -> None:
    session = await bench.hello()
    for identity in (5, "5"):
        answer = await bench.ask(call(arguments={"x": 1}, id=identity), session)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["id"] == identity
        assert type(answer.json["id"]) is type(identity)
        assert answer.json["result"] == {"name": "echo", "arguments": {"x": 1}}
    assert bench.surface.calls[0].caller.scope == session["mcp-session-id"]


@pytest.mark.shows("X-GAP-12")
async def test_a_missing_session_is_400_and_an_unknown_one_404(bench: Bench) -> None:
    missing = await bench.ask(call(id=3), {"mcp-protocol-version": "2025-11-25"})
    assert (missing.status, missing.json["id"], missing.json["error"]["code"]) == (400, 3, -32600)
    unknown = await bench.ask(call(id=3), {"mcp-session-id": "slot0000.nobody"})
    assert (unknown.status, unknown.json["id"]) == (404, 3)


@pytest.mark.shows("EB-A13")
async def test_another_principals_session_does_not_exist(bench: Bench) -> None:
    session = await bench.hello(x_test_principal="one")
    answer = await bench.ask(call(), {**session, "x-test-principal": "two"})
    assert answer.status == 404
    assert bench.surface.calls == []


async def test_a_session_of_one_path_does_not_exist_on_another(bench: Bench) -> None:
    session = await bench.hello()
    answer = await bench.ask(call(), session, "/servers/other/mcp")
    assert answer.status == 404


async def test_a_version_nobody_speaks_is_400(bench: Bench) -> None:
    session = await bench.hello()
    answer = await bench.ask(call(), {**session, "mcp-protocol-version": "1999-01-01"})
    assert answer.status == 400
    assert bench.surface.calls == []


async def test_notifications_and_responses_are_accepted(bench: Bench) -> None:
    session = await bench.hello()
    for message in (
        notification("notifications/initialized"),
        notification("notifications/roots/list_changed"),
        notification("notifications/of/nobody"),
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "2.0", "id": 9, "error": {"code": -1, "message": "no"}},
    ):
        answer = await bench.ask(message, session)
        assert (answer.status, answer.body) == (202, b"")


async def test_the_first_notice_makes_the_answer_a_stream_with_everything_in_order() -> None:
    held = Held({"content": [], "n": 1})
    bench = Bench(answering=held)
    session = await bench.hello()
    answer = bench.client.post(call(id=4, progressToken=7), session)
    await settle()
    assert answer.status == 0
    held.notice(progress(1))
    held.notice(progress(2))
    await answer.until(lambda: len(answer.events) == 2)
    held.go_on()
    await answer.done()
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert [event["params"] for event in answer.events[:2]] == [
        {"progressToken": 7, "progress": 1},
        {"progressToken": 7, "progress": 2},
    ]
    assert answer.events[2] == {"jsonrpc": "2.0", "id": 4, "result": {"content": [], "n": 1}}
    await bench.close()


@pytest.mark.shows("EB-F1")
async def test_two_clients_with_the_same_token_each_see_their_own_progress() -> None:
    held = Held()
    bench = Bench(answering=held)
    answers = [bench.client.post(call(progressToken=1), await bench.hello()) for _ in range(2)]
    await settle()
    held.notice(progress(10), which=0)
    held.notice(progress(20), which=1)
    for which, answer in enumerate(answers):
        held.go_on(which)
        await answer.done()
        assert [event["params"] for event in answer.events[:-1]] == [{"progressToken": 1, "progress": 10 * (which + 1)}]
    await bench.close()


async def test_progress_that_does_not_rise_is_not_told() -> None:
    held = Held()
    bench = Bench(answering=held)
    answer = bench.client.post(call(progressToken="t"), await bench.hello())
    await settle()
    for value in (1, 1, 0, 3):
        held.notice(progress(value))
    held.go_on()
    await answer.done()
    assert [event["params"]["progress"] for event in answer.events[:-1]] == [1, 3]
    await bench.close()


async def test_a_client_that_takes_json_only_gets_json_without_the_notices() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    answer = bench.client.post(call(progressToken=1), {**session, "accept": "application/json"})
    await settle()
    held.notice(progress(1))
    held.go_on()
    await answer.done()
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["result"] == {"content": []}
    await bench.close()


async def test_a_client_that_takes_events_only_gets_a_stream(bench: Bench) -> None:
    session = await bench.hello()
    answer = await bench.ask(call(), {**session, "accept": "text/event-stream"})
    assert answer.headers["content-type"] == "text/event-stream"
    assert len(answer.events) == 1


async def test_after_long_silence_the_answer_becomes_a_stream_that_is_kept_alive() -> None:
    held = Held()
    bench = Bench(answering=held)
    answer = bench.client.post(call(), await bench.hello())
    await bench.clock.advance(14.9)
    assert answer.status == 0
    await bench.clock.advance(0.2)
    assert (answer.status, [(event.data, event.retry) for event in answer.sse]) == (200, [(b"", 1000)])
    await bench.clock.advance(30.0)
    assert answer.comments == 2
    held.go_on()
    await answer.done()
    assert answer.events == [{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}]
    await bench.close()


@pytest.mark.shows("X-CON-06")
async def test_a_dropped_post_neither_cancels_the_call_nor_ends_the_session() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    answer = bench.client.post(call(), session)
    await bench.clock.advance(1.0)
    answer.leave()
    await bench.clock.advance(1.0)
    assert (bench.surface.running, bench.surface.cancelled) == (1, [])
    held.go_on()
    await answer.done()
    assert (await bench.ask(request("ping"), session)).json["result"] == {}
    await bench.close()


async def test_a_cancelled_call_is_never_answered_and_its_exchange_ends() -> None:
    bench = Bench(answering=Held())
    session = await bench.hello()
    wrong, right = bench.client.post(call(id="1"), session), bench.client.post(call(id=1), session)
    await settle()
    cancelled = notification("notifications/cancelled", {"requestId": 1, "reason": "enough"})
    assert (await bench.ask(cancelled, session)).status == 202
    await right.done()
    assert (right.status, right.body) == (200, b"")
    assert len(bench.surface.cancelled) == 1
    assert wrong.complete is False
    assert bench.surface.running == 1
    await bench.ask(notification("notifications/cancelled", {"requestId": "1"}), session)
    await wrong.done()
    await bench.close()


@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": [1]}, {"requestId": 99}])
async def test_a_cancellation_that_names_nothing_is_ignored(bench: Bench, params: dict[str, object] | None) -> None:
    session = await bench.hello()
    assert (await bench.ask(notification("notifications/cancelled", params), session)).status == 202


async def test_an_id_that_still_runs_cannot_be_used_again() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    first = bench.client.post(call(), session)
    await settle()
    second = await bench.ask(call(), session)
    assert second.json["error"]["code"] == -32600
    held.go_on()
    assert "result" in (await first.done()).json
    await bench.close()


@pytest.mark.shows("X-GAP-11")
async def test_calls_of_one_session_are_bounded() -> None:
    bench = Bench(session_settings=SessionSettings(max_in_flight=2), answering=Held())
    session = await bench.hello()
    for identity in (1, 2):
        bench.client.post(call(id=identity), session)
    await settle()
    answer = await bench.ask(call(id=3), session)
    assert "the limit is 2" in answer.json["error"]["message"]
    await bench.ask(notification("notifications/cancelled", {"requestId": 1}), session)
    await bench.ask(notification("notifications/cancelled", {"requestId": 2}), session)
    await bench.close()


@pytest.mark.shows("EB-A12")
async def test_a_batch_is_served_at_2025_03_26_and_refused_later(bench: Bench) -> None:
    old, new = await bench.hello("2025-03-26"), await bench.hello("2025-06-18")
    batch = [call("a", id=1), notification("notifications/initialized"), call("b", id="1"), {"rubbish": True}]
    answer = await bench.ask(batch, old)
    assert answer.status == 200
    assert [(item.get("id"), "result" in item) for item in answer.json] == [(1, True), ("1", True), (None, False)]
    assert [called.params["name"] for called in bench.surface.calls] == [to_raw("a"), to_raw("b")]
    assert (await bench.ask([notification("notifications/initialized")], old)).status == 202
    refused = await bench.ask(batch, new)
    assert refused.status == 400
    assert len(bench.surface.calls) == 2


async def test_initialize_cannot_hide_in_a_batch(bench: Bench) -> None:
    session = await bench.hello("2025-03-26")
    answer = await bench.ask([request("initialize", {"protocolVersion": "2025-03-26"})], session)
    assert answer.json[0]["error"]["code"] == -32600
    assert len(bench.directory) == 1


@pytest.mark.shows("A-SES-12")
async def test_the_get_stream_carries_what_comes_unasked(bench: Bench) -> None:
    session = await bench.hello()
    stream = bench.stream(session)
    await stream.until(lambda: len(stream.sse) == 1)
    bench.surface.tell(ListChanged("tools"))
    bench.surface.tell(LogLine("info", {"level": to_raw("info"), "data": to_raw("x")}))
    await stream.until(lambda: len(stream.events) == 2)
    assert [event["method"] for event in stream.events] == [
        "notifications/tools/list_changed",
        "notifications/message",
    ]
    await bench.clock.advance(15.0)
    assert stream.comments == 1
    stream.leave()
    await stream.done()


async def test_a_second_get_stream_is_409_until_the_first_is_gone(bench: Bench) -> None:
    session = await bench.hello()
    first = bench.stream(session)
    await settle()
    assert (await bench.stream(session).done()).status == 409
    first.leave()
    await first.done()
    second = bench.stream(session)
    await second.until(lambda: second.status == 200)


async def test_changes_between_two_streams_wait_once_each_for_the_next(bench: Bench) -> None:
    session = await bench.hello()
    first = bench.stream(session)
    await settle()
    first.leave()
    await first.done()
    for _ in range(3):
        bench.surface.tell(ListChanged("tools"))
        bench.surface.tell(ResourceUpdated("a:b", {"uri": to_raw("a:b")}))
    second = bench.stream(session)
    await second.until(lambda: len(second.events) == 2)
    await settle()
    assert len(second.events) == 2


async def test_a_get_stream_needs_a_session_and_a_client_that_takes_events(bench: Bench) -> None:
    session = await bench.hello()
    wrong = await bench.client.start("GET", {**session, "accept": "application/json"}, b"").done()
    assert wrong.status == 406
    missing = await bench.client.start("GET", {"accept": "text/event-stream"}, b"").done()
    assert missing.status == 400


@pytest.mark.shows("X-CON-06", "X-GAP-12", "A-SES-22")
async def test_delete_ends_the_session_its_stream_and_its_calls() -> None:
    bench = Bench(answering=Held())
    session = await bench.hello()
    stream = bench.stream(session)
    running = bench.client.post(call(), session)
    await settle()
    answer = await bench.client.start("DELETE", session, b"").done()
    assert (answer.status, answer.body) == (204, b"")
    await stream.done()
    await running.done()
    assert stream.complete
    assert len(bench.surface.cancelled) == 1
    assert bench.surface.forgotten == [session["mcp-session-id"]]
    assert (await bench.ask(request("ping"), session)).status == 404
    assert (await bench.client.start("DELETE", session, b"").done()).status == 404
    await bench.close()


@pytest.mark.shows("A-SES-25", "X-BUG-49")
async def test_a_call_in_flight_and_an_open_stream_keep_a_session_alive() -> None:
    held = Held()
    bench = Bench(answering=held, settings=FrontSettings(keep_alive=1e9))
    bench.front.start()
    waiting, listening, idle = await bench.hello(), await bench.hello(), await bench.hello()
    running, stream = bench.client.post(call(), waiting), bench.stream(listening)
    await bench.clock.advance(7200.0)
    assert len(bench.directory) == 2
    assert (await bench.ask(request("ping"), idle)).status == 404
    held.go_on()
    await running.done()
    stream.leave()
    await stream.done()
    await bench.clock.advance(1500.0)
    assert len(bench.directory) == 2
    await bench.clock.advance(600.0)
    assert len(bench.directory) == 0
    await bench.close()


async def test_a_second_session_never_sees_what_the_first_is_told() -> None:
    held = Held()
    bench = Bench(answering=held)
    first, second = await bench.hello(), await bench.hello()
    stream = bench.stream(second)
    answer = bench.client.post(call(progressToken=1), first)
    await settle()
    held.notice(progress(1))
    held.go_on()
    await answer.done()
    assert stream.events == []
    await bench.close()


async def test_an_initialize_that_declares_a_megabyte_is_refused(bench: Bench) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": "y" * 1_000_000}}}
    answer = await bench.ask(request("initialize", params))
    assert answer.json["error"]["code"] == -32602
    assert len(bench.directory) == 0
