"""Stop sequences that a provider does not take are kept by us."""

from __future__ import annotations

from emceepee.sampling.providers.stops import cut, split
from tests.sampling.models import said
from tests.sampling.samples import text


def test_only_what_is_taken_is_sent_and_no_more_than_the_provider_takes() -> None:
    assert split(["\n\n", "END", "", "STOP"], lambda stop: bool(stop.strip()), 1) == (["END"], ["\n\n", "STOP"])
    assert split(None, bool, 4) == ([], [])


def test_an_answer_ends_where_the_first_of_them_begins() -> None:
    answer = cut(said("one\n\ntwo END"), ["END", "\n\n"])
    assert answer == said("one", stopReason="stopSequence")


def test_an_answer_without_them_is_left_alone() -> None:
    answer = said("one two")
    assert cut(answer, ["\n\n"]) is answer


def test_of_several_blocks_those_after_the_cut_go_and_one_that_is_left_stands_alone() -> None:
    answer = said(content=[text("a"), text("b|c"), text("d")])
    assert cut(answer, ["|"])["content"] == [text("a"), text("b")]
    assert cut(said(content=[text("a|"), {"type": "tool_use"}]), ["|"])["content"] == text("a")
