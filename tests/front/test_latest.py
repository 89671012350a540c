"""What is kept for a client that cannot take it now: the latest of each key, within bounds."""

from __future__ import annotations

from emceepee.front.latest import MAX_BYTES, MAX_MESSAGES, Latest


def test_the_latest_of_each_key_is_kept_in_the_order_of_the_keys() -> None:
    latest = Latest()
    for key, message in (("a", b"1"), ("b", b"2"), ("a", b"3")):
        assert latest.put(key, message)
    assert latest.items() == [("a", b"3"), ("b", b"2")]


def test_keys_are_bounded_and_a_known_one_is_still_replaced() -> None:
    latest = Latest()
    assert all(latest.put(str(number), b"x") for number in range(MAX_MESSAGES))
    assert not latest.put("one more", b"x")
    assert latest.put("0", b"y")
    assert len(latest) == MAX_MESSAGES


def test_bytes_are_bounded_however_few_the_messages() -> None:
    latest = Latest()
    assert latest.put("a", b"x" * (MAX_BYTES - 1))
    assert not latest.put("b", b"xx")
    assert latest.put("a", b"y")
    assert latest.put("b", b"xx")
