"""Five uses of a model: what each asks, what of the answer it takes, and that it can do without."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.tools import LocalServer, ToolContext
from examples.studio import uses
from tests.tools.local_client import LocalClient, answered, text_of

FACTS = "Tempo: 72 beats a minute; Key: most likely D minor"


def server() -> LocalServer:
    made = LocalServer("asker")

    @made.tool
    async def use(which: str, ctx: ToolContext) -> dict[str, Any]:
        match which:
            case "analysis":
                said: Any = await uses.analysis(ctx, FACTS)
            case "vibe":
                said = await uses.vibe(ctx, FACTS)
            case "instruments":
                said = await uses.instruments(ctx, FACTS)
            case "failed":
                said = await uses.why_it_failed(ctx, f"a clip with {FACTS}", "no such key")
            case _:
                said = await uses.sound_prompt(ctx, FACTS, "slow and dark")
        return {"said": said}

    return made


USES = ("analysis", "vibe", "instruments", "failed", "prompt")


@pytest.mark.shows("X-BUG-72")
@pytest.mark.parametrize("which", USES)
async def test_each_question_holds_the_music_and_asks_for_a_bounded_answer(which: str) -> None:
    asked: list[Any] = []
    async with LocalClient(server(), createMessage=lambda params: asked.append(params) or answered("x, yy")) as client:
        await client.call("use", which=which)
    (params,) = asked
    assert FACTS in params["messages"][0]["content"]["text"]
    assert 0 < params["maxTokens"] <= 200


@pytest.mark.shows("D-USE-02", "D-USE-03")
@pytest.mark.parametrize("which", USES)
@pytest.mark.parametrize(
    ("capabilities", "answer"),
    [
        ({}, None),
        (None, (-1, "User rejected sampling request", None)),
        (None, {"role": "nobody"}),
        (None, answered("  ")),
        (None, answered(content={"type": "image", "data": "AAAA", "mimeType": "image/png"})),
    ],
)
async def test_without_a_useful_answer_there_is_none_and_no_error(which: str, capabilities: Any, answer: Any) -> None:
    async with LocalClient(server(), capabilities, createMessage=lambda params: answer) as client:
        result = await client.call("use", which=which)
    assert (text_of(result), "isError" in result) == ('{"said":null}', False)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("melancholic, atmospheric, sparse", ["melancholic", "atmospheric", "sparse"]),
        ("1. Dark\n2. Slow.\n- Dark", ["dark", "slow"]),
        ("a, b, cc; dd, ee, ff, gg, hh", ["cc", "dd", "ee", "ff", "gg"]),
        ("This is one long sentence that names nothing at all", None),
    ],
)
def test_keywords_are_at_most_five_whatever_stands_around_them(said: str, words: list[str] | None) -> None:
    assert uses.keywords(said) == words


def test_suggestions_are_lines_without_their_marks() -> None:
    assert uses.lines("- Rhodes: warm\n\n2) Brushes") == ["Rhodes: warm", "Brushes"]
    assert uses.lines("\n") is None
