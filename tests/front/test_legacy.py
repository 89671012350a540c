"""What one legacy session may ask: levels, subscriptions, logs, and the end of it all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import ClientFault
from emceepee.front.legacy import cancelled_id
from emceepee.protocol.messages import Notification
from emceepee.sessions.settings import SessionSettings
from emceepee.vocabulary.notices import EVERY_LIST, Interest, LogLine
from emceepee.vocabulary.outcomes import Failed
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import settle
from tests.support.fake_surface import Held
from tests.support.front_bench import Bench, call, notification, request


def line(level: Any) -> LogLine:
    return LogLine(level, {"level": to_raw(level)})


async def test_ping_is_answered_by_us(bench: Bench) -> None:
    answer = await bench.ask(request("ping", id="p"), await bench.hello())
    assert answer.json == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert bench.surface.calls == []


async def test_a_level_is_set_at_the_surface_and_holds_for_the_session() -> None:
    held = Held()
    bench = Bench(answering=held)
    session, other = await bench.hello(), await bench.hello()
    assert (await bench.ask(request("logging/setLevel", {"level": "error"}), session)).json["result"] == {}
    assert bench.surface.levels == [(session["mcp-session-id"], "error")]
    streams = [bench.stream(session), bench.stream(other)]
    calls = [bench.client.post(call(), session), bench.client.post(call(), other)]
    await settle()
    for notice in (line("info"), line("critical")):
        bench.surface.tell(notice)
        held.notice(notice, 0)
        held.notice(notice, 1)
    await settle()
    told = [[event["params"]["level"] for event in answer.events] for answer in (*streams, *calls)]
    assert told == [["critical"], ["info", "critical"], ["critical"], ["info", "critical"]]
    held.go_on(0)
    held.go_on(1)
    await settle()
    await bench.close()


@pytest.mark.parametrize("params", [None, {}, {"level": "loud"}, {"level": 3}])
async def test_a_level_that_is_none_is_invalid(bench: Bench, params: dict[str, Any] | None) -> None:
    answer = await bench.ask(request("logging/setLevel", params), await bench.hello())
    assert answer.json["error"]["code"] == -32602
    assert bench.surface.levels == []


async def test_subscriptions_of_a_session_are_one_wish(bench: Bench) -> None:
    session = await bench.hello()
    for method, uri in (("subscribe", "a:1"), ("subscribe", "a:2"), ("subscribe", "a:1"), ("unsubscribe", "a:1")):
        answer = await bench.ask(request(f"resources/{method}", {"uri": uri}), session)
        assert answer.json["result"] == {}
    (listener,) = bench.surface.listeners
    assert listener.interest == Interest(EVERY_LIST, frozenset({"a:2"}))
    assert listener.changes == 3
    assert (await bench.ask(request("resources/unsubscribe", {"uri": "no:1"}), session)).json["result"] == {}


async def test_a_refused_subscription_changes_nothing(bench: Bench) -> None:
    session = await bench.hello()
    await bench.ask(request("resources/subscribe", {"uri": "a:1"}), session)
    bench.surface.refusal = ClientFault(-32602, "no such resource")
    refused = await bench.ask(request("resources/subscribe", {"uri": "a:2"}), session)
    assert refused.json["error"]["message"] == "no such resource"
    bench.surface.refusal = None
    await bench.ask(request("resources/subscribe", {"uri": "a:3"}), session)
    assert bench.surface.listeners[0].interest.uris == {"a:1", "a:3"}


@pytest.mark.shows("X-GAP-11")
async def test_subscriptions_are_bounded() -> None:
    bench = Bench(session_settings=SessionSettings(max_subscriptions=1))
    session = await bench.hello()
    await bench.ask(request("resources/subscribe", {"uri": "a:1"}), session)
    answer = await bench.ask(request("resources/subscribe", {"uri": "a:2"}), session)
    assert "the limit is 1" in answer.json["error"]["message"]
    await bench.close()


async def test_a_tool_that_needs_what_cannot_be_asked_fails_as_a_tool() -> None:
    async def answering(called: Any, on_notice: Any) -> Failed:
        return Failed(-32021, "needs elicitation", to_raw({"requiredCapabilities": {"elicitation": {}}}))

    bench = Bench(answering=answering)
    answer = await bench.ask(call(), await bench.hello())
    assert answer.json["result"]["isError"] is True
    await bench.close()


async def test_an_older_revision_is_not_told_what_it_has_no_word_for(bench: Bench) -> None:
    session = await bench.hello("2024-11-05")
    assert session["mcp-protocol-version"] == "2024-11-05"
    assert (await bench.ask(call(), session)).status == 200


async def test_the_end_of_a_session_calls_off_forgets_and_unlistens_once() -> None:
    bench = Bench(answering=Held())
    session = await bench.hello()
    await bench.ask(request("resources/subscribe", {"uri": "a:1"}), session)
    running = [bench.client.post(call(id=n), session) for n in range(3)]
    await settle()
    await bench.client.start("DELETE", session, b"").done()
    for answer in running:
        await answer.done()
    await settle()
    assert (bench.surface.running, bench.surface.listeners) == (0, [])
    assert bench.surface.forgotten == [session["mcp-session-id"]]
    await bench.close()


async def test_going_down_ends_streams_and_then_sessions() -> None:
    bench = Bench()
    session = await bench.hello()
    stream = bench.stream(session)
    await stream.until(lambda: stream.status == 200)
    bench.front.drain()
    await stream.done()
    assert stream.complete
    assert len(bench.directory) == 1
    await bench.close()


@pytest.mark.parametrize(
    ("params", "found"),
    [(b'{"requestId":1}', 1), (b'{"requestId":"1"}', "1"), (b'{"requestId":true}', None), (b'{"requestId":1.5}', None)],
)
def test_a_cancellation_names_an_id_by_its_exact_type(params: bytes, found: Any) -> None:
    named = cancelled_id(Notification("notifications/cancelled", Raw(params)))
    assert (named, type(named)) == (found, type(found))


async def test_cancelling_initialize_does_nothing(bench: Bench) -> None:
    session = await bench.hello()
    assert (await bench.ask(notification("notifications/cancelled", {"requestId": 0}), session)).status == 202
    assert (await bench.ask(request("ping"), session)).status == 200


async def test_a_session_whose_server_was_removed_is_forgotten_all_the_same(bench: Bench) -> None:
    session = await bench.hello(path="/servers/other/mcp")
    other, bench.other = bench.other, None  # type: ignore[assignment]
    assert (await bench.ask(request("ping"), session, "/servers/other/mcp")).status == 404
    bench.directory.end(session["mcp-session-id"], bench.front.legacy.clean)
    await settle()
    assert other.forgotten == [session["mcp-session-id"]]
