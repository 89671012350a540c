"""The embedded server: each thing it offers, over the wire it is hosted on, and checked by the official validators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import mcp
import pytest
from mcp_types import PromptReference, methods

from emceepee.backends.demo import DemoServer
from emceepee.backends.in_memory import InMemoryTransport
from emceepee.protocol.messages import Failure, Notification, Result, write_notification, write_request
from emceepee.runtime.clock import SystemClock
from tests.support.fake_clock import FakeClock
from tests.support.inbox import RecordingInbox
from tests.support.sdk_wire import sdk_over

Json = dict[str, Any]


class Demo:
    """A client of it, as small as can be."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.transport = InMemoryTransport("demo", DemoServer(self.clock))
        self.inbox = RecordingInbox()
        self._last_id = 0

    async def begin(self, method: str, **params: Any) -> int:
        self._last_id += 1
        await self.transport.send(write_request(self._last_id, method, json.dumps(params).encode()))
        return self._last_id

    async def ask(self, method: str, **params: Any) -> Json:
        request_id = await self.begin(method, **params)
        while isinstance(answer := await self.inbox.next(), Notification):
            pass
        assert isinstance(answer, Result), answer
        assert answer.id == request_id
        result: Json = json.loads(bytes(answer.result))
        methods.parse_server_result(method, "2025-11-25", result)
        return result

    async def fail(self, method: str, **params: Any) -> tuple[int, str]:
        await self.begin(method, **params)
        answer = await self.inbox.next()
        assert isinstance(answer, Failure), answer
        return answer.error.code, answer.error.message

    async def call(self, tool: str, **arguments: Any) -> Json:
        return await self.ask("tools/call", name=tool, arguments=arguments)

    def told(self, method: str) -> list[Json]:
        messages = [message for message, _ in self.inbox.messages if isinstance(message, Notification)]
        return [json.loads(bytes(message.params or b"{}")) for message in messages if message.method == method]


@pytest.fixture
async def demo() -> AsyncIterator[Demo]:
    demo = Demo()
    await demo.transport.start(demo.inbox)
    yield demo
    await demo.transport.close()


def text_of(result: Json) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(("asked", "given"), [("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")])
async def test_it_welcomes_in_the_revision_asked_for_or_its_newest(demo: Demo, asked: str, given: str) -> None:
    welcome = await demo.ask(
        "initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    assert welcome["protocolVersion"] == given
    assert set(welcome["capabilities"]) == {"tools", "resources", "prompts", "completions", "logging"}


async def test_it_is_no_modern_server_and_says_so_as_legacy_servers_do(demo: Demo) -> None:
    assert await demo.fail("server/discover") == (-32601, "Method not found: server/discover")


async def test_everything_it_lists_is_valid(demo: Demo) -> None:
    tools = (await demo.ask("tools/list"))["tools"]
    assert [tool["name"] for tool in tools] == ["echo", "add", "countdown"]
    assert (await demo.ask("resources/list"))["resources"][0]["uri"] == "demo://about"
    templates = (await demo.ask("resources/templates/list"))["resourceTemplates"]
    assert templates[0]["uriTemplate"] == "demo://greeting/{name}"
    assert (await demo.ask("prompts/list"))["prompts"][0]["name"] == "introduce"


async def test_a_cursor_is_nothing_it_ever_gave(demo: Demo) -> None:
    assert (await demo.fail("tools/list", cursor="x"))[0] == -32602


async def test_echo_returns_its_text(demo: Demo) -> None:
    assert text_of(await demo.call("echo", text="héllo")) == "héllo"


async def test_add_returns_structured_content_and_text(demo: Demo) -> None:
    result = await demo.call("add", a=2, b=0.5)
    assert (result["structuredContent"], text_of(result)) == ({"sum": 2.5}, "2.5")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("echo", {}),
        ("echo", {"text": 5}),
        ("add", {"a": 1}),
        ("add", {"a": 1, "b": True}),
        ("add", {"a": 1e308, "b": 1e308}),
        ("add", {"a": 2**62, "b": 2**62}),
        ("countdown", {"steps": 0}),
        ("countdown", {"steps": 1.5}),
        ("countdown", {"seconds": -1}),
    ],
)
async def test_wrong_arguments_are_told_to_the_model_in_a_result(demo: Demo, tool: str, arguments: Json) -> None:
    assert (await demo.call(tool, **arguments))["isError"] is True


async def test_arguments_that_are_no_object_are_told_too(demo: Demo) -> None:
    assert (await demo.ask("tools/call", name="echo", arguments=[1]))["isError"] is True


async def test_countdown_waits_by_the_clock_and_reports_each_step(demo: Demo) -> None:
    arguments = {"steps": 3, "seconds": 10}
    await demo.begin("tools/call", name="countdown", arguments=arguments, _meta={"progressToken": "p"})
    await demo.clock.advance(29)
    assert [(told["progressToken"], told["progress"]) for told in demo.told("notifications/progress")] == [
        ("p", 1),
        ("p", 2),
    ]
    await demo.clock.advance(1)
    assert demo.told("notifications/progress")[-1] == {
        "progressToken": "p",
        "progress": 3,
        "total": 3,
        "message": "0 to go",
    }
    assert isinstance(demo.inbox.messages[-1][0], Result)


