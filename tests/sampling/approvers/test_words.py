"""What somebody reads before deciding: everything that would leave, and nothing that a terminal would obey."""

from __future__ import annotations

import pytest

from emceepee.sampling.approval import AnswerDialog, RequestDialog
from emceepee.sampling.approvers.words import answer_words, plain, request_words, with_last_text, with_text
from tests.sampling.models import said
from tests.sampling.samples import PNG, assistant, request, text, user


@pytest.mark.shows("B-FLOW-04", "X-BUG-61")
def test_a_request_is_shown_whole() -> None:
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    params = request(
        messages=[user("hi"), assistant("yes?"), user([text("look"), image])],
        systemPrompt="Be brief",
        temperature=0.3,
        includeContext="allServers",
        modelPreferences={"hints": [{"name": "sonnet"}]},
        tools=[{"name": "add", "inputSchema": {}}],
    )
    words = request_words(RequestDialog("local", "tuner", params, ("images leave",)))
    assert words.splitlines() == [
        "The server 'tuner' wants to ask a language model.",
        "System prompt: Be brief",
        "user: hi",
        "assistant: yes?",
        "user: look",
        "user: [image, image/png, about 18 bytes]",
        "maxTokens: 100",
        "temperature: 0.3",
        "includeContext: allServers",
        "modelPreferences: {'hints': [{'name': 'sonnet'}]}",
        "tools: add",
        "Mind: images leave.",
    ]
    assert "Mind" not in request_words(RequestDialog("local", "tuner", params, ("images leave",), show_risks=False))


def test_an_answer_is_shown_with_its_model_and_why_it_stopped() -> None:
    words = answer_words(AnswerDialog("local", "tuner", request(), said("blue", stopReason="maxTokens")))
    assert words.splitlines() == [
        "The model small-1-2026 answers the server 'tuner':",
        "blue",
        "It stopped because of: maxTokens",
    ]
    use = said() | {"content": [{"type": "tool_use", "name": "add", "id": "1", "input": {}}, {"type": "new"}]}
    assert answer_words(AnswerDialog("local", "s", {}, use)).splitlines()[1:] == ["[use of the tool add]", "[new]"]


def test_what_a_terminal_would_obey_is_only_shown() -> None:
    assert plain("a\x1b[2Jb\rc\u202ed\te\n") == "a�[2Jb�c�d\te\n"
    assert plain("x" * 2500).endswith("… (500 more characters)")


def test_changes_leave_the_rest_as_it_was() -> None:
    params = request(messages=[user("a"), user("b")], ours=1)
    assert with_last_text(params, "c") == request(messages=[user("a"), user("c")], ours=1)
    assert with_text(said("a"), "b") == said("b")
