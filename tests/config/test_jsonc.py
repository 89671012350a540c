"""Reading JSON as people write it: what is accepted, what is reported, and that it always ends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.config import jsonc


def mistakes(text: str) -> list[str]:
    return [mistake.what for mistake in jsonc.read(text.encode()).mistakes]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2.5, -3e2, true, false, null, "x\\u00e9\\n"], "b": {}, "c": []}',
        '// top\n{"a": [1, 2.5, -300.0, true, false, null, "x\u00e9\\n",], /* in\nside */ "b": {}, "c": [],}\n// end',
        '\ufeff{"a":[1,2.5,-3e2,true,false,null,"xé\\n"],"b":{},"c":[]}',
    ],
)
def test_comments_trailing_commas_and_a_byte_order_mark_are_no_mistakes(text) -> None:
    document = jsonc.read(text.encode())
    assert document.mistakes == []
    assert document.root.plain() == {"a": [1, 2.5, -300.0, True, False, None, "xé\n"], "b": {}, "c": []}


def test_a_file_in_utf_16_with_its_mark_is_read() -> None:
    assert jsonc.read('{"a": "é"}'.encode("utf-16")).root.plain() == {"a": "é"}


def test_two_slashes_inside_a_text_are_no_comment() -> None:
    assert jsonc.read(b'{"url": "http://x/*y*/z"}').root.plain() == {"url": "http://x/*y*/z"}


def test_each_value_and_key_has_its_line_and_column_in_characters() -> None:
    document = jsonc.read('{\n  "é": "é",\r\n  "b": [1,\r   2]\n}'.encode())
    assert document.place(document.root.members["é"].offset) == (2, 8)
    assert document.place(document.root.members["b"].key_offset) == (3, 3)
    assert document.place(document.root.members["b"].items[1].offset) == (4, 4)


@pytest.mark.parametrize(
    ("text", "what", "value"),
    [
        ('{"a": 1 "b": 2}', "a comma is missing", {"a": 1, "b": 2}),
        ('{"a": 1,, "b": 2}', "a comma stands where a value should be", {"a": 1, "b": 2}),
        ("{'a': 1}", "a text is quoted with '", {"a": 1}),
        ("{\u201ca\u201d: 1}", "a text is quoted with \u201c", {"a": 1}),
        ("{a: 1}", "the key has no quotes", {"a": 1}),
        ('{"a" 1}', "a ':' is missing after the key 'a'", {"a": 1}),
        ('{"a": }', "the key 'a' has no value", {"a": None}),
        ('{"a": True}', "true, false and null are written like this, in small letters", {"a": True}),
        ('{"a": npx}', "a text has no quotes, or a number is not one", {"a": "npx"}),
        ('{"a": 01}', "a text has no quotes, or a number is not one", {"a": "01"}),
        ('{"a": "C:\\data"}', "the text contains a backslash sequence that JSON does not know", {"a": "C:\\data"}),
        ('{"a": "x\n}', "a text is opened here and not closed in the same line", {"a": "x"}),
        ('{"a": [1}', "'}' closes what was opened with '['", {"a": [1]}),
        ('{"a": 1} x', "there is more text after the end of the configuration", {"a": 1}),
        ('{"a": 1 /* x', "a comment is opened here and never closed", {"a": 1}),
        ('{"a": 1,\n "b": {', "the '{' of line 2 is never closed", {"a": 1, "b": {}}),
        ("", "the file is empty", None),
    ],
)
def test_a_slip_is_reported_and_read_as_it_was_probably_meant(text, what, value) -> None:
    document = jsonc.read(text.encode())
    assert document.mistakes[0].what == what
    assert document.broken
    assert document.root.plain() == value


def test_one_slip_does_not_hide_the_next() -> None:
    assert len(mistakes('{"a": 1 "b": \'x\', c: None,}')) == 4


def test_a_key_that_is_twice_in_an_object_is_reported_at_the_second_and_the_last_counts() -> None:
    document = jsonc.read(b'{\n"a": 1,\n"a": 2}')
    (mistake,) = document.mistakes
    assert document.place(mistake.offset) == (3, 1)
    assert "line 2" in mistake.cure
    assert not document.broken
    assert document.root.plain() == {"a": 2}


def test_broken_utf_8_is_reported_where_it_begins() -> None:
    document = jsonc.read(b'{\n"a": "\xff"}')
    assert "not UTF-8" in document.mistakes[0].what
    assert document.place(document.mistakes[0].offset) == (2, 7)


def test_a_deeply_nested_or_huge_file_is_refused_instead_of_read() -> None:
    assert "nested deeper" in mistakes("[" * 100_000)[0]
    assert "at most" in jsonc.read(b" " * (jsonc.MAX_BYTES + 1)).mistakes[0].what


def test_of_very_many_mistakes_the_first_are_told() -> None:
    assert len(mistakes("[" + "x, " * 10_000 + "]")) == jsonc.MAX_MISTAKES


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_whatever_is_json_is_read_as_it_is(value) -> None:
    document = jsonc.read(json.dumps(value, ensure_ascii=False).encode())
    assert document.mistakes == []
    assert document.root.plain() == value


@given(st.text(alphabet="{}[]\":,/*\\ \n'a1-", max_size=60))
def test_any_text_ends_and_what_is_not_json_is_reported(text) -> None:
    document = jsonc.read(text.encode())
    document.root.plain()
    try:
        value = json.loads(text)
    except ValueError:
        return
    assert not document.broken
    assert document.root.plain() == value


@given(st.binary(max_size=60))
def test_any_bytes_end(data) -> None:
    document = jsonc.read(data)
    for mistake in document.mistakes:
        assert document.place(mistake.offset) >= (1, 1)
