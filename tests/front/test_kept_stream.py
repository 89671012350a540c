"""What a stream keeps: in its place, bounded, and honest about what had to go."""

from __future__ import annotations

from emceepee.front.kept_stream import KeptStream


class Everything:
    """Implements `front.kept_stream.Keeper` without a bound."""

    tag = "t"

    def __init__(self) -> None:
        self.bytes = 0
        self.resting: list[KeptStream] = []

    def count(self, stream: KeptStream, size: int) -> None:
        stream.bytes += size
        self.bytes += size

    def grew(self, stream: KeptStream) -> None: ...

    def at_rest(self, stream: KeptStream) -> None:
        self.resting.append(stream)

    def taken_up(self, stream: KeptStream) -> None:
        if stream in self.resting:
            self.resting.remove(stream)


class Watching:
    """Implements `front.kept_stream.Showing`."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def kick(self) -> None:
        self.heard.append("kick")

    def replaced(self) -> None:
        self.heard.append("replaced")


def stream() -> tuple[KeptStream, Everything]:
    keeper = Everything()
    return KeptStream(keeper, 3), keeper


def said(kept: KeptStream, place: int = 0) -> list[tuple[int, bytes]]:
    return kept.after(place)


def test_what_was_said_after_a_place_comes_in_order_under_its_own_number() -> None:
    kept, _ = stream()
    for text in (b"a", b"b", b"c"):
        kept.notice(text, None)
    assert (said(kept), said(kept, 2), said(kept, 3)) == ([(1, b"a"), (2, b"b"), (3, b"c")], [(3, b"c")], [])
    assert said(kept, 1) == said(kept, 1)
    assert kept.event_id(2) == "t.3.2"


def test_the_oldest_that_cannot_be_said_again_goes_first_and_the_newest_stays() -> None:
    kept, keeper = stream()
    kept.notice(b"changed", "list tools")
    kept.notice(b"log", None)
    kept.answer(b"answer")
    assert kept.drop_oldest()
    assert (said(kept), kept.dropped) == ([(1, b"changed"), (3, b"answer")], 2)
    assert kept.drop_oldest()
    assert not kept.drop_oldest()
    assert (said(kept), kept.dropped, kept.bytes, keeper.bytes) == ([(3, b"answer")], 2, 6, 6)


def test_only_what_nobody_was_shown_gives_way_to_the_latest_of_its_key_and_only_when_much_waits() -> None:
    kept, _ = stream()
    kept.notice(b"first", "progress")
    for _ in range(130):
        kept.notice(b"log", None)
    kept.notice(b"second", "progress")
    assert said(kept)[0] == (2, b"log")
    kept.shown = kept.last
    for _ in range(130):
        kept.notice(b"log", None)
    kept.notice(b"third", "progress")
    assert (132, b"second") in said(kept)
    assert kept.dropped == 0


def test_after_the_end_nothing_follows_and_it_rests_once_nobody_looks() -> None:
    kept, keeper = stream()
    one, two = Watching(), Watching()
    kept.show_on(one)
    kept.notice(b"a", None)
    kept.show_on(two)
    kept.shown_no_more(one)
    kept.answer(b"b")
    kept.end()
    kept.end()
    kept.answer(b"c")
    kept.notice(b"c", None)
    assert (one.heard, two.heard, said(kept)[-1]) == (["kick", "replaced"], ["kick", "kick"], (2, b"b"))
    assert keeper.resting == []
    kept.shown_no_more(two)
    assert keeper.resting == [kept]
    kept.show_on(one)
    assert keeper.resting == []
