"""What one POST tells its waiter, fed by hand: the order and the onceness that sockets do not show."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.backends.http_client import HttpClient
from emceepee.backends.http_connection import HttpFault
from emceepee.backends.http_endpoint import Endpoint, HttpSettings
from emceepee.backends.http_post import Outcome, Post
from emceepee.backends.transport import HttpRefusal
from emceepee.errors import BackendFault, BackendViolation, OutcomeUnknown
from tests.support.fake_clock import FakeClock
from tests.support.http_stage import DONE, TOLD, event
from tests.support.inbox import RecordingInbox

JSON = {b"content-type": b"application/json"}
EVENTS = {b"content-type": b"text/event-stream"}


class Scene:
    def __init__(self, request: str | None = "g1", **settings: int) -> None:
        endpoint = Endpoint("files", "http://example.com/", (), HttpClient(FakeClock(), {}), HttpSettings(**settings))
        self.inbox = RecordingInbox()
        self.future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.ends: list[Post] = []
        self.post = Post(endpoint, self.inbox, request, self)

    def over(self, post: Post, how: Outcome | BackendFault) -> None:
        self.ends.append(post)
        if self.future.done():
            return
        if isinstance(how, BackendFault):
            self.future.set_exception(how)
        else:
            self.future.set_result(how)

    def unwanted(self, post: Post) -> None: ...


async def test_the_message_is_handed_over_before_the_waiter_is_told() -> None:
    scene = Scene()
    scene.post.on_head(200, EVENTS)
    told_when: list[bool] = []
    scene.inbox.message = lambda *_: told_when.append(scene.future.done())  # type: ignore[method-assign]
    scene.post.on_data(event(TOLD) + event(DONE))
    assert told_when == [False, False]
    assert scene.future.result() == "done"


async def test_what_follows_the_answer_in_the_same_chunk_is_handed_over_too() -> None:
    scene = Scene()
    scene.post.on_head(200, EVENTS)
    scene.post.on_data(event(DONE) + event(TOLD))
    assert len(scene.inbox.messages) == 2


async def test_a_body_in_many_parts_is_read_once_and_whole() -> None:
    scene = Scene()
    scene.post.on_head(200, JSON)
    for index in range(len(DONE)):
        scene.post.on_data(DONE[index : index + 1])
    assert scene.inbox.messages == []
    scene.post.on_end()
    assert len(scene.inbox.messages) == 1
    assert len(scene.ends) == 1


async def test_a_stream_that_ends_or_breaks_without_the_answer_is_cut() -> None:
    for fault in (None, HttpFault("truncated", "x"), HttpFault("garbled", "x")):
        scene = Scene()
        scene.post.on_head(200, EVENTS)
        scene.post.on_data(event(TOLD))
        scene.post.on_end() if fault is None else scene.post.on_fault(fault)
        assert scene.future.result() == "cut"


async def test_a_waiter_that_left_is_not_told_and_nothing_is_lost() -> None:
    scene = Scene()
    scene.future.cancel()
    scene.post.on_head(200, EVENTS)
    scene.post.on_data(event(DONE))
    scene.post.on_end()
    assert len(scene.inbox.messages) == 1
    assert scene.ends


async def test_a_late_answer_of_an_old_session_does_not_bring_it_back() -> None:
    scene = Scene()
    scene.post._had_session = True
    scene.post.on_head(200, {**EVENTS, b"mcp-session-id": b"old"})
    assert scene.post._endpoint.session_id is None


async def test_nothing_before_the_head_is_an_unknown_outcome() -> None:
    scene = Scene()
    scene.post.on_fault(HttpFault("unanswered", "x"))
    assert isinstance(scene.future.exception(), OutcomeUnknown)


async def test_the_body_of_a_refusal_is_bounded_and_cut_off() -> None:
    scene = Scene()
    scene.post.on_head(400, {b"content-type": b"text/plain"})
    for _ in range(5):
        scene.post.on_data(b"x" * 60_000)
    fault = scene.future.exception()
    assert isinstance(fault, HttpRefusal)
    assert len(fault.body) <= 64 * 1024


@pytest.mark.parametrize("body", [b"null", b"{}", b"not json", b'{"jsonrpc":"2.0","id":null,"result":{}}'])
async def test_whatever_answers_a_notification_is_dropped(body: bytes) -> None:
    scene = Scene(None)
    scene.post.on_head(200, JSON)
    scene.post.on_data(body)
    scene.post.on_end()
    assert scene.future.result() == "done"
    assert scene.inbox.messages == []


async def test_a_body_over_the_limit_is_not_kept() -> None:
    scene = Scene(max_body_bytes=10)
    scene.post.on_head(200, JSON)
    scene.post.on_data(b"x" * 11)
    assert isinstance(scene.future.exception(), BackendViolation)
    assert scene.post._body == []
