"""The handle that a scope keeps while links come and go. What the pool does with it is shown in `test_pool`."""

from __future__ import annotations

import pytest

from emceepee.backends.connection import Connection, tell_all
from emceepee.errors import BackendTimeout, BackendUnavailable
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.notices import Interest, ListChanged, Notice, ResourceUpdated
from tests.support.fake_links import FakeLink


async def test_without_a_link_everything_says_that_the_next_use_connects_again() -> None:
    handle = Connection("files", "s1")
    for attempt in (
        handle.request(Call("tools/list", {}, Caller()), None, 1),
        handle.want(Interest()),
        handle.set_log_level("info"),
    ):
        with pytest.raises(BackendUnavailable, match="the next use connects again"):
            await attempt
    assert handle.about.capabilities == {}


async def test_a_dead_link_is_no_link() -> None:
    handle = Connection("files", "s1")
    link = FakeLink(lambda link, fault: None)
    await handle.attach(link)
    assert handle.link is link
    link.alive = False
    assert handle.link is None
    await handle.detach()
    assert link.left == ["s1"]


async def test_the_first_link_is_told_the_wishes_without_pretending_that_something_changed() -> None:
    handle = Connection("files", "s1")
    heard: list[Notice] = []
    handle.on_notice = heard.append
    handle.interest = Interest(frozenset(["tools"]))
    first = FakeLink(lambda link, fault: None)
    await handle.attach(first)
    assert (first.wanted, heard) == ([handle.interest], [])


@pytest.mark.shows("X-CON-18")
async def test_a_link_that_was_found_alive_after_all_is_not_told_the_wishes_and_resources_count_as_changed() -> None:
    handle = Connection("files", "s1")
    heard: list[Notice] = []
    handle.on_notice = heard.append
    handle.interest = Interest(frozenset(["tools"]), frozenset(["a://"]))
    link = FakeLink(lambda link, fault: None)
    await handle.attach(link)
    await handle.attach(link)
    assert (link.wanted, heard) == ([handle.interest], [ResourceUpdated("a://", {})])


async def test_a_wish_that_cannot_be_said_again_is_no_reason_to_have_no_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Mute(FakeLink):
        async def want(self, who: Connection, interest: Interest) -> Interest:
            raise BackendTimeout("files", "no answer to resources/subscribe within 10 s")

    handle = Connection("files", "s1")
    handle.interest = Interest(uris=frozenset(["a://"]))
    link = Mute(lambda link, fault: None)
    await handle.attach(link)
    assert handle.link is link
    assert [record.message for record in caplog.records] == ["wish_not_delivered"]


def test_telling_all_names_each_wish_once_in_a_fixed_order() -> None:
    handle = Connection("files", "s1")
    heard: list[Notice] = []
    tell_all(handle, Interest(frozenset(["tools"])))
    handle.on_notice = heard.append
    tell_all(handle, Interest(frozenset(["tools", "prompts"]), frozenset(["b://", "a://"])))
    assert heard == [
        ListChanged("prompts"),
        ListChanged("tools"),
        ResourceUpdated("a://", {}),
        ResourceUpdated("b://", {}),
    ]
