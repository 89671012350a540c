"""Keys by which notices are coalesced, and progress that only rises."""

from __future__ import annotations

from emceepee.front.telling import Rising, coalescing_key
from emceepee.vocabulary.notices import ListChanged, LogLine, OtherNotice, Progress, ResourceUpdated


def test_what_can_be_said_again_has_a_key_of_its_own() -> None:
    again = [
        Progress(1, {}),
        ListChanged("tools"),
        ListChanged("prompts"),
        ResourceUpdated("a:b", {}),
        ResourceUpdated("a:c", {}),
    ]
    keys = [coalescing_key(notice) for notice in again]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_what_cannot_be_said_again_has_none() -> None:
    assert coalescing_key(LogLine("info", {})) is None
    assert coalescing_key(OtherNotice("x/y", {})) is None


def test_progress_must_rise_and_nothing_else_must() -> None:
    rising = Rising()
    assert [rising.lets(Progress(value, {})) for value in (0, 0, 2, 1, 2.5)] == [True, False, True, False, True]
    assert rising.lets(LogLine("info", {}))
