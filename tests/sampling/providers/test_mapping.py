"""What translations to providers share."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from emceepee.sampling.providers.mapping import as_content, count, result_text, standard_base64
from tests.sampling.samples import text


@given(st.binary(max_size=40))
def test_any_base64_that_we_take_is_the_same_data_in_the_usual_alphabet(data: bytes) -> None:
    given_as = base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert base64.b64decode(standard_base64(given_as), validate=True) == data


def test_a_tools_result_is_told_in_words_where_there_is_nothing_else() -> None:
    parts = [
        text("120 bpm"),
        {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}},
        {"type": "resource_link", "uri": "a:c", "name": "c"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    assert result_text({"content": parts}) == "120 bpm\ninside\na:c\n[image, image/png]"
    assert result_text({"structuredContent": {"bpm": 120}}) == '{"bpm":120}'
    assert result_text({}) == ""


def test_a_server_of_an_older_revision_sees_one_block_where_one_says_it_all() -> None:
    call = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
    assert as_content([text("a"), text("b")]) == text("ab")
    assert as_content([]) == text("")
    assert as_content([call]) == call
    assert as_content([text("a"), call]) == [text("a"), call]


def test_tokens_are_counted_only_where_they_are_told() -> None:
    assert count({"a": 1, "b": 2, "c": "many"}, "a", "b", "c", "d") == 3
    assert count({"a": None}, "a") is None
    assert count(None, "a") is None
