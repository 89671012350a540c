"""Asking a client's model, person and roots: answers, errors, silence, and a client that goes away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp_types import CreateMessageRequestParams, methods

from emceepee.protocol.messages import Request
from emceepee.sampling.request import ModelHint, ModelPreferences, SamplingMessage, SamplingRequest
from emceepee.tools import (
    AskFailed,
    AskTimeout,
    ChannelClosed,
    LocalServer,
    Malformed,
    NotSupported,
    Refused,
    RemoteCancelled,
    SamplingResponse,
)
from emceepee.tools.clients import ElicitationClient, Line, RootsClient, SamplingClient
from tests.support.fake_clock import FakeClock, settle
from tests.tools.local_client import SAMPLING, LocalClient, answered


def make(clock: FakeClock | None = None) -> LocalServer:
    return LocalServer("studio", clock=clock or FakeClock())


def hello(**options: Any) -> SamplingRequest:
    return SamplingRequest(messages=[SamplingMessage.user("Hello")], **options)


def line(client: LocalClient) -> Line:
    server = client.server
    return Line(server.outgoing, client.transport.say, lambda: server.abilities)


def sampling(client: LocalClient) -> SamplingClient:
    return SamplingClient(line(client))


def params_of(request: Request) -> dict[str, Any]:
    params: dict[str, Any] = json.loads(bytes(request.params or b"{}"))
    return params


@pytest.mark.shows("D-SMP-01", "B-REQ-01", "D-TST-02", "D-CTX-06", "D-CTX-05")
async def test_a_question_is_a_request_with_a_fresh_id_and_gets_its_answer() -> None:
    request = hello(
        model_preferences=ModelPreferences(
            [ModelHint.new("claude-sonnet-4-20250514")], intelligence_priority=0.5, speed_priority=0.8
        ),
        max_tokens=100,
    )
    async with LocalClient(make(), createMessage=lambda _: answered("melancholic, sparse")) as client:
        response = await sampling(client).sample(request)
        await sampling(client).sample(request)
    assert isinstance(response, SamplingResponse)
    assert (response.role, response.as_text(), response.model) == ("assistant", "melancholic, sparse", "m-1")
    assert response.stop_reason == "endTurn"
    assert [one.method for one in client.asked] == ["sampling/createMessage"] * 2
    assert client.asked[0].id != client.asked[1].id
    assert params_of(client.asked[0]) == request.to_json()
    CreateMessageRequestParams.model_validate(params_of(client.asked[0]))
    methods.parse_server_request("sampling/createMessage", "2025-11-25", params_of(client.asked[0]))


@pytest.mark.shows("D-SMP-02", "D-SMP-04", "X-BUG-66", "X-BUG-64")
async def test_after_sixty_seconds_nobody_waits_and_the_client_is_told() -> None:
    clock = FakeClock()
    async with LocalClient(make(clock)) as client:
        waiting = asyncio.ensure_future(sampling(client).sample(hello()))
        asked = await client.question()
        await clock.advance(59.9)
        assert not waiting.done()
        await clock.advance(0.2)
        with pytest.raises(AskTimeout, match="within 60 s"):
            await waiting
        await settle()
        assert ("notifications/cancelled", asked.id) in [(method, told["requestId"]) for method, told in client.told]
        assert len(client.server.outgoing) == 0
        assert clock.waiting == 0
        with pytest.raises(AskTimeout, match="within 5 s"):
            await asyncio.gather(sampling(client).sample(hello(), timeout=5), clock.advance(5))


@pytest.mark.shows("D-SMP-03", "D-SMP-04", "X-BUG-70")
async def test_a_client_that_goes_away_ends_the_wait_at_once() -> None:
    clock = FakeClock()
    async with LocalClient(make(clock)) as client:
        waiting = asyncio.ensure_future(sampling(client).sample(hello()))
        await client.question()
        client.transport.hang_up("gone")
        with pytest.raises(ChannelClosed, match="client is gone"):
            await waiting
        assert len(client.server.outgoing) == 0
        assert clock.waiting == 0
        with pytest.raises(ChannelClosed):
            await sampling(client).sample(hello())


@pytest.mark.shows("D-SMP-04", "X-BUG-66", "X-PY-05")
async def test_whoever_gives_up_leaves_nothing_and_tells_the_client() -> None:
    clock = FakeClock()
    async with LocalClient(make(clock)) as client:
        waiting = asyncio.ensure_future(sampling(client).sample(hello()))
        asked = await client.question()
        waiting.cancel()
        await asyncio.wait([waiting])
        await settle()
        assert waiting.cancelled()
        assert len(client.server.outgoing) == 0
        assert clock.waiting == 0
        assert client.told[-1][1]["requestId"] == asked.id


@pytest.mark.shows("D-SMP-04", "X-BUG-66")
async def test_a_question_that_cannot_be_sent_leaves_nothing() -> None:
    def broken(message: bytes) -> None:
        raise OSError("no stream")

    clock = FakeClock()
    async with LocalClient(make(clock)) as client:
        server = client.server
        with pytest.raises(OSError, match="no stream"):
            await SamplingClient(Line(server.outgoing, broken, lambda: server.abilities)).sample(hello())
        assert len(server.outgoing) == 0
        assert clock.waiting == 0


@pytest.mark.shows("D-SMP-05", "X-BUG-67")
async def test_an_answer_to_nothing_is_ignored() -> None:
    async with LocalClient(make()) as client:
        waiting = asyncio.ensure_future(sampling(client).sample(hello()))
        asked = await client.question()
        for strange in ("t999", 1, f'"{asked.id}"'):
            await client.reply(Request(strange, asked.method), answered("wrong"))
        await client.reply(asked, answered("right"))
        assert (await waiting).as_text() == "right"
        await client.reply(asked, answered("again"))
        await settle()
        assert len(client.server.outgoing) == 0


@pytest.mark.shows("D-SMP-06")
async def test_many_at_once_each_get_their_own_in_any_order() -> None:
    async with LocalClient(make()) as client:
        tasks = [
            asyncio.ensure_future(
                sampling(client).sample(SamplingRequest(messages=[SamplingMessage.user(str(number))]))
            )
            for number in range(100)
        ]
        await client.question(99)
        for asked in reversed(client.asked):
            await client.reply(asked, answered(params_of(asked)["messages"][0]["content"]["text"]))
        assert [(await task).as_text() for task in tasks] == [str(number) for number in range(100)]


@pytest.mark.shows("D-SMP-07", "X-BUG-65")
async def test_an_error_ends_the_wait_with_that_error() -> None:
    refusal = (-1, "User rejected sampling request", {"rejectionType": "explicit"})
    async with LocalClient(make(), createMessage=lambda _: refusal) as client:
        with pytest.raises(Refused) as raised:
            await sampling(client).sample(hello())
    assert (raised.value.code, raised.value.message, raised.value.data) == refusal


@pytest.mark.shows("D-SMP-08", "X-BUG-65")
@pytest.mark.parametrize("rubbish", [{}, {"role": "assistant"}, answered() | {"content": {"type": "text"}}])
async def test_a_malformed_answer_ends_the_wait_with_a_clear_error(rubbish: Any) -> None:
    async with LocalClient(make(), createMessage=lambda _: rubbish) as client:
        with pytest.raises(Malformed, match="cannot be used"):
            await sampling(client).sample(hello())


@pytest.mark.shows("D-SMP-09", "X-BUG-68")
async def test_an_answer_from_another_session_is_ignored() -> None:
    server = make()
    async with LocalClient(server) as one, LocalClient(server) as other:
        waiting = asyncio.ensure_future(sampling(one).sample(hello()))
        asked = await one.question()
        await other.reply(asked, answered("forged"))
        await settle()
        assert not waiting.done()
        await one.reply(asked, answered("mine"))
        assert (await waiting).as_text() == "mine"


@pytest.mark.shows("X-CON-52")
async def test_a_client_may_cancel_what_it_was_asked() -> None:
    async with LocalClient(make()) as client:
        waiting = asyncio.ensure_future(sampling(client).sample(hello()))
        asked = await client.question()
        await client.tell("notifications/cancelled", requestId=asked.id, reason="busy")
        with pytest.raises(RemoteCancelled, match="busy"):
            await waiting


@pytest.mark.shows("D-CAP-03", "X-BUG-69")
async def test_nothing_is_sent_to_a_client_that_cannot() -> None:
    async with LocalClient(make(), {}) as client:
        with pytest.raises(NotSupported, match="sampling"):
            await sampling(client).sample(hello())
        with pytest.raises(NotSupported, match="elicitation"):
            await ElicitationClient(line(client)).elicit("?", {})
        with pytest.raises(NotSupported, match="roots"):
            await RootsClient(line(client)).list()
        await settle()
    assert not client.asked


@pytest.mark.shows("X-CON-54")
async def test_nothing_is_sent_before_the_client_is_ready() -> None:
    client = LocalClient(make())
    async with client:
        client.server.abilities = type(client.server.abilities)(SAMPLING)
        with pytest.raises(ChannelClosed, match="initialized"):
            await sampling(client).sample(hello())
    assert not client.asked


@pytest.mark.shows("X-CON-48")
@pytest.mark.parametrize(("declared", "sent"), [({}, None), ({"context": {}}, "thisServer")])
async def test_context_is_asked_for_only_where_the_client_declared_it(declared: Any, sent: str | None) -> None:
    async with LocalClient(make(), {"sampling": declared}, createMessage=lambda _: answered()) as client:
        await sampling(client).sample(hello(include_context="thisServer"))
    assert params_of(client.asked[0]).get("includeContext") == sent


async def test_tools_are_offered_only_where_the_client_declared_it() -> None:
    tools = [{"name": "add", "inputSchema": {"type": "object"}}]
    async with LocalClient(make()) as client:
        with pytest.raises(NotSupported, match=r"sampling\.tools"):
            await sampling(client).sample(hello(tools=tools))
    async with LocalClient(make(), {"sampling": {"tools": {}}}, createMessage=lambda _: answered()) as client:
        assert (await sampling(client).sample(hello(tools=tools))).as_text()


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ({"action": "accept", "content": {"name": "x"}}, True),
        ({"action": "decline"}, False),
        ({"action": "cancel", "content": {"a": 1}}, False),
    ],
)
async def test_a_person_is_asked(answer: Any, accepted: bool) -> None:
    async with LocalClient(make(), {"elicitation": {}}, create=lambda _: answer) as client:
        elicited = await ElicitationClient(line(client)).elicit("Name?", {"type": "object", "properties": {}})
    assert elicited.accepted is accepted
    assert elicited.content == ({"name": "x"} if accepted else None)
    methods.parse_server_request("elicitation/create", "2025-11-25", params_of(client.asked[0]))


@pytest.mark.parametrize("answer", [{}, {"action": "maybe"}, {"action": "accept"}, []])
async def test_an_answer_of_nobody_is_told(answer: Any) -> None:
    async with LocalClient(
        make(), {"elicitation": {}, "roots": {}}, create=lambda _: answer, list=lambda _: {}
    ) as client:
        with pytest.raises(AskFailed):
            await ElicitationClient(line(client)).elicit("Name?", {})
        with pytest.raises(Malformed):
            await RootsClient(line(client)).list()


async def test_roots_are_listed() -> None:
    roots = {"roots": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b"}]}
    async with LocalClient(make(), {"roots": {}}, list=lambda _: roots) as client:
        found = await RootsClient(line(client)).list()
    assert [(root.uri, root.name) for root in found] == [("file:///a", "a"), ("file:///b", None)]
