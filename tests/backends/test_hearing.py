"""What one call hears: progress that rises, what belongs to it, and nothing that belongs to the session."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.backends.hearing import CallHearing
from emceepee.eras.legacy.towards_backend import read_notice, read_progress
from emceepee.vocabulary.notices import ListChanged, LogLine, Notice, Progress, ResourceUpdated


class Ears:
    def __init__(self) -> None:
        self.call: list[Notice] = []
        self.session: list[Notice] = []
        self.hearing = CallHearing(self.call.append, self.session.append, read_notice, read_progress)


@pytest.mark.shows("X-GAP-17")
def test_progress_must_rise_and_be_progress() -> None:
    ears = Ears()
    for text in (
        b'{"progress":1}',
        b'{"progress":1}',
        b'{"progress":0.5}',
        b'{"progress":2}',
        b'{"progress":"x"}',
        b"[]",
    ):
        ears.hearing.progress(Raw(text))
    assert [notice.progress for notice in ears.call if isinstance(notice, Progress)] == [1, 2]


def test_changes_go_to_the_session_and_the_rest_to_the_call() -> None:
    ears = Ears()
    ears.hearing.told("notifications/tools/list_changed", None)
    ears.hearing.told("notifications/resources/updated", Raw(b'{"uri":"a://"}'))
    ears.hearing.told("notifications/message", Raw(b'{"level":"info","data":1}'))
    ears.hearing.told("notifications/message", Raw(b'"rubbish"'))
    assert [type(notice) for notice in ears.session] == [ListChanged, ResourceUpdated]
    assert [type(notice) for notice in ears.call] == [LogLine]
