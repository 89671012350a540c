"""What a tool can do with its context when nobody listens, and how a form is asked."""

from __future__ import annotations

from typing import Any

from emceepee.tools.clients import Elicited
from emceepee.tools.context import Elicitor, Log, ToolContext
from emceepee.tools.local_server import LocalServer
from tests.tools.local_client import LocalClient, text_of


def test_progress_that_nobody_wants_is_nothing() -> None:
    lines: list[Any] = []
    context = ToolContext("s", Log(lambda level, data: lines.append((level, data))))
    context.progress(1)
    context.log.warning("a")
    context.log.error({"b": 1})
    assert lines == [("warning", "a"), ("error", {"b": 1})]


def test_progress_reaches_whoever_wants_it() -> None:
    sent: list[Any] = []
    context = ToolContext("s", Log(lambda level, data: None), "p", lambda *said: sent.append(said))
    context.progress(1, 2, "half")
    assert sent == [(1, 2, "half")]


async def test_a_form_asks_for_all_of_its_fields() -> None:
    server = LocalServer("studio")

    @server.tool
    async def name(ctx: ToolContext) -> str:
        assert isinstance(ctx.elicitor, Elicitor)
        given = await ctx.elicitor.ask("How is it called?", {"name": {"type": "string"}})
        assert isinstance(given, Elicited)
        return str(given.content["name"]) if given.content else given.action

    seen: list[Any] = []
    answers = [{"action": "accept", "content": {"name": "Dawn"}}, {"action": "decline"}]
    async with LocalClient(
        server, {"elicitation": {}}, create=lambda params: seen.append(params) or answers.pop(0)
    ) as client:
        assert text_of(await client.call("name")) == "Dawn"
        assert text_of(await client.call("name")) == "decline"
    assert seen[0]["requestedSchema"]["required"] == ["name"]
