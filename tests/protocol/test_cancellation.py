"""Who is told that something is no longer wanted, and the words for it."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.cancellation import must_tell, read_cancelled, write_cancelled
from emceepee.protocol.messages import Notification


@pytest.mark.parametrize(
    ("method", "sent", "told"),
    [
        ("tools/call", True, True),
        ("tools/call", False, False),
        ("subscriptions/listen", True, True),
        ("initialize", True, False),
        ("initialize", False, False),
    ],
)
def test_only_what_was_sent_is_cancelled_and_initialize_never(method: str, sent: bool, told: bool) -> None:
    assert must_tell(method, sent) is told


@pytest.mark.shows("X-CON-53")
@pytest.mark.parametrize("identity", [3, "3", "g-17", 'with "quotes"'])
def test_a_cancellation_names_the_very_id_and_a_reason_and_reads_back(identity: int | str) -> None:
    message = read_message(write_cancelled(identity, "the caller left"), Limits())
    assert isinstance(message, Notification)
    assert message.method == "notifications/cancelled"
    read = read_cancelled(message.params)
    assert read == (identity, "the caller left")
    assert type(read[0]) is type(identity)


@pytest.mark.parametrize(
    ("params", "read"),
    [
        (b'{"requestId":1}', (1, "")),
        (b'{"requestId":1,"reason":null}', (1, "")),
        (b'{"requestId":1,"reason":{"code":5},"other":[]}', (1, "")),
        (b"{}", None),
        (b'{"requestId":null}', None),
        (b'{"requestId":true}', None),
        (b'{"requestId":1.5,"reason":"x"}', None),
        (b'{"requestId":{"id":1}}', None),
        (b'{"id":1}', None),
    ],
)
def test_a_strange_cancellation_is_read_as_far_as_it_names_a_request(
    params: bytes, read: tuple[int, str] | None
) -> None:
    assert read_cancelled(Raw(params)) == read


def test_a_cancellation_without_params_names_nothing() -> None:
    assert read_cancelled(None) is None
