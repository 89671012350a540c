"""A local server towards its client: each method, each way in which a function can end, and what it is given."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import mcp
import pytest
from mcp_types import CreateMessageResult, TextContent

from emceepee.backends.in_memory import InMemoryTransport
from emceepee.tools import (
    ChannelClosed,
    LocalServer,
    SamplingMessage,
    SamplingRequest,
    ToolContext,
    ToolError,
)
from emceepee.tools.conversation import LocalConversation
from tests.support.fake_clock import FakeClock, settle
from tests.support.sdk_wire import sdk_over
from tests.tools.local_client import LocalClient, answered, text_of


@dataclass
class Sum:
    total: int


def make() -> LocalServer:
    server = LocalServer("studio", "1.2", "Makes music", clock=FakeClock())

    @server.tool
    async def mood(clip: str, ctx: ToolContext) -> str:
        """Says what a clip feels like."""
        if ctx.sampler is None:
            return "nobody knows"
        return await ctx.sampler.ask(f"How does {clip} feel?")

    @server.tool(readOnlyHint=True)
    def add(a: int, b: int = 1) -> Sum:
        """Adds."""
        return Sum(a + b)

    @server.tool
    async def steps(ctx: ToolContext) -> None:
        ctx.progress(1, 2, "half")
        ctx.log.info({"at": "half"})
        ctx.log.debug("quiet")

    @server.tool
    async def told(ctx: ToolContext) -> str:
        raise ToolError("there is no clip 'x'")

    @server.tool
    async def broken() -> str:
        raise LookupError("a secret detail")

    @server.tool
    async def seen(ctx: ToolContext) -> dict[str, Any]:
        names = ("sampler", "elicitor", "roots", "progress_token", "progress_sender")
        return {name: getattr(ctx, name) is not None for name in names} | {"session": ctx.session_id}

    @server.resource("studio://about", description="About")
    def about() -> str:
        return "A studio"

    @server.resource("studio://clip/{name}", mime_type="audio/midi")
    async def clip(name: str) -> bytes:
        if name == "none":
            raise LookupError(name)
        return name.encode()

    return server


async def test_it_describes_itself_and_lists_what_it_has() -> None:
    async with LocalClient(make()) as client:
        welcome = await client.request("initialize", protocolVersion="2025-06-18", capabilities={})
        assert welcome["protocolVersion"] == "2025-06-18"
        assert welcome["serverInfo"] == {"name": "studio", "version": "1.2"}
        assert welcome["instructions"] == "Makes music"
        names = [tool["name"] for tool in (await client.request("tools/list"))["tools"]]
        assert names == ["mood", "add", "steps", "told", "broken", "seen"]
        assert await client.request("ping") == {}


@pytest.mark.shows("D-CTX-03", "D-CTX-07")
async def test_a_question_is_one_message_of_five_hundred_tokens_and_gives_the_text() -> None:
    seen: list[Any] = []
    async with LocalClient(make(), createMessage=lambda params: seen.append(params) or answered("calm")) as client:
        assert text_of(await client.call("mood", clip="dawn")) == "calm"
        assert text_of(await client.call("mood", clip="dusk")) == "calm"
    one = {"role": "user", "content": {"type": "text", "text": "How does dawn feel?"}}
    assert seen[0] == {"messages": [one], "maxTokens": 500}
    assert len(seen[1]["messages"]) == 1
    assert "tools" not in seen[1]


@pytest.mark.shows("D-CTX-01", "D-CTX-02", "D-CAP-01", "D-CAP-02", "X-PY-02")
@pytest.mark.parametrize("declared", ["sampling", "elicitation", "roots"])
async def test_a_context_has_what_the_client_declared_and_nothing_else(declared: str) -> None:
    async with LocalClient(make(), {declared: {}}) as client:
        seen = (await client.call("seen"))["structuredContent"]
        session = seen.pop("session")
        can = {"sampling": "sampler", "elicitation": "elicitor", "roots": "roots"}[declared]
        assert [name for name, there in seen.items() if there] == [can]
        assert client.server.abilities.supports_sampling is (declared == "sampling")
        assert (await client.call("seen"))["structuredContent"]["session"] == session
        with_token = await client.request("tools/call", name="seen", arguments={}, _meta={"progressToken": 0})
        assert with_token["structuredContent"]["progress_sender"] is True


@pytest.mark.shows("D-CTX-02", "D-CAP-02")
@pytest.mark.parametrize("capabilities", [{}, {"sampling": None}, {"experimental": {"sampling": {}}}])
async def test_without_the_capability_there_is_no_sampler(capabilities: Any) -> None:
    async with LocalClient(make(), capabilities) as client:
        assert text_of(await client.call("mood", clip="dawn")) == "nobody knows"
    assert not client.asked


@pytest.mark.shows("D-CTX-04", "X-BUG-71")
async def test_an_answer_that_is_no_text_is_an_error_and_not_an_empty_answer() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    async with LocalClient(make(), createMessage=lambda _: answered() | {"content": image}) as client:
        result = await client.call("mood", clip="dawn")
    assert result["isError"] is True
    assert "answered with image" in text_of(result)


@pytest.mark.shows("B-SRV-02")
async def test_a_refused_question_is_a_result_that_says_so() -> None:
    async with LocalClient(make(), createMessage=lambda _: (-1, "User rejected sampling request", None)) as client:
        result = await client.call("mood", clip="dawn")
    assert result["isError"] is True
    assert "User rejected sampling request (-1)" in text_of(result)


async def test_arguments_are_checked_and_results_are_structured() -> None:
    async with LocalClient(make()) as client:
        assert await client.call("add", a=2) == {
            "content": [{"type": "text", "text": '{"total":3}'}],
            "structuredContent": {"total": 3},
        }
        wrong = await client.call("add", a="x")
        assert (wrong["isError"], text_of(wrong)) == (
            True,
            "The arguments of 'add' do not fit: 'a': Expected `int`, got `str`",
        )
        assert "unknown field" in text_of(await client.call("add", a=1, c=2))
        assert "error" in await client.call("nothing")


@pytest.mark.shows("X-CON-59")
async def test_progress_and_log_lines_come_with_the_call() -> None:
    async with LocalClient(make()) as client:
        await client.request("tools/call", name="steps", arguments={}, _meta={"progressToken": "p"})
        await settle()
        assert client.told == [
            ("notifications/progress", {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}),
            ("notifications/message", {"level": "info", "logger": "studio", "data": {"at": "half"}}),
        ]
        client.told.clear()
        await client.request("logging/setLevel", level="error")
        await client.call("steps")
        await settle()
        assert not client.told
        refused = await client.request("logging/setLevel", level="loud")
        assert refused["error"]["code"] == -32602


async def test_what_goes_wrong_inside_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    async with LocalClient(make()) as client:
        assert text_of(await client.call("told")) == "there is no clip 'x'"
        broken = await client.call("broken")
    assert broken["isError"] is True
    assert "secret" not in text_of(broken)
    assert [record.message for record in caplog.records] == ["local_tool_failed"]


@pytest.mark.shows("C-SRV-02")
@pytest.mark.parametrize("method", ["resources/templates/list", "resources/list", "resources/read"])
async def test_where_nothing_can_be_read_there_is_no_such_method(method: str) -> None:
    async with LocalClient(LocalServer("bare", "1")) as client:
        assert (await client.request(method, uri="a:b"))["error"]["code"] == -32601


async def test_resources_are_listed_and_read() -> None:
    async with LocalClient(make()) as client:
        assert [one["uri"] for one in (await client.request("resources/list"))["resources"]] == ["studio://about"]
        (template,) = (await client.request("resources/templates/list"))["resourceTemplates"]
        assert template["uriTemplate"] == "studio://clip/{name}"
        read = await client.request("resources/read", uri="studio://clip/a%20b")
        assert read["contents"] == [{"uri": "studio://clip/a%20b", "mimeType": "audio/midi", "blob": "YSBi"}]
        assert (await client.request("resources/read", uri="studio://about"))["contents"][0]["text"] == "A studio"
        for unknown in ("studio://clip/none", "studio://clip/a/b", "x"):
            assert (await client.request("resources/read", uri=unknown))["error"]["code"] == -32002


@pytest.mark.shows("C-SRV-02")
@pytest.mark.parametrize("method", ["resources/templates/list", "resources/list", "resources/read"])
async def test_a_server_without_resources_knows_no_method_of_theirs(method: str) -> None:
    async with LocalClient(LocalServer("bare")) as client:
        assert (await client.request(method, uri="x"))["error"]["code"] == -32601


@pytest.mark.shows("D-DSP-01", "D-DSP-02")
async def test_an_answer_is_no_request_and_an_unknown_method_is_told() -> None:
    async with LocalClient(make(), createMessage=lambda _: answered()) as client:
        await client.call("mood", clip="dawn")
        assert client.asked[0].method == "sampling/createMessage"
        assert (await client.request("sampling/unknown"))["error"]["code"] == -32601
        assert (await client.request("nothing"))["error"] == {"code": -32601, "message": "Method not found: nothing"}


async def test_a_cancelled_call_cancels_its_question() -> None:
    async with LocalClient(make()) as client:
        call = client.begin("tools/call", name="mood", arguments={"clip": "dawn"})
        await client.question()
        await client.tell("notifications/cancelled", requestId=2)
        await settle()
        assert len(client.server.outgoing) == 0
        call.cancel()
        await asyncio.wait([call])


@pytest.mark.shows("D-TST-02", "D-SMP-01")
async def test_the_official_client_can_use_it_and_answer_it() -> None:
    async def sample(context: Any, params: Any) -> CreateMessageResult:
        assert params.messages[0].content.text == "How does dawn feel?"
        return CreateMessageResult(role="assistant", content=TextContent(text="calm"), model="m", stop_reason="endTurn")

    transport = InMemoryTransport("studio", LocalConversation(make()))
    async with mcp.Client(sdk_over(transport), sampling_callback=sample) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"mood", "add"}
        result = await client.call_tool("mood", {"clip": "dawn"})
        assert result.content[0].text == "calm"
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"total": 3}


@pytest.mark.shows("X-BUG-70")
async def test_a_context_that_outlives_its_client_finds_nobody_at_once() -> None:
    """Whom a question goes to is looked up when it is asked, not when the call began."""
    kept: list[ToolContext] = []
    server = LocalServer("keeper", clock=FakeClock())

    @server.tool
    async def keep(ctx: ToolContext) -> str:
        kept.append(ctx)
        return "kept"

    async with LocalClient(server) as client:
        await client.call("keep")
    assert kept[0].sampler is not None
    with pytest.raises(ChannelClosed):
        await kept[0].sampler.ask("Anybody?")
    assert client.asked == []


@pytest.mark.shows("X-BUG-70")
def test_a_request_with_nothing_but_its_messages_is_a_whole_one() -> None:
    request = SamplingRequest(messages=[SamplingMessage.user("Hi")])
    message = {"role": "user", "content": {"type": "text", "text": "Hi"}}
    assert request.to_json() == {"messages": [message], "maxTokens": 500}