async def test_without_a_token_there_is_no_progress(demo: Demo) -> None:
    await demo.begin("tools/call", name="countdown", arguments={"steps": 1})
    await demo.clock.advance(1)
    assert isinstance(demo.inbox.messages[-1][0], Result)
    assert not demo.told("notifications/progress")


async def test_a_cancelled_countdown_stops_and_is_not_answered(demo: Demo) -> None:
    request_id = await demo.begin("tools/call", name="countdown", arguments={})
    await demo.clock.advance(1)
    assert demo.clock.waiting == 1
    params = json.dumps({"requestId": request_id}).encode()
    await demo.transport.send(write_notification("notifications/cancelled", params))
    await demo.clock.advance(60)
    assert demo.clock.waiting == 0
    assert not [message for message, _ in demo.inbox.messages if isinstance(message, Result)]


async def test_log_lines_come_from_the_level_on_that_was_set(demo: Demo) -> None:
    await demo.call("echo", text="a")
    assert not demo.told("notifications/message")
    await demo.ask("logging/setLevel", level="debug")
    await demo.call("echo", text="a")
    assert demo.told("notifications/message") == [{"level": "debug", "logger": "demo", "data": "echo of 1 characters"}]


async def test_a_level_that_is_none_is_refused(demo: Demo) -> None:
    assert (await demo.fail("logging/setLevel", level="loud"))[0] == -32602


async def test_the_resource_and_the_template_can_be_read(demo: Demo) -> None:
    assert "runs inside" in (await demo.ask("resources/read", uri="demo://about"))["contents"][0]["text"]
    greeting = await demo.ask("resources/read", uri="demo://greeting/Ada%20L.")
    assert greeting["contents"][0] == {
        "uri": "demo://greeting/Ada%20L.",
        "mimeType": "text/plain",
        "text": "Hello, Ada L.!",
    }


@pytest.mark.parametrize("uri", ["demo://nothing", "demo://greeting/", "file:///etc/passwd"])
async def test_a_resource_that_is_not_there_is_said_with_the_code_of_its_era(demo: Demo, uri: str) -> None:
    assert await demo.fail("resources/read", uri=uri) == (-32002, f"Resource not found: {uri}")


async def test_the_prompt_names_who_is_introduced(demo: Demo) -> None:
    prompt = await demo.ask("prompts/get", name="introduce", arguments={"name": "Ada", "tone": "brief"})
    text = prompt["messages"][0]["content"]["text"]
    assert "Ada" in text
    assert "brief" in text


@pytest.mark.parametrize("params", [{"name": "other"}, {"name": "introduce"}, {}])
async def test_a_prompt_that_cannot_be_made_is_refused(demo: Demo, params: Json) -> None:
    assert (await demo.fail("prompts/get", **params))[0] == -32602


@pytest.mark.parametrize(("begun", "values"), [("f", ["formal", "friendly"]), ("x", [])])
async def test_the_tone_is_completed(demo: Demo, begun: str, values: list[str]) -> None:
    ref = {"type": "ref/prompt", "name": "introduce"}
    result = await demo.ask("completion/complete", ref=ref, argument={"name": "tone", "value": begun})
    assert result["completion"]["values"] == values


async def test_another_argument_has_no_suggestions_and_none_at_all_is_refused(demo: Demo) -> None:
    ref = {"type": "ref/resource", "uri": "demo://greeting/{name}"}
    result = await demo.ask("completion/complete", ref=ref, argument={"name": "name", "value": ""})
    assert result["completion"]["values"] == []
    assert (await demo.fail("completion/complete", ref=ref))[0] == -32602


async def test_an_unknown_tool_is_refused(demo: Demo) -> None:
    assert await demo.fail("tools/call", name="rm") == (-32602, "Unknown tool: rm")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_sdks_client_uses_all_of_it(mode: str) -> None:
    transport = InMemoryTransport("demo", DemoServer(SystemClock()))
    steps: list[float] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with asyncio.timeout(20), mcp.Client(sdk_over(transport), mode=mode) as client:
        assert client.protocol_version == "2025-11-25"
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "add", "countdown"]
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}
        await client.call_tool("countdown", {"steps": 3, "seconds": 0}, progress_callback=on_progress)
        assert steps == [1, 2, 3]
        assert (await client.read_resource("demo://greeting/Ada")).contents
        assert (await client.get_prompt("introduce", {"name": "Ada"})).messages
        reference = PromptReference(type="ref/prompt", name="introduce")
        completed = await client.complete(reference, {"name": "tone", "value": "b"})
        assert completed.completion.values == ["brief"]
