"""Our own cursors."""

from __future__ import annotations

import pytest

from emceepee.errors import ClientFault
from emceepee.relay.pages import cut, read_cursor, write_cursor
from emceepee.vocabulary.raw_json import to_raw

ITEMS = [to_raw(n) for n in range(5)]
DIGEST = b"123456789012"


def test_pages_follow_one_another_without_gap_or_overlap() -> None:
    seen = []
    cursor = None
    while True:
        items, following = cut(ITEMS, DIGEST, cursor, 2)
        seen += [bytes(item) for item in items]
        if following is None:
            break
        cursor = read_cursor({"cursor": to_raw(following)})
    assert seen == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.shows("EB-F17")
def test_a_cursor_of_another_list_is_refused() -> None:
    cursor = read_cursor({"cursor": to_raw(write_cursor(b"another list", 2))})
    with pytest.raises(ClientFault) as refused:
        cut(ITEMS, DIGEST, cursor, 2)
    assert refused.value.code == -32602


@pytest.mark.parametrize("cursor", ["", "x", "é", 7, {}, "AAAA"])
def test_a_cursor_that_we_never_gave_out_is_refused(cursor: object) -> None:
    with pytest.raises(ClientFault) as refused:
        read_cursor({"cursor": to_raw(cursor)})
    assert refused.value.code == -32602


@pytest.mark.parametrize("offset", [0, 5, 99])
def test_an_offset_beyond_the_list_is_refused(offset: int) -> None:
    with pytest.raises(ClientFault):
        cut(ITEMS, DIGEST, (DIGEST, offset), 2)


def test_no_cursor_and_null_mean_the_first_page() -> None:
    assert read_cursor({}) is None
    assert read_cursor({"cursor": to_raw(None)}) is None
