"""Texts in headers: out and back, and as the reference SDK does it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.shared import inbound

from emceepee.eras.modern.header_values import decode_value, encode_value

_texts = st.text(st.characters(exclude_categories=("Cs",)))


@given(_texts)
@example("=?base64?eA==?=")
@example(" a")
@example("")
def test_any_text_comes_back_as_it_went(text: str) -> None:
    written = encode_value(text)
    assert decode_value(written) == text
    assert written.isascii()
    assert not any(character < " " for character in written)


@given(_texts)
def test_we_write_what_the_reference_sdk_writes(text: str) -> None:
    assert encode_value(text) == inbound.encode_header_value(text)


@given(st.one_of(_texts, st.text("=?abse64ABCZ/+", max_size=12).map(lambda inner: f"=?base64?{inner}?=")))
def test_we_read_what_the_reference_sdk_reads(text: str) -> None:
    assert decode_value(text) == inbound.decode_header_value(text)


@pytest.mark.parametrize("malformed", ["=?base64?a?=", "=?base64?eB==?=", "=?base64?/w==?=", "=?base64?e A==?="])
def test_a_malformed_wrapping_is_nothing(malformed: str) -> None:
    assert decode_value(malformed) is None


def test_the_markers_are_case_sensitive() -> None:
    assert decode_value("=?BASE64?eA==?=") == "=?BASE64?eA==?="
