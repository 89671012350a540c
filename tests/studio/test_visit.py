"""The studio's five uses, through the whole gateway, for four kinds of client; the document shows the same."""

from __future__ import annotations

import pytest

from tests.studio.visit import DOCUMENT, USES, WAYS, Listener, document, parts_of, play, text_of


@pytest.mark.shows("D-USE-01", "D-USE-05", "D-USE-06", "D-USE-07", "D-USE-08", "X-GAP-20")
@pytest.mark.parametrize("name", WAYS)
async def test_each_client_gets_the_same_from_the_five_uses(name: str) -> None:
    visit = await play(name)
    vibe, analysis, orchestration, failure, prompt = visit.results
    assert vibe["structuredContent"]["vibe"] == ["brooding", "sparse", "nocturnal", "steady"]
    assert text_of(analysis).startswith("A slow, dark line")
    assert orchestration["structuredContent"]["instruments"][0] == "Rhodes piano: soft chords above"
    assert failure["isError"] is True
    assert text_of(failure).endswith("try 90.")
    assert prompt["structuredContent"] == {
        "prompt": "Slow downtempo at 72 bpm in D minor, lonely bass, Rhodes, brushed drums, night.",
        "byModel": True,
    }
    assert len(visit.listener.asked) == len(USES), "each question was asked once"
    assert len(set(visit.ways)) == 1


@pytest.mark.shows("X-BUG-72")
@pytest.mark.parametrize("name", WAYS)
async def test_whoever_the_model_is_it_reads_the_music(name: str) -> None:
    listener = Listener()
    await play(name, listener)
    for params in listener.asked:
        question = params["messages"][0]["content"]["text"]
        assert "D | Bb | F | C" in question or "9000 beats a minute" in question


async def test_the_document_shows_what_is_played() -> None:
    """When this fails and what is new is right: `make docs`."""
    _, shown, _ = parts_of(DOCUMENT.read_text(encoding="utf-8"))
    assert shown.startswith(await document())
