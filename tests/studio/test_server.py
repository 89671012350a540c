"""The studio's tools, for a client that can sample and for one that cannot."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from examples.studio.artifacts import Artifacts, StoreFailed
from examples.studio.midi import read_midi, write_midi
from examples.studio.music import compose, read_key
from examples.studio.server import make_studio
from tests.tools.local_client import LocalClient, answered, text_of

BASS: dict[str, Any] = {"part": "bass", "key": "D minor", "tempo": 72, "bars": 4, "seed": 3}


def says(text: str) -> Any:
    return lambda params: answered(text)


async def annotations(client: LocalClient, number: int = 0) -> dict[str, str]:
    clips = (await client.call("list_clips"))["structuredContent"]["clips"]
    found: dict[str, str] = clips[number]["annotations"]
    return found


@pytest.mark.shows("D-USE-01", "X-BUG-72", "X-GAP-20")
async def test_a_generated_clip_gets_its_mood_as_an_annotation() -> None:
    asked: list[Any] = []
    answer = answered("melancholic, atmospheric, sparse")
    async with LocalClient(make_studio(), createMessage=lambda params: asked.append(params) or answer) as client:
        made = (await client.call("make_clip", **BASS))["structuredContent"]
        assert made["vibe"] == ["melancholic", "atmospheric", "sparse"]
        assert await annotations(client) == {"vibe": "melancholic, atmospheric, sparse"}
    question = asked[0]["messages"][0]["content"]["text"]
    assert "3 to 5 keywords, separated by commas" in question
    assert made["summary"] in question


@pytest.mark.shows("D-USE-02")
async def test_without_a_model_the_clip_is_the_same_and_has_no_annotation() -> None:
    async with LocalClient(make_studio(), {}) as without, LocalClient(make_studio(), createMessage=says("a b")) as one:
        bare = (await without.call("make_clip", **BASS))["structuredContent"]
        full = (await one.call("make_clip", **BASS))["structuredContent"]
        assert await annotations(without) == {}
        assert without.asked == []
    assert bare == full | {"vibe": None}


@pytest.mark.shows("D-USE-03", "X-CON-57")
async def test_a_model_that_refuses_or_never_answers_costs_the_annotation_only() -> None:
    async with LocalClient(make_studio(), createMessage=lambda params: (-1, "no", None)) as client:
        assert (await client.call("make_clip", **BASS))["structuredContent"]["vibe"] is None
        assert await annotations(client) == {}
    studio = make_studio()
    studio.sampling_timeout = 0.05
    async with LocalClient(studio, createMessage=lambda params: None) as client:
        result = await client.call("make_clip", **BASS)
        assert ("isError" in result, result["structuredContent"]["vibe"]) == (False, None)
        assert [method for method, _ in client.told if method.endswith("cancelled")] == ["notifications/cancelled"]


class BrokenStore(Artifacts):
    async def annotate(self, id: str, name: str, value: str) -> None:
        raise StoreFailed("the disk is full")


@pytest.mark.shows("D-USE-04", "X-CON-57", "X-BUG-73")
async def test_a_store_that_takes_no_annotation_costs_the_annotation_only(caplog: pytest.LogCaptureFixture) -> None:
    async with LocalClient(make_studio(BrokenStore()), createMessage=says("dark, slow")) as client:
        result = await client.call("make_clip", **BASS)
        analysed = await client.call("analyse", clip="clip-1")
        assert await annotations(client) == {}
    assert result["structuredContent"]["vibe"] == ["dark", "slow"]
    assert "isError" not in result
    assert text_of(analysed).startswith("dark, slow")
    assert "the disk is full" in caplog.text


@pytest.mark.shows("D-USE-05")
async def test_a_clip_is_analysed_and_without_a_model_its_facts_are_told() -> None:
    async with LocalClient(make_studio(), createMessage=says("Slow and dark.")) as client:
        await client.call("make_clip", **BASS)
        result = await client.call("analyse", clip="clip-1")
        assert text_of(result).startswith("Slow and dark.\n\nTempo: 72")
        assert (await annotations(client))["analysis"] == "Slow and dark."
    async with LocalClient(make_studio(), {}) as client:
        await client.call("make_clip", **BASS)
        result = await client.call("analyse", clip="clip-1")
        assert (text_of(result)[:9], result["structuredContent"]["analysis"]) == ("Tempo: 72", None)


@pytest.mark.shows("D-USE-06")
async def test_instruments_are_suggested_for_a_bass_line() -> None:
    asked: list[Any] = []
    answer = answered("- Rhodes: warm chords\n- Brushes: soft time")
    async with LocalClient(make_studio(), createMessage=lambda params: asked.append(params) or answer) as client:
        await client.call("make_clip", **BASS)
        result = await client.call("orchestrate", clip="clip-1")
        assert result["structuredContent"] == {"instruments": ["Rhodes: warm chords", "Brushes: soft time"]}
    question = asked[1]["messages"][0]["content"]["text"]
    assert "bass line" in question
    assert "D | Bb | F | C" in question


@pytest.mark.shows("D-USE-07")
@pytest.mark.parametrize(
    ("tool", "arguments", "wrong"),
    [
        ("make_clip", BASS | {"tempo": 9000}, "nobody can play at 9000"),
        ("make_clip", BASS | {"key": "H minor"}, "'H minor' is no key"),
        ("import_clip", {"data": "AAAA"}, "no MIDI file"),
        ("import_clip", {"data": "!"}, "base64"),
    ],
)
async def test_a_generation_that_fails_is_explained(tool: str, arguments: dict[str, Any], wrong: str) -> None:
    asked: list[Any] = []
    answer = answered("Try a slower tempo.")
    async with LocalClient(make_studio(), createMessage=lambda params: asked.append(params) or answer) as client:
        result = await client.call(tool, **arguments)
    assert result["isError"] is True
    assert wrong in text_of(result)
    assert text_of(result).endswith("\n\nTry a slower tempo.")
    assert wrong in asked[0]["messages"][0]["content"]["text"]


@pytest.mark.shows("D-USE-08")
async def test_a_prompt_for_a_sound_generator_is_written_from_the_analysis() -> None:
    asked: list[Any] = []
    answer = answered("A slow dark bass groove.")
    async with LocalClient(make_studio(), createMessage=lambda params: asked.append(params) or answer) as client:
        await client.call("make_clip", **BASS)
        await client.call("analyse", clip="clip-1")
        result = await client.call("write_prompt", clip="clip-1")
    assert result["structuredContent"] == {"prompt": "A slow dark bass groove.", "byModel": True}
    assert "What a listener said: A slow dark bass groove." in asked[2]["messages"][0]["content"]["text"]
    async with LocalClient(make_studio(), {}) as client:
        await client.call("make_clip", **BASS)
        assert (await client.call("write_prompt", clip="clip-1"))["structuredContent"]["byModel"] is False


async def test_a_clip_is_a_resource_that_can_be_taken_in_again() -> None:
    async with LocalClient(make_studio(), {}) as client:
        uri = (await client.call("make_clip", **BASS))["structuredContent"]["uri"]
        (read,) = (await client.request("resources/read", uri=uri))["contents"]
        assert read["mimeType"] == "audio/midi"
        assert read_midi(base64.b64decode(read["blob"])).tempo == 72
        again = await client.call("import_clip", data=read["blob"], title="again")
        words = await client.request("resources/read", uri="studio://summary/clip-2")
        assert words["contents"][0]["text"] == again["structuredContent"]["summary"]
        assert [one["title"] for one in json.loads(text_of(await client.call("list_clips")))["clips"]] == [
            "bass in D minor",
            "again",
        ]


async def test_a_clip_that_is_not_there_is_said_with_what_to_do() -> None:
    async with LocalClient(make_studio(), {}) as client:
        result = await client.call("analyse", clip="clip-9")
    assert (result["isError"], text_of(result)) == (
        True,
        "there is no clip 'clip-9'; list_clips shows those that there are",
    )


async def test_the_store_is_bounded_and_so_is_what_is_said_of_each() -> None:
    store = Artifacts(most=2, most_annotations=1)
    clip = compose("bass", read_key("C"), 100, 1, 1)
    for number in range(3):
        store.add(f"{number}", clip, write_midi(clip))
    assert [one.title for one in store.all()] == ["1", "2"]
    await store.annotate("clip-2", "vibe", "x" * 9000)
    assert len(store.get("clip-2").annotations["vibe"]) == 2000
    with pytest.raises(StoreFailed, match="1 annotations already"):
        await store.annotate("clip-2", "more", "x")
    with pytest.raises(StoreFailed, match="is gone"):
        await store.annotate("clip-1", "vibe", "x")


async def test_many_clips_at_once_are_each_asked_about_once() -> None:
    def mood(params: Any) -> Any:
        return answered("fast" if "200 beats" in params["messages"][0]["content"]["text"] else "slow")

    async with LocalClient(make_studio(), createMessage=mood) as client:
        tempos = [60 if number % 2 else 200 for number in range(40)]
        results = await asyncio.gather(*(client.call("make_clip", **BASS | {"tempo": tempo}) for tempo in tempos))
    assert [result["structuredContent"]["vibe"] for result in results] == [
        ["slow"] if tempo == 60 else ["fast"] for tempo in tempos
    ]
