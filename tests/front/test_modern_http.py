"""Modern clients over HTTP: self-contained POSTs, listen streams, disconnects that cancel."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from emceepee.errors import BackendUnavailable, ClientFault
from emceepee.front.settings import FrontSettings
from emceepee.relay.surface import OnNotice
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.notices import ListChanged, LogLine, Progress, ResourceUpdated
from emceepee.vocabulary.outcomes import Failed, Outcome
from emceepee.vocabulary.raw_json import to_raw
from tests.support.fake_clock import settle
from tests.support.fake_surface import Held
from tests.support.front_bench import (
    LOG_KEY,
    MODERN,
    SUBSCRIPTION_KEY,
    Bench,
    call,
    enveloped,
    mirrored,
    notification,
    request,
)

FIVE = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
SCHEMA = Raw(b'{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}')
LISTENING: dict[str, Any] = {"toolsListChanged": True, "resourceSubscriptions": ["a:b", "no:body"]}


def level(name: Any) -> LogLine:
    return LogLine(name, {"level": to_raw(name), "data": to_raw("x")})


@pytest.mark.shows("EB-A1")
async def test_discover_names_five_versions_and_what_the_surface_offers(bench: Bench) -> None:
    answer = await bench.modern(request("server/discover")).done()
    assert answer.status == 200
    result = answer.json["result"]
    assert result["supportedVersions"] == FIVE
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert (type(result["ttlMs"]), result["cacheScope"], result["resultType"]) == (int, "private", "complete")


@pytest.mark.shows("EB-A2")
async def test_an_envelope_without_the_version_header_is_a_mismatch(bench: Bench) -> None:
    answer = await bench.modern(call(), mcp_protocol_version=None).done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    assert "mcp-session-id" not in answer.headers
    assert bench.surface.calls == []


@pytest.mark.shows("EB-A3")
async def test_a_legacy_header_with_a_modern_envelope_is_a_mismatch(bench: Bench) -> None:
    answer = await bench.modern(call(), mcp_protocol_version="2025-11-25").done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)


@pytest.mark.shows("EB-A4")
async def test_an_unknown_version_in_both_places_is_told_which_are_spoken(bench: Bench) -> None:
    message = enveloped(call(), version="2099-01-01")
    answer = await bench.ask(message, mirrored(message))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
    assert answer.json["error"]["data"] == {"supported": FIVE, "requested": "2099-01-01"}


@pytest.mark.shows("EB-A5")
async def test_an_envelope_without_capabilities_is_invalid_and_names_its_request(bench: Bench) -> None:
    message = call(id="x")
    message["params"]["_meta"] = {"io.modelcontextprotocol/protocolVersion": MODERN}
    answer = await bench.ask(message, mirrored(message))
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, -32602, "x")


@pytest.mark.shows("EB-A6")
async def test_an_encoded_name_header_is_understood(bench: Bench) -> None:
    answer = await bench.modern(call("echo"), mcp_name="=?base64?ZWNobw==?=").done()
    assert answer.status == 200
    assert len(bench.surface.calls) == 1


@pytest.mark.shows("EB-A7")
async def test_a_doubled_method_header_is_a_mismatch(bench: Bench) -> None:
    message = enveloped(call())
    headers = [*mirrored(message).items(), ("mcp-method", "tools/call")]
    answer = await bench.client.post(message, headers).done()
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    assert bench.surface.calls == []


@pytest.mark.shows("EB-A8")
@pytest.mark.parametrize("method", ["no/such", "ping", "logging/setLevel", "resources/subscribe"])
async def test_a_method_of_another_era_or_of_none_is_404_with_a_json_rpc_body(bench: Bench, method: str) -> None:
    answer = await bench.modern(request(method, id=8)).done()
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (404, -32601, 8)


@pytest.mark.shows("EB-A9")
async def test_a_modern_client_has_no_get_no_delete_and_its_session_header_is_ignored(bench: Bench) -> None:
    for method in ("GET", "DELETE"):
        headers = {"mcp-protocol-version": MODERN, "accept": "text/event-stream"}
        answer = await bench.client.start(method, headers, b"").done()
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    message = enveloped(call())
    headers = {**mirrored(message), "mcp-session-id": "whatever", "last-event-id": "3"}
    answer = await bench.ask(message, headers)
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers


@pytest.mark.shows("EB-A14")
async def test_both_eras_are_served_at_once_on_one_endpoint() -> None:
    held = Held()
    bench = Bench(answering=held)
    session = await bench.hello()
    legacy, modern = bench.client.post(call(id=1), session), bench.modern(call(id=1))
    await settle()
    held.go_on(0)
    held.go_on(1)
    assert "resultType" not in (await legacy.done()).json["result"]
    assert (await modern.done()).json["result"]["resultType"] == "complete"
    assert "mcp-session-id" not in modern.headers
    assert len(bench.directory) == 1
    await bench.close()


async def test_initialize_under_a_modern_header_is_told_which_versions_are_spoken(bench: Bench) -> None:
    answer = await bench.ask(request("initialize", {"protocolVersion": MODERN}), {"mcp-protocol-version": MODERN})
    assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
    assert len(bench.directory) == 0


async def test_a_result_is_stamped_and_says_who_answered(bench: Bench) -> None:
    result = (await bench.modern(call(arguments={"a": 1})).done()).json["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "bench", "version": "1"}
    assert result["arguments"] == {"a": 1}
    assert bench.surface.calls[0].caller.scope == "local"


async def test_a_notification_is_accepted_without_a_body(bench: Bench) -> None:
    message = notification("notifications/whatever")
    answer = await bench.ask(message, mirrored(message))
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "application/json"])
async def test_a_client_that_goes_away_has_cancelled_in_both_forms_of_an_answer(accept: str) -> None:
    bench = Bench(answering=Held())
    message = enveloped(call())
    answer = bench.client.post(message, {**mirrored(message), "accept": accept})
    await bench.clock.advance(0.05)
    assert len(bench.shop.tasks) == 0
    await bench.clock.advance(0.1)
    assert bench.surface.running == 1
    answer.leave()
    await answer.done()
    assert len(bench.surface.cancelled) == 1
    assert answer.status == 0
    await bench.close()


async def test_a_client_that_leaves_a_stream_has_cancelled_too() -> None:
    held = Held()
    bench = Bench(answering=held)
    answer = bench.modern(call(progressToken=1))
    await settle()
    held.notice(Progress(1, {"progress": to_raw(1)}))
    await answer.until(lambda: len(answer.events) == 1)
    answer.leave()
    await bench.clock.advance(0.2)
    await answer.done()
    assert len(bench.surface.cancelled) == 1
    await bench.close()


async def test_a_quick_call_starts_no_task_of_ours(bench: Bench) -> None:
    seen: list[int] = []

    async def answering(called: Call, on_notice: OnNotice | None) -> Outcome:
        seen.append(len(bench.shop.tasks))
        return Failed(1, "done")

    bench.surface._answering = answering
    await bench.modern(call()).done()
    assert (seen, len(bench.shop.tasks)) == ([0], 0)


async def test_logs_are_told_only_to_a_request_that_opted_in_and_at_its_level() -> None:
    held = Held()
    bench = Bench(answering=held)
    loud, quiet = bench.modern(call(**{LOG_KEY: "warning"})), bench.modern(call())
    await settle()
    for which in (0, 1):
        held.notice(level("info"), which)
        held.notice(level("error"), which)
        held.go_on(which)
    await loud.done()
    await quiet.done()
    assert [event["params"]["level"] for event in loud.events[:-1]] == ["error"]
    assert quiet.headers["content-type"] == "application/json"
    await bench.close()


@pytest.mark.parametrize(
    ("ended", "status", "code"),
    [
        (Failed(-32602, "bad"), 400, -32602),
        (Failed(123, "theirs"), 200, 123),
        (ClientFault(-32602, "bad"), 400, -32602),
        (BackendUnavailable("s", "down"), 200, -32603),
        (ZeroDivisionError("secret"), 200, -32603),
    ],
)
async def test_each_ending_has_its_code_and_status(ended: Any, status: int, code: int) -> None:
    async def answering(called: Call, on_notice: OnNotice | None) -> Outcome:
        if isinstance(ended, Failed):
            return ended
        raise ended

    bench = Bench(answering=answering)
    answer = await bench.modern(call()).done()
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert b"secret" not in answer.body
    await bench.close()


@pytest.mark.shows("EB-F15")
async def test_a_missing_parameter_header_is_a_mismatch_and_nothing_is_called(bench: Bench) -> None:
    bench.surface.schemas["echo"] = SCHEMA
    answer = await bench.modern(call(arguments={"region": "eu"}, id=3)).done()
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, -32020, 3)
    assert bench.surface.calls == []


async def test_a_parameter_header_must_agree_and_may_not_be_superfluous(bench: Bench) -> None:
    bench.surface.schemas["echo"] = SCHEMA
    right = await bench.modern(call(arguments={"region": "eu"}), mcp_param_region="eu").done()
    wrong = await bench.modern(call(arguments={"region": "eu"}), mcp_param_region="us").done()
    extra = await bench.modern(call(), mcp_param_region="eu").done()
    assert (right.status, wrong.status, extra.status) == (200, 400, 400)
    assert len(bench.surface.calls) == 1


async def test_a_listener_is_acknowledged_with_what_is_honoured_and_told_under_its_own_id(bench: Bench) -> None:
    bench.surface.unowned = frozenset(("no:body",))
    answer = bench.modern(request("subscriptions/listen", {"notifications": LISTENING}, id="L1"))
    await answer.until(lambda: len(answer.events) == 1)
    first = answer.events[0]
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"][SUBSCRIPTION_KEY] == "L1"
    assert first["params"]["notifications"]["resourceSubscriptions"] == ["a:b"]
    bench.surface.tell(ListChanged("tools"))
    bench.surface.tell(ResourceUpdated("a:b", {"uri": to_raw("a:b")}))
    bench.surface.tell(level("error"))
    await answer.until(lambda: len(answer.events) == 3)
    assert [event["method"] for event in answer.events[1:]] == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]
    assert {event["params"]["_meta"][SUBSCRIPTION_KEY] for event in answer.events} == {"L1"}
    answer.leave()
    await answer.done()
    assert bench.surface.listeners == []


@pytest.mark.shows("EB-F11")
async def test_on_drain_a_listener_gets_its_result_and_then_the_end(bench: Bench) -> None:
    answer = bench.modern(request("subscriptions/listen", {"notifications": LISTENING}, id=5))
    await answer.until(lambda: len(answer.events) == 1)
    bench.front.drain()
    await answer.done()
    assert answer.complete
    assert answer.events[-1]["id"] == 5
    assert answer.events[-1]["result"]["resultType"] == "complete"
    assert answer.events[-1]["result"]["_meta"][SUBSCRIPTION_KEY] == 5
    assert (await bench.modern(call()).done()).status == 503


async def test_a_listen_of_a_wrong_shape_or_refused_by_the_surface_is_an_error(bench: Bench) -> None:
    wrong = await bench.modern(request("subscriptions/listen", {"notifications": 3})).done()
    assert (wrong.status, wrong.json["error"]["code"]) == (400, -32602)
    bench.surface.refusal = ClientFault(-32602, "no")
    refused = await bench.modern(request("subscriptions/listen", {"notifications": LISTENING})).done()
    assert (refused.status, refused.json["error"]["message"]) == (400, "no")


@pytest.mark.shows("X-GAP-11")
async def test_calls_and_listens_are_bounded() -> None:
    bench = Bench(settings=FrontSettings(max_calls=1, max_listens=1), answering=Held())
    running = bench.modern(call())
    listening = bench.modern(request("subscriptions/listen", {"notifications": LISTENING}))
    await listening.until(lambda: len(listening.events) == 1)
    for message in (call(), request("subscriptions/listen", {"notifications": LISTENING})):
        answer = await bench.modern(message).done()
        assert "the limit is 1" in answer.json["error"]["message"]
    running.leave()
    await bench.clock.advance(0.2)
    await bench.close()
