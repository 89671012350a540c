"""Lines for people out of whatever a child writes: cut, cleaned, counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.stderr_lines import MAX_LINE, MAX_LINES_PER_SECOND, StderrLines


def fed(*chunks: bytes, now: float = 10.0) -> list[str]:
    lines = StderrLines()
    return [text for chunk in chunks for text in lines.feed(chunk, now)] + list(lines.end(now))


def test_lines_come_whole_across_chunks_and_the_last_needs_no_end() -> None:
    assert fed(b"on", b"e\ntw", b"o\r\n\n", b"three") == ["one", "two", "three"]


def test_colours_and_control_characters_are_taken_out() -> None:
    assert fed(b"\x1b[31mred\x1b[0m \x07bell\ttab\n") == ["red bell\ttab"]


def test_broken_utf8_is_still_a_line() -> None:
    assert fed(b"caf\xe9\n") == ["caf�"]


def test_a_long_line_is_cut() -> None:
    assert [len(text) for text in fed(b"x" * 10 * MAX_LINE, b"y" * MAX_LINE + b"\nshort\n")] == [MAX_LINE, 5]


def test_the_last_line_is_kept() -> None:
    lines = StderrLines()
    list(lines.feed(b"Traceback:\nValueError: bad key\n\n", 0))
    assert lines.last == "ValueError: bad key"


def test_a_flood_is_left_out_and_counted() -> None:
    lines = StderrLines()
    assert len(list(lines.feed(b"x\n" * 1000, 10.0))) == MAX_LINES_PER_SECOND
    assert list(lines.feed(b"y\n", 11.0)) == [f"({1000 - MAX_LINES_PER_SECOND} lines left out)", "y"]


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_how_the_bytes_are_cut_makes_no_difference(chunks: list[bytes]) -> None:
    assert fed(*chunks) == fed(b"".join(chunks))
